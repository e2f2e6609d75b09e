// What a host step leaves: views of memory outside of the arena, whose sizes may bind symbols.
#include <algorithm>

#include "tilewright/runtime/runner_call.h"

namespace tilewright::runtime {
namespace {

bool same_layout(const TensorArg& arg, const View& view) {
  for (int axis = 0; axis < arg.rank; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (arg.sizes[i] != view.sizes[i] || arg.strides[i] != view.strides[i]) return false;
  }
  return true;
}

std::int64_t bytes_to_last(const TensorArg& arg) {
  std::int64_t last = 0;
  for (int axis = 0; axis < arg.rank; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (arg.sizes[i] == 0) return 0;
    last += (arg.sizes[i] - 1) * std::max<std::int64_t>(arg.strides[i], 0);
  }
  return (last + 1) * byte_size(arg.dtype);
}

}  // namespace

Status Runner::Call::check_results(const Step& step, std::span<const TensorArg> results) {
  if (results.size() != step.outputs.size()) {
    return fail(ErrorKind::kHostCall, "{} results, {} expected", results.size(), step.outputs.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PlanValue& value = plan_.values[step.outputs[i]];
    if (results[i].dtype == value.dtype && static_cast<std::size_t>(results[i].rank) == value.sizes.size()) continue;
    return fail(ErrorKind::kHostCall, "result {} is {} of rank {}, {} of rank {} expected", i, results[i].dtype,
                results[i].rank, value.dtype, value.sizes.size());
  }
  return {};
}

Status Runner::Call::set_results(std::size_t index, std::span<const TensorArg> results) {
  const Step& step = plan_.steps[index];
  if (replays_) {
    bool same = results.size() == step.outputs.size();
    for (std::size_t i = 0; same && i < results.size(); ++i) {
      const View& view = c_.state.views[step.outputs[i]];
      same = results[i].dtype == view.dtype && results[i].rank == view.rank && same_layout(results[i], view);
    }
    if (same) {
      for (std::size_t i = 0; i < results.size(); ++i)
        c_.buffers[plan_.values[step.outputs[i]].buffer] = results[i].data;
      return {};
    }
    leave_replay(index);
  }
  TW_TRY(check_results(step, results));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PlanValue& value = plan_.values[step.outputs[i]];
    for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) {
      const Slot slot = value.sizes[axis];
      if (c_.known[slot] || !plan_.dims.dim(slot).is_symbol()) continue;
      c_.dims[slot].integer = results[i].sizes[axis];
      c_.known[slot] = true;
    }
  }
  if (plan_.has_late) TW_TRY(evaluate_dims());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueId id = step.outputs[i];
    const PlanValue& value = plan_.values[id];
    const TensorArg& arg = results[i];
    for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) {
      const std::int64_t expected = c_.dims[value.sizes[axis]].integer;
      if (expected == arg.sizes[axis]) continue;
      return fail(ErrorKind::kShapeMismatch, "result {}, axis {}: expected {} = {}, got {}", i, axis,
                  plan_.dims.dim(value.sizes[axis]), expected, arg.sizes[axis]);
    }
    View& view = c_.state.views[id];
    view.buffer = value.buffer;
    view.dtype = arg.dtype;
    view.rank = static_cast<std::int8_t>(arg.rank);
    view.offset = 0;
    view.sizes = arg.sizes;
    view.strides = arg.strides;
    c_.buffers[value.buffer] = arg.data;
    c_.buffer_bytes[value.buffer] = bytes_to_last(arg);
  }
  return {};
}

// Results that own their memory, until the call ends.
Status Runner::Call::set_tensors(std::size_t index, std::vector<Tensor> results) {
  const Step& step = plan_.steps[index];
  std::vector<TensorArg> args;
  for (const Tensor& tensor : results) {
    if (tensor.rank() > static_cast<std::size_t>(compiler::kMaxTensorRank))
      return fail(ErrorKind::kHostCall, "a result has {} axes, at most {} are possible", tensor.rank(),
                  compiler::kMaxTensorRank);
    args.push_back(TensorArg::of(tensor));
  }
  TW_TRY(set_results(index, args));
  c_.has_tensors = true;
  for (std::size_t i = 0; i < results.size(); ++i) c_.dynamic[step.outputs[i]] = std::move(results[i]);
  return {};
}

}  // namespace tilewright::runtime
