// The element that each pattern of bits is, and what the importer says of values of carried types.
#include "tilewright/frontends/onnx/carriers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tilewright/frontends/onnx/load.h"
#include "tilewright/frontends/onnx/model_testing.h"

namespace tilewright::onnx {
namespace {
using namespace testing;

TEST(OnnxCarriers, BitsAreElements) {
  EXPECT_EQ(element_of_bits(Carried::kF8E4M3FN, 0x7e), 448.0F);
  EXPECT_TRUE(std::isnan(element_of_bits(Carried::kF8E4M3FN, 0x7f)));
  EXPECT_EQ(element_of_bits(Carried::kF8E4M3FN, 0x01), std::ldexp(1.0F, -9));
  EXPECT_EQ(element_of_bits(Carried::kF8E4M3FNUZ, 0x7f), 240.0F);
  EXPECT_TRUE(std::isnan(element_of_bits(Carried::kF8E4M3FNUZ, 0x80)));
  EXPECT_EQ(element_of_bits(Carried::kF8E5M2, 0x7b), 57344.0F);
  EXPECT_EQ(element_of_bits(Carried::kF8E5M2, 0xfc), -INFINITY);
  EXPECT_TRUE(std::isnan(element_of_bits(Carried::kF8E5M2, 0x7d)));
  EXPECT_TRUE(std::signbit(element_of_bits(Carried::kF8E5M2, 0x80)));
  EXPECT_EQ(element_of_bits(Carried::kF8E5M2FNUZ, 0x7f), 57344.0F);
  EXPECT_EQ(element_of_bits(Carried::kF8E8M0, 0), std::ldexp(1.0F, -127));
  EXPECT_TRUE(std::isnan(element_of_bits(Carried::kF8E8M0, 255)));
  EXPECT_EQ(element_of_bits(Carried::kF4E2M1, 0xf), -6.0F);
  EXPECT_EQ(element_of_bits(Carried::kF4E2M1, 0x1), 0.5F);
}

TEST(OnnxCarriers, EveryRowIsFoundByItsElementType) {
  for (std::int64_t elem_type = 0; elem_type < 64; ++elem_type) {
    const CarriedRow* row = find_carried(elem_type);
    if (row == nullptr) continue;
    EXPECT_EQ(&row_of(row->carried), row);
    EXPECT_EQ(to_elem(elem_type)->carried, row->carried) << row->text;
  }
  EXPECT_FALSE(to_elem(15).ok());  // COMPLEX128
}

Result<Imported> import(const std::string& bytes) {
  const auto owner = std::make_shared<std::string>(bytes);
  return import_bytes({*owner, owner});
}

TEST(OnnxCarriers, SumsWrapAndTheBorderIsTold) {
  const auto imported =
      import(model(node("Add", {"x", "x"}, {"y"}) + input("x", 4, dim("n")) + output("y")));  // UINT16
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const std::string text = print(*imported->graph);
  EXPECT_NE(text.find("x: i32[n]"), std::string::npos) << text;
  EXPECT_NE(text.find("bit_and"), std::string::npos) << text;
  EXPECT_EQ(imported->metadata.at("tilewright.element.input.x"), "uint16");
  EXPECT_EQ(imported->metadata.at("tilewright.element.output.y"), "uint16");
}

TEST(OnnxCarriers, DamagedConstantsAreErrors) {
  // Five 4-bit integers need three bytes: one is given. Strings are as many as the sizes say.
  const std::string packed = field(1, std::int64_t{5}) + field(2, std::int64_t{22}) + field(8, "c") + field(9, "\x12");
  const std::string strings = field(1, std::int64_t{2}) + field(2, std::int64_t{8}) + field(8, "c") + field(6, "one");
  const std::string huge =
      field(1, std::int64_t{1} << 61) + field(2, std::int64_t{22}) + field(8, "c") + field(9, "\x12");
  for (const std::string& constant : {packed, strings, huge}) {
    const auto imported = import(model(node("Identity", {"c"}, {"y"}) + field(5, constant) + output("y")));
    ASSERT_FALSE(imported.ok());
    EXPECT_EQ(imported.error().kind, ErrorKind::kCorrupt) << imported.error().message;
  }
}

}  // namespace
}  // namespace tilewright::onnx
