#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

TEST(WidenProducts, HalvesAreReadAsTheyAre) {
  auto graph = parse_graph(R"(
    a: bf16[M, K]
    b: bf16[K, N]
    c = cast(a) dtype=f32
    d = cast(b) dtype=f32
    e = matmul(c, d)
    return e
  )");
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(widen_products(**graph));
  remove_dead_nodes(**graph);
  ASSERT_EQ((*graph)->order().size(), 1u);
  const Node& product = (*graph)->node((*graph)->order()[0]);
  EXPECT_TRUE(product.attrs.flag("wide"));
  EXPECT_EQ((*graph)->type(product.outputs[0]).dtype, DType::kF32);
}

TEST(WidenProducts, OneHalfStaysCast) {
  auto graph = parse_graph(R"(
    a: bf16[M, K]
    b: f32[K, N]
    c = cast(a) dtype=f32
    e = matmul(c, b)
    return e
  )");
  ASSERT_TRUE(graph.ok());
  EXPECT_FALSE(widen_products(**graph));
}

}  // namespace
}  // namespace tilewright::passes
