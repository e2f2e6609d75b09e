// Replay: a call whose inputs have the layout of the call before runs the programs that are bound already.
#include "tilewright/runtime/runner_call.h"

namespace tilewright::runtime {

bool Runner::Call::same_as_before(std::span<const TensorArg> inputs, std::span<const DimValue> scalars,
                                  const Outer* outer) const {
  if (inputs.size() != plan_.inputs.size() || scalars.size() != plan_.scalar_slots.size()) return false;
  if (c_.threads != runner_.machine_.traits().threads) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorArg& arg = inputs[i];
    const View& view = c_.state.views[plan_.inputs[i]];
    if (arg.dtype != view.dtype || arg.rank != view.rank) return false;
    for (int axis = 0; axis < arg.rank; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (arg.sizes[a] != view.sizes[a]) return false;
      if (arg.strides[a] != view.strides[a] && arg.sizes[a] != 1) return false;  // idle strides are not kept
    }
  }
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (c_.dims[plan_.scalar_slots[i]].integer != scalars[i].integer) return false;  // bits
  }
  if (outer == nullptr) return c_.outer_symbols.empty();
  for (const Context::OuterSymbol& symbol : c_.outer_symbols) {
    if (outer->known[symbol.outer] != symbol.known) return false;
    if (symbol.known && outer->dims[symbol.outer].integer != c_.dims[symbol.own].integer) return false;
  }
  return true;
}

void Runner::Call::point_inputs(std::span<const TensorArg> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = plan_.inputs[i];
    c_.buffers[plan_.values[id].buffer] = inputs[i].data - c_.state.views[id].offset;
  }
}

// A host step found another size than in the call before: what the steps in front of it bound stays, the rest is bound
// anew. The state is that of the segment which ran last, with the results of host steps as they are now.
void Runner::Call::leave_replay(std::size_t index) {
  replays_ = false;
  for (std::size_t i = index; i < plan_.steps.size(); ++i) {
    for (const Slot slot : plan_.steps[i].late) {
      if (plan_.late_slots[slot]) c_.known[slot] = false;
    }
  }
  for (const Context::OuterSymbol& symbol : c_.outer_symbols) {
    if (symbol.known) c_.known[symbol.own] = true;
  }
  BindState state = *c_.bound[segment_]->state;
  for (ValueId id = 0; id < plan_.values.size(); ++id) {
    const Origin origin = plan_.values[id].origin;
    if (origin == Origin::kInput || origin == Origin::kDynamic) state.views[id] = c_.state.views[id];
  }
  c_.state = std::move(state);
}

}  // namespace tilewright::runtime
