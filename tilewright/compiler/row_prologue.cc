#include "tilewright/compiler/row_prologue.h"

#include <utility>

namespace tilewright::compiler {

using isa::PhaseOp;
using isa::StripOp;
using Kind = AreaNode::Kind;

namespace {

bool is_only_for_user(const AreaNode& node, StripOp op) {
  return node.kind == Kind::kStrip && node.op == op && node.lane == isa::Lane::kF32 && node.uses == 1 && !node.row;
}

bool match_product(const Area& area, std::uint16_t id, RowPrologue& found) {
  const AreaNode& node = area.nodes[id];
  if (!is_only_for_user(node, StripOp::kMul)) return false;
  std::uint16_t from = node.a, scale = node.b;
  if (area.nodes[from].kind == Kind::kScalar) std::swap(from, scale);
  if (area.nodes[from].kind != Kind::kInput || area.nodes[scale].kind != Kind::kScalar) return false;
  found.from = from;
  found.scale = scale;
  return true;
}

bool match_sum(const Area& area, std::uint16_t id, bool scales, RowPrologue& found) {
  const AreaNode& node = area.nodes[id];
  if (!is_only_for_user(node, StripOp::kAdd)) return false;
  const bool left = scales && match_product(area, node.a, found);
  const bool right = scales && !left && match_product(area, node.b, found);
  if (!left && !right) found.from = node.a;
  found.addend = right ? node.a : node.b;
  return area.nodes[found.from].kind == Kind::kInput && area.nodes[found.addend].kind == Kind::kInput;
}

}  // namespace

RowPrologue find_row_prologue(const Area& area, const AreaNode& operation) {
  RowPrologue found;
  if (operation.phase == PhaseOp::kSoftmax) {
    if (match_product(area, operation.a, found)) return found;
    if (match_sum(area, operation.a, true, found)) return found;
  } else if (operation.phase == PhaseOp::kLayerNorm || operation.phase == PhaseOp::kRmsNorm) {
    if (match_sum(area, operation.a, false, found)) return found;
  }
  return {};
}

PhaseOp phase_with_prologue(PhaseOp phase) {
  switch (phase) {
    case PhaseOp::kSoftmax:
      return PhaseOp::kScaledSoftmax;
    case PhaseOp::kLayerNorm:
      return PhaseOp::kSumLayerNorm;
    default:
      return PhaseOp::kSumRmsNorm;
  }
}

}  // namespace tilewright::compiler
