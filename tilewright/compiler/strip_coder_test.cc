// Graph in, bytecode out: the strip programs of small areas.
#include "tilewright/compiler/strip_coder.h"

#include <gtest/gtest.h>

#include "tilewright/compiler/area_compiler.h"

namespace tilewright::compiler {
namespace {

View row_major(std::uint32_t buffer, DType dtype, const std::vector<std::int64_t>& sizes) {
  View view{.buffer = buffer, .dtype = dtype, .rank = static_cast<std::int8_t>(sizes.size())};
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    view.sizes[i] = sizes[i];
    view.strides[i] = stride;
    stride *= sizes[i];
  }
  return view;
}

// Streams and phases of the instruction that the area `text` becomes.
std::string strips_of(std::string_view text, std::string_view kind = "map") {
  auto graph = parse_graph(text);
  TW_CHECK(graph.ok(), graph.error().message);
  DimProgram dims;
  auto area = lower_area(**graph, kind, dims);
  TW_CHECK(area.ok(), area.error().message);
  std::vector<DimValue> values(dims.size());
  TW_CHECK(dims.run(values).ok(), "sizes are constants");
  std::vector<View> inputs, outputs;
  isa::Program program;
  program.buffers.push_back({isa::BufferKind::kArena, 1 << 20});
  const auto add = [&](std::vector<View>& views, ValueId value, isa::BufferKind kind) {
    std::vector<std::int64_t> sizes;
    for (Dim dim : (*graph)->type(value).shape) sizes.push_back(*dim.constant());
    views.push_back(row_major(static_cast<std::uint32_t>(program.buffers.size()), (*graph)->type(value).dtype, sizes));
    program.buffers.push_back({kind, views.back().count() * byte_size(views.back().dtype)});
  };
  for (ValueId value : (*graph)->inputs()) add(inputs, value, isa::BufferKind::kInput);
  for (ValueId value : (*graph)->outputs()) add(outputs, value, isa::BufferKind::kOutput);
  const BackendTraits traits{.name = "test"};
  Emitter out(program.words);
  AreaCompiler compiler;
  TW_CHECK(compiler.emit({&*area, inputs, outputs, &dims, values, &traits, {}, 0}, out).ok(), "the area is encoded");
  program.scratch_bytes = out.scratch_bytes();
  const Status verified = isa::verify_program(program);
  EXPECT_TRUE(verified.ok()) << verified.error().message;
  const std::string all = isa::disassemble(program);
  return all.substr(all.find("  s0") - 1);
}

TEST(StripCoder, AResultThatIsReadTwiceGoesToASlot) {
  EXPECT_EQ(strips_of("x: f32[8]\ny: f32[8]\na = add(x, y)\nb = mul(a, a)\nreturn b"), R"(
  s0 = buffer 1 f32 inner=4
  s1 = buffer 2 f32 inner=4
  s2 = buffer 3 f32 inner=4
  s3 = slot f32 inner=4
  phase strip
    load_f32_add.f32 s0 s1
    store_f32.f32.unit s3
    mul_store_f32.f32 s3 s2
    end.f32
)");
}

TEST(StripCoder, AProductThatIsAddedIsOneOperation) {
  EXPECT_EQ(strips_of("x: f32[8]\ny: f32[8]\nw: f32[8]\na = mul(x, y)\nb = add(a, w)\nreturn b"), R"(
  s0 = buffer 1 f32 inner=4
  s1 = buffer 2 f32 inner=4
  s2 = buffer 3 f32 inner=4
  s3 = buffer 4 f32 inner=4
  phase strip
    load_f32_fma.f32 s0 s1 s2
    store_f32.f32.unit s3
    end.f32
)");
}

TEST(StripCoder, AProductLessALiteralIsOneOperation) {
  EXPECT_EQ(strips_of("x: f32[8]\ny: f32[8]\nk = scalar() dtype=f32 value=2\na = mul(x, y)\nb = sub(a, k)\nreturn b"),
            R"(
  s0 = buffer 1 f32 inner=4
  s1 = buffer 2 f32 inner=4
  s2 = literal f32 bits=0xc0000000  # -2
  s3 = buffer 3 f32 inner=4
  phase strip
    load_f32_fma.f32.one_3 s0 s1 s2
    store_f32.f32.unit s3
    end.f32
)");
}

TEST(StripCoder, AnOperandThatIsConvertedComesFirst) {
  EXPECT_EQ(strips_of("x: f32[8]\nh: f16[8]\na = cast(h) dtype=f32\nc = div(x, a)\nreturn c"), R"(
  s0 = buffer 1 f32 inner=4
  s1 = buffer 2 f16 inner=2
  s2 = buffer 3 f32 inner=4
  phase strip
    load_f16.f32.unit s1
    div.f32.reversed s0
    store_f32.f32.unit s2
    end.f32
)");
}

TEST(StripCoder, AScalarIsALiteral) {
  EXPECT_EQ(strips_of("x: f32[8]\nm: bool[8]\nk = scalar() dtype=f32 value=2\na = select(m, x, k)\nreturn a"), R"(
  s0 = buffer 1 f32 inner=4
  s1 = buffer 2 bool inner=1
  s2 = literal f32 bits=0x40000000  # 2
  s3 = buffer 3 f32 inner=4
  phase strip
    load_bool.i32.unit s1
    select.f32.strip_one s0 s2
    store_f32.f32.unit s3
    end.f32
)");
}

TEST(StripCoder, ASourceThatWasSpilledIsReadAgainInTheNextPhase) {
  // h is converted, and an operand of both phases: the first puts it in a slot, the second must find its memory again.
  const std::string text = strips_of(R"(
    x: f32[4, 8]
    h: f16[4, 8]
    c = cast(h) dtype=f32
    a = sub(x, c)
    s = exp(a)
    m = reduce_max(s) axes=[1] keepdim=true
    d = sub(x, m)
    e = exp(d)
    f = sub(e, c)
    return f
  )",
                                     "rows");
  std::size_t loads = 0;
  for (std::size_t at = text.find("load_f16"); at != std::string::npos; at = text.find("load_f16", at + 1)) ++loads;
  EXPECT_EQ(loads, 2u) << text;
}

}  // namespace
}  // namespace tilewright::compiler
