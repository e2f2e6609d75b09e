// What is written is read again: numbers of every kind at their limits, nested messages, long bytes that stay views.
#include "tilewright/frontends/onnx/schema/wire_writer.h"

#include <gtest/gtest.h>

#include "message_writers.h"

namespace tilewright::onnx::schema {
namespace {

std::string text_of(WireWriter& wire) {
  std::string out;
  for (const std::string_view piece : wire.pieces()) out += piece;
  return out;
}

TEST(WireWriter, KnownBytes) {
  // From the encoding guide of protobuf: field 1 = 150; field 2 = "testing", with the fields in ascending order.
  WireWriter wire;
  wire.bytes("testing");
  wire.tag(2, WireType::kBytes);
  wire.varint(150);
  wire.tag(1, WireType::kVarint);
  EXPECT_EQ(wire.size(), 12U);
  EXPECT_EQ(text_of(wire), "\x08\x96\x01\x12\x07testing");
}

TEST(WireWriter, NumbersAtTheirLimitsComeBack) {
  AttributeProto in;
  in.name = "limits";
  in.f = -0.5F;
  in.ints = {0, 1, -1, 127, 128, INT64_MAX, INT64_MIN};
  in.floats = {0.0F, 1e38F};
  in.strings = {"", "a", "bc"};
  WireWriter writer;
  write(writer, in);
  const std::string text = text_of(writer);
  Wire wire(text);
  AttributeProto out;
  read(wire, out);
  ASSERT_FALSE(wire.failed());
  EXPECT_EQ(out.name, in.name);
  EXPECT_EQ(out.f, in.f);
  EXPECT_EQ(out.ints, in.ints);
  EXPECT_EQ(out.floats, in.floats);
  EXPECT_EQ(out.strings, in.strings);
  EXPECT_FALSE(out.i.has_value());
}

TEST(WireWriter, NestedMessagesAndLongBytes) {
  const std::string large(3 * WireWriter::kViewFrom, 'x'), exact(WireWriter::kViewFrom, 'y');
  ModelProto in;
  in.ir_version = 8;
  in.graph = std::make_unique<GraphProto>();
  in.graph->name = "g";
  for (const std::string* content : {&large, &exact, &large}) {
    auto& tensor = in.graph->initializer.emplace_back();
    tensor.dims = {static_cast<std::int64_t>(content->size())};
    tensor.raw_data = *content;
  }
  WireWriter writer;
  write(writer, in);
  const std::string text = text_of(writer);
  EXPECT_EQ(text.size(), writer.size());
  Wire wire(text);
  ModelProto out;
  read(wire, out);
  ASSERT_FALSE(wire.failed());
  EXPECT_EQ(out.ir_version, 8);
  EXPECT_EQ(out.graph->name, "g");
  ASSERT_EQ(out.graph->initializer.size(), 3U);
  EXPECT_EQ(out.graph->initializer[0].raw_data, large);
  EXPECT_EQ(out.graph->initializer[1].raw_data, exact);
  EXPECT_EQ(out.graph->initializer[2].dims, in.graph->initializer[2].dims);
}

TEST(WireWriter, LongBytesAreNotCopied) {
  const std::string large(WireWriter::kViewFrom, 'x');
  WireWriter wire;
  wire.bytes(large);
  const auto pieces = wire.pieces();
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[1].data(), large.data());
}

}  // namespace
}  // namespace tilewright::onnx::schema
