// Host steps of a call: what runs between segments. A step reads memory that the segments before it have written, binds
// late symbols, and leaves its results as dynamic values that own their memory.
#include <algorithm>
#include <cstring>

#include "tilewright/runtime/runner_call.h"
#include "tilewright/runtime/stats.h"
#include "tilewright/runtime/unique.h"
#include "tilewright/runtime/views.h"

namespace tilewright::runtime {

Status Runner::Call::run_host_step(std::size_t index) {
  const Step& step = plan_.steps[index];
  Status status;
  switch (step.kind) {
    case StepKind::kItem:
    case StepKind::kReadCount:
      status = run_item(index);
      break;
    case StepKind::kHostCall:
      return run_host_call(index);  // the host's own error passes unchanged
    case StepKind::kIf:
      status = run_if(index);
      break;
    case StepKind::kWhile:
    case StepKind::kScan:
      status = run_loop(index);
      break;
    case StepKind::kCall:
      status = run_call(index);
      break;
    case StepKind::kAssert:
      return run_assert(step);
    case StepKind::kUnique:
      status = run_unique(index);
      break;
    default:
      TW_CHECK(false, "a host step");
  }
  if (!status.ok()) return std::move(status).error().in(step.name);
  return {};
}

Tensor Runner::Call::tensor_of(ValueId value) const {
  const View& view = c_.state.views[value];
  const auto rank = static_cast<std::ptrdiff_t>(view.rank);
  return Tensor(view.dtype, {view.sizes.begin(), view.sizes.begin() + rank},
                {view.strides.begin(), view.strides.begin() + rank}, address(view));
}

TensorArg Runner::Call::argument_of(ValueId value) const {
  const View& view = c_.state.views[value];
  TensorArg arg{.dtype = view.dtype, .rank = view.rank, .data = address(view)};
  arg.sizes = view.sizes;
  arg.strides = view.strides;
  if (const PlanValue& source = plan_.values[value]; source.origin == Origin::kInput && source.root == value) {
    arg.identity = inputs_[source.buffer - 1].identity;  // a region that captures a weight packs it once
    arg.version = inputs_[source.buffer - 1].version;
  }
  return arg;
}

Status Runner::Call::bind_late(Slot slot, std::int64_t value) {
  if (c_.known[slot]) {
    if (c_.dims[slot].integer == value) return {};
    return fail(ErrorKind::kShapeMismatch, "expected {} = {}, got {}", plan_.dims.dim(slot), c_.dims[slot].integer,
                value);
  }
  c_.dims[slot].integer = value;
  c_.known[slot] = true;
  return {};
}

// A symbol that host step `step` has found the value of.
Status Runner::Call::bind_found(std::size_t step, Slot slot, DimValue value) {
  if (replays_) {
    if (c_.dims[slot].integer == value.integer) return {};  // the bits, also of a float
    leave_replay(step);
  }
  c_.dims[slot] = value;
  c_.known[slot] = true;
  return evaluate_dims();
}

Status Runner::Call::run_item(std::size_t index) {
  const Step& step = plan_.steps[index];
  const View& view = c_.state.views[step.inputs[0]];
  if (view.count() != 1)
    return fail(ErrorKind::kShapeMismatch, "a scalar is read from a tensor of {} elements", view.count());
  const std::byte* data = address(view);
  DimValue value{};
  const bool wants_real = plan_.dims.dim(step.late[0]).is_float();
  visit(view.dtype, [&]<typename T>() {
    T element;
    std::memcpy(&element, data, sizeof element);
    if (wants_real) {
      value.real = static_cast<double>(element);
    } else {
      value.integer = static_cast<std::int64_t>(element);
    }
  });
  return bind_found(index, step.late[0], value);
}

Status Runner::Call::run_host_call(std::size_t index) {
  const Step& step = plan_.steps[index];
  if (host_ == nullptr)
    return fail(ErrorKind::kUnsupported, "'{}' is a call of the host, and there is none", step.name);
  std::vector<Tensor> inputs;
  for (ValueId value : step.inputs) inputs.push_back(tensor_of(value));
  stats().host_calls.fetch_add(1, std::memory_order_relaxed);
  auto results = host_->call(step.target, inputs);
  if (!results.ok()) return std::move(results).error();
  return set_tensors(index, std::move(results).value());
}

Status Runner::Call::run_assert(const Step& step) {
  for (const PlanAttr& attr : step.attrs) {
    if (attr.name != "condition" || c_.dims[attr.slots[0]].integer != 0) continue;
    for (const PlanAttr& message : step.attrs) {
      if (message.name == "message") return fail(ErrorKind::kInvalidArgument, "{}", message.text);
    }
  }
  return {};
}

Status Runner::Call::run_unique(std::size_t index) {
  const Step& step = plan_.steps[index];
  UniqueResult result = unique(tensor_of(step.inputs[0]).contiguous());
  TW_TRY(bind_found(index, step.late[0], {.integer = result.values.count()}));
  std::vector<Tensor> tensors{std::move(result.values), std::move(result.inverse), std::move(result.counts)};
  return set_tensors(index, std::move(tensors));
}

}  // namespace tilewright::runtime
