// Undoing updates in place.
#include "src/segment_undo.h"

#include <algorithm>
#include <cstring>

namespace tilewright::python {
namespace {

bool may_fail(Op op) {  // by an index out of range
  return info(op).op_class == OpClass::kIndexing && op != Op::kUpdateSlice;
}

bool may_fail(const runtime::Step& step) {
  switch (step.kind) {
    case runtime::StepKind::kView:
    case runtime::StepKind::kAssign:
      return false;
    case runtime::StepKind::kKernel:
      return may_fail(step.op);
    case runtime::StepKind::kArea:
      return std::ranges::any_of(step.fused->order(), [&](NodeId id) { return may_fail(step.fused->node(id).op); });
    default:
      return true;  // a step on the host
  }
}

}  // namespace

std::vector<std::size_t> inputs_at_risk(const runtime::Plan& plan) {
  std::vector<std::size_t> inputs;
  const auto first = std::ranges::find_if(plan.steps, [](const runtime::Step& step) { return step.in_place; });
  const bool fails = std::any_of(first, plan.steps.end(), [](const runtime::Step& step) { return may_fail(step); });
  if (!fails) return inputs;
  for (std::size_t i = 0; i < plan.num_graph_inputs; ++i) {
    const runtime::PlanValue& value = plan.values[plan.inputs[i]];
    if (std::ranges::find(plan.written_buffers, value.buffer) != plan.written_buffers.end()) inputs.push_back(i);
  }
  return inputs;
}

void SegmentUndo::keep(const runtime::TensorArg& input) {
  const auto rank = static_cast<std::size_t>(input.rank);
  const std::int64_t bytes =
      runtime::bytes_spanned(input.dtype, {input.sizes.data(), rank}, {input.strides.data(), rank});
  pieces_.push_back({input.data, {input.data, input.data + bytes}});
}

void SegmentUndo::restore() const {
  for (const Piece& piece : pieces_) std::memcpy(piece.memory, piece.bytes.data(), piece.bytes.size());
}

}  // namespace tilewright::python
