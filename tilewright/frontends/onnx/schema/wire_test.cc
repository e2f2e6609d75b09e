#include "tilewright/frontends/onnx/schema/wire.h"

#include <gtest/gtest.h>

#include "messages.h"

namespace tilewright::onnx::schema {
namespace {

std::string message_of(std::string_view bytes, WireLimits limits = {}) {
  Wire wire(bytes, limits);
  ModelProto model;
  read(wire, model);
  const Status status = wire.status();
  return status.ok() ? "" : status.error().message;
}

TEST(Wire, ReadsFieldsInAnyOrderAndSkipsUnknownOnes) {
  const std::string_view bytes(
      "\x12\x03one"                // producer_name
      "\x08\x0a"                   // ir_version
      "\xfa\x07\x02zz"             // field 127, unknown
      "\x42\x04\x0a\x00\x10\x12",  // opset_import {domain "" version 18}
      18);
  Wire wire(bytes);
  ModelProto model;
  read(wire, model);
  ASSERT_TRUE(wire.status().ok()) << wire.status().error().message;
  EXPECT_EQ(model.producer_name, "one");
  EXPECT_EQ(model.ir_version, 10);
  ASSERT_EQ(model.opset_import.size(), 1u);
  EXPECT_EQ(model.opset_import[0].version, 18);
}

TEST(Wire, APackedAndAnUnpackedRowOfNumbersAreTheSame) {
  for (const std::string_view bytes :
       {std::string_view("\x0a\x03\x01\x02\x03", 5), std::string_view("\x08\x01\x08\x02\x08\x03", 6)}) {
    Wire wire(bytes);
    TensorProto tensor;
    read(wire, tensor);
    ASSERT_TRUE(wire.status().ok());
    EXPECT_EQ(tensor.dims, (std::vector<std::int64_t>{1, 2, 3}));
  }
}

TEST(Wire, ALengthBeyondTheEndIsAnError) {
  EXPECT_NE(message_of("\x12\x7fone").find("a length is larger than what is left"), std::string::npos);
}

TEST(Wire, ANumberThatDoesNotEndIsAnError) {
  EXPECT_NE(message_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").find("a number does not end"),
            std::string::npos);
}

TEST(Wire, NestingIsLimited) {
  // graph { node { attribute { g { node { attribute { g .. } } } } } }, from the inside out.
  std::string bytes;
  const auto wrap = [&](char tag) {
    std::string length;
    for (std::size_t left = bytes.size();; left >>= 7) {
      length.push_back(static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
      if (left <= 0x7f) break;
    }
    bytes = tag + length + bytes;
  };
  for (int i = 0; i < 200; ++i) {
    for (const char tag : {'\x32', '\x2a', '\x0a'}) wrap(tag);  // g, attribute, node
  }
  wrap('\x3a');  // graph
  EXPECT_NE(message_of(bytes).find("messages are nested too deep"), std::string::npos);
  EXPECT_EQ(message_of(bytes, {.depth = 1000}), "");
}

TEST(Wire, TheNumberOfMessagesIsLimited) {
  std::string nodes;
  for (int i = 0; i < 50; ++i) nodes += std::string("\x0a\x00", 2);
  const std::string bytes = std::string("\x3a\x64", 2) + nodes;
  EXPECT_EQ(message_of(bytes), "");
  EXPECT_NE(message_of(bytes, {.messages = 20}).find("there are too many messages"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::onnx::schema
