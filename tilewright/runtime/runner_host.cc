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
      status = run_item(step);
      break;
    case StepKind::kHostCall:
      return run_host_call(step);  // the host's own error passes unchanged
    case StepKind::kIf:
      status = run_if(index);
      break;
    case StepKind::kWhile:
      status = run_while(index);
      break;
    case StepKind::kScan:
      status = run_scan(index);
      break;
    case StepKind::kCall:
      status = run_call(index);
      break;
    case StepKind::kAssert:
      return run_assert(step);
    case StepKind::kUnique:
      status = run_unique(step);
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

Status Runner::Call::run_item(const Step& step) {
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
  c_.dims[step.late[0]] = value;
  c_.known[step.late[0]] = true;
  return evaluate_dims();
}

Status Runner::Call::set_dynamic(const Step& step, std::vector<Tensor> results) {
  if (results.size() != step.outputs.size()) {
    return fail(ErrorKind::kHostCall, "{} results, {} expected", results.size(), step.outputs.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueId id = step.outputs[i];
    const PlanValue& value = plan_.values[id];
    const Tensor& tensor = results[i];
    if (tensor.dtype() != value.dtype || tensor.rank() != value.sizes.size()) {
      return fail(ErrorKind::kHostCall, "result {} is {} of rank {}, {} of rank {} expected", i, tensor.dtype(),
                  tensor.rank(), value.dtype, value.sizes.size());
    }
    for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
      const Slot slot = value.sizes[axis];
      const bool symbol = plan_.dims.dim(slot).is_symbol();
      if (symbol && !c_.known[slot]) {
        c_.dims[slot].integer = tensor.sizes()[axis];
        c_.known[slot] = true;
      }
    }
  }
  if (plan_.has_late) TW_TRY(evaluate_dims());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueId id = step.outputs[i];
    const PlanValue& value = plan_.values[id];
    const TensorArg arg = TensorArg::of(results[i]);
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
    std::int64_t last = results[i].count() == 0 ? -1 : 0;
    for (std::size_t axis = 0; last >= 0 && axis < results[i].rank(); ++axis) {
      last += (arg.sizes[axis] - 1) * std::max<std::int64_t>(arg.strides[axis], 0);
    }
    c_.buffers[value.buffer] = arg.data;
    c_.buffer_bytes[value.buffer] = (last + 1) * byte_size(arg.dtype);
    c_.dynamic[id] = std::move(results[i]);
  }
  return {};
}

Status Runner::Call::run_host_call(const Step& step) {
  if (host_ == nullptr)
    return fail(ErrorKind::kUnsupported, "'{}' is a call of the host, and there is none", step.name);
  std::vector<Tensor> inputs;
  for (ValueId value : step.inputs) inputs.push_back(tensor_of(value));
  stats().host_calls.fetch_add(1, std::memory_order_relaxed);
  auto results = host_->call(step.target, inputs);
  if (!results.ok()) return std::move(results).error();
  return set_dynamic(step, std::move(results).value());
}

Result<std::vector<Tensor>> Runner::Call::run_region(std::size_t step, std::size_t region,
                                                     std::span<const TensorArg> carried) {
  std::vector<TensorArg> inputs(carried.begin(), carried.end());
  for (ValueId value : plan_.steps[step].captures[region]) inputs.push_back(argument_of(value));
  TensorSink sink;
  Outer outer{c_.dims, c_.known.get()};
  std::unique_ptr<bool[]> all_known;
  if (!plan_.has_late && !plan_.outer_symbols) {
    all_known = std::make_unique<bool[]>(plan_.dims.size());
    std::fill_n(all_known.get(), plan_.dims.size(), true);
    outer.known = all_known.get();
  }
  TW_TRY(runner_.regions_[step][region]->run(inputs, {}, sink, host_, &outer));
  return std::move(sink.tensors());
}

Status Runner::Call::run_if(std::size_t index) {
  const Step& step = plan_.steps[index];
  const View& condition = c_.state.views[step.inputs[0]];
  const bool taken = *reinterpret_cast<const std::uint8_t*>(address(condition)) != 0;
  auto results = run_region(index, taken ? 0 : 1, {});
  if (!results.ok()) return std::move(results).error();
  return set_dynamic(step, std::move(results).value());
}

Status Runner::Call::run_while(std::size_t index) {
  const Step& step = plan_.steps[index];
  std::vector<TensorArg> carried;
  for (ValueId value : step.inputs) carried.push_back(argument_of(value));
  std::vector<Tensor> state;
  while (true) {
    auto condition = run_region(index, 0, carried);
    if (!condition.ok()) return std::move(condition).error();
    if (*static_cast<const std::uint8_t*>((*condition)[0].data()) == 0) break;
    auto next = run_region(index, 1, carried);
    if (!next.ok()) return std::move(next).error();
    state = std::move(next).value();
    for (std::size_t i = 0; i < state.size(); ++i) carried[i] = TensorArg::of(state[i]);
  }
  if (state.empty()) {
    // No trip: the results are copies of the inputs, whose memory may be used again.
    for (ValueId value : step.inputs) {
      const Tensor input = tensor_of(value);
      Tensor copy(input.dtype(), {input.sizes().begin(), input.sizes().end()});
      const Tensor packed = input.contiguous();
      if (packed.bytes() > 0) std::memcpy(copy.data(), packed.data(), static_cast<std::size_t>(packed.bytes()));
      state.push_back(std::move(copy));
    }
  }
  return set_dynamic(step, std::move(state));
}

Status Runner::Call::run_call(std::size_t index) {
  const Step& step = plan_.steps[index];
  std::vector<TensorArg> inputs;
  for (ValueId value : step.inputs) inputs.push_back(argument_of(value));
  auto results = run_region(index, 0, inputs);
  if (!results.ok()) return std::move(results).error();
  return set_dynamic(step, std::move(results).value());
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

Status Runner::Call::run_unique(const Step& step) {
  UniqueResult result = unique(tensor_of(step.inputs[0]).contiguous());
  TW_TRY(bind_late(step.late[0], result.values.count()));
  std::vector<Tensor> tensors{std::move(result.values), std::move(result.inverse), std::move(result.counts)};
  return set_dynamic(step, std::move(tensors));
}

}  // namespace tilewright::runtime
