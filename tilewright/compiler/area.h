// Area: a fused node lowered to a list of strip-level operations, once per plan. Encoding at bind time only picks
// operand forms, slots and tiles for the sizes and strides of the call. Values are either full (one per element of the
// domain) or row values (one per row: inputs of size 1 along the rows, results of row reductions and what is computed
// from them alone). Level counts the row operations a value depends on: level n+1 can be computed only after a pass
// over whole rows of level n.
#pragma once

#include <vector>

#include "tilewright/compiler/kernel.h"

namespace tilewright::compiler {

struct AreaNode {
  enum class Kind : std::uint8_t {
    kInput,   // element of input `index`
    kScalar,  // host scalar in dim slot `index`; `second` != 0: scalar node `third` converted to dtype
    kIota,    // start (slot `second`) + step (slot `third`) * position along the domain axis `index`, 0 = the last
              // axis; its own size there is slot `size` (1: it broadcasts)
    kTile,    // result of the contraction that the area is the epilogue of
    kStrip,   // strip operation `op` on nodes a, b, c
    kReduce,  // row reduction `reduce` of node a
    kRowOp,   // native row operation `phase` on node a; b, c weight and bias nodes, `index` the dim slot of epsilon
  };
  static constexpr std::uint16_t kNone = 0xffff;

  Kind kind;
  isa::StripOp op = isa::StripOp::kEnd;
  isa::PhaseOp phase = isa::PhaseOp::kStrip;
  isa::ReduceKind reduce = isa::ReduceKind::kSum;
  isa::Lane lane = isa::Lane::kF32;  // of the instruction; a mask result has the integer lane of the same width
  DType dtype = DType::kF32;         // of the value in memory
  bool reversed = false;             // operands swapped: op(b, a)
  bool is_mask = false;
  bool converted = false;  // kInput, kIota: the load converts to another dtype than that of the graph value
  bool row = false;
  std::uint8_t level = 0;
  std::uint16_t a = kNone, b = kNone, c = kNone;
  std::uint32_t index = 0;
  std::uint32_t second = 0, third = 0, size = 0;
  std::uint16_t uses = 0;  // by nodes and outputs
};

struct AreaOutput {
  std::uint16_t node;
  DType dtype;
  bool row = false;  // kRows: one element per row
};

struct Area {
  enum class Kind : std::uint8_t { kMap, kRows, kColumns, kContraction };
  Kind kind = Kind::kMap;
  int lane_width = 4;                      // bytes
  int row_axes = 0;                        // kRows: trailing axes of the domain that form a row
  int reduced_begin = 0, reduced_end = 0;  // kColumns: axes that are reduced
  std::uint16_t lhs = 0, rhs = 0;          // kContraction: the inputs a and b of the matmul
  std::uint16_t scales = AreaNode::kNone;  // of a 4-bit weight: the input; rhs_zero may be its zero points
  std::int64_t block = 0;                  // of a 4-bit weight: elements that share a scale; else 0
  std::uint16_t lhs_zero = AreaNode::kNone, rhs_zero = AreaNode::kNone;  // of integers: inputs that are zero points
  std::vector<AreaNode> nodes;                                           // operands before users
  std::vector<AreaOutput> outputs;                                       // in the order of the fused node's results
  std::vector<DimProgram::Slot> domain;                                  // sizes of the domain
  std::uint8_t max_level = 0;
};

// The lane in which values of `dtype` are computed. Bool has the integer lane of `width`.
isa::Lane lane_of(DType dtype, int width);
// 8 for f64 and i64, 4 for the rest.
int lane_width(DType dtype);

// Lowers the region of a `fused` node. Host scalars and sizes get slots in `dims`.
Result<Area> lower_area(const Graph& region, std::string_view kind, DimProgram& dims);

}  // namespace tilewright::compiler
