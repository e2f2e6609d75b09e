#include "tilewright/runtime/runner_loop.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace tilewright::runtime {
namespace {

class FlagSink final : public OutputSink {
 public:
  explicit FlagSink(std::uint8_t& flag) : flag_(flag) {}
  Result<std::byte*> allocate(std::size_t, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return reinterpret_cast<std::byte*>(&flag_);
  }

 private:
  std::uint8_t& flag_;
};

TensorArg row_major(DType dtype, std::span<const std::int64_t> sizes, std::byte* data) {
  TensorArg arg{.dtype = dtype, .rank = static_cast<int>(sizes.size()), .data = data};
  std::int64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    arg.sizes[axis] = sizes[axis];
    arg.strides[axis] = stride;
    stride *= sizes[axis];
  }
  return arg;
}

}  // namespace

Runner::Loop::Loop(Call& call, std::size_t step)
    : call_(call),
      index_(step),
      step_(call.plan_.steps[step]),
      first_(step_.conditional ? 1 : 0),
      first_state_(step_.kind == StepKind::kScan ? 1 : 0),
      body_(step_.regions.size() - 1),
      memory_(call.c_.memory[step]) {
  carried_.resize(step_.carried);
  stacked_.resize(step_.outputs.size() - step_.carried);
  memory_.resize(2 * step_.carried + stacked_.size());
}

Status Runner::Loop::run() {
  if (step_.kind == StepKind::kScan) trips_ = call_.c_.dims[step_.trips].integer;
  if (step_.conditional) {
    again_ = *reinterpret_cast<const std::uint8_t*>(call_.address(call_.c_.state.views[step_.inputs[0]]));
  }
  TW_TRY(start_state());
  TW_TRY(start_slices());
  TW_TRY(start_stacks());
  for (const ValueId value : step_.captures[body_]) body_inputs_.push_back(call_.argument_of(value));
  if (body_ == 1) {
    for (const ValueId value : step_.captures[0]) condition_inputs_.push_back(call_.argument_of(value));
  }
  while (true) {
    TW_ASSIGN(const bool wanted, wants_trip());
    if (!wanted) break;
    TW_TRY(run_trip());
    ++trip_;
  }
  for (std::size_t region = 0; region <= body_; ++region) call_.region_context(index_, region).end_call();
  return finish();
}

Status Runner::Loop::start_state() {
  if (first_state_ == 1) {
    body_inputs_.push_back({.dtype = DType::kI64, .data = reinterpret_cast<std::byte*>(&trip_)});
  }
  const Plan& body = *step_.regions[body_];
  for (std::size_t i = 0; i < step_.carried; ++i) {
    body_inputs_.push_back(call_.argument_of(step_.inputs[first_ + i]));
    carried_[i].kept = body.outputs[first_ + i].kept;
    const std::uint32_t buffer = body.values[body.inputs[first_state_ + i]].buffer;
    const auto& written = body.written_buffers;
    // The body would write over what is not the loop's.
    if (std::find(written.begin(), written.end(), buffer) != written.end()) TW_TRY(move_in(i));
  }
  if (body_ == 1) condition_inputs_ = body_inputs_;
  return {};
}

// A copy in a block of the loop's own.
Status Runner::Loop::move_in(std::size_t i) {
  TensorArg& arg = body_inputs_[first_state_ + i];
  const auto rank = static_cast<std::ptrdiff_t>(arg.rank);
  const Tensor dense = Tensor(arg.dtype, {arg.sizes.begin(), arg.sizes.begin() + rank},
                              {arg.strides.begin(), arg.strides.begin() + rank}, arg.data)
                           .contiguous();
  std::byte* const data = block(i, 0).ensure(dense.bytes());
  if (data == nullptr) return fail(ErrorKind::kOutOfMemory, "no memory for a state of {} bytes", dense.bytes());
  if (dense.bytes() > 0) std::memcpy(data, dense.data(), static_cast<std::size_t>(dense.bytes()));
  arg = row_major(arg.dtype, dense.sizes(), data);
  carried_[i].block = 0;
  return {};
}

Status Runner::Loop::start_slices() {
  for (std::size_t i = first_ + step_.carried; i < step_.inputs.size(); ++i) {
    const TensorArg whole = call_.argument_of(step_.inputs[i]);
    if (whole.sizes[0] != trips_) {
      return fail(ErrorKind::kShapeMismatch, "scanned input {} has {} slices for {} trips", i - first_ - step_.carried,
                  whole.sizes[0], trips_);
    }
    TensorArg slice = whole;
    slice.rank = whole.rank - 1;
    std::copy(whole.sizes.begin() + 1, whole.sizes.end(), slice.sizes.begin());
    std::copy(whole.strides.begin() + 1, whole.strides.end(), slice.strides.begin());
    body_inputs_.push_back(slice);
    slice_steps_.push_back(whole.strides[0] * byte_size(whole.dtype));
  }
  return {};
}

Result<bool> Runner::Loop::wants_trip() {
  if (body_ == 1) {
    FlagSink sink(again_);
    TW_TRY(call_.run_region(index_, 0, condition_inputs_, sink));
  }
  return again_ != 0 && trip_ < trips_;
}

Status Runner::Loop::run_trip() {
  TW_TRY(call_.run_region(index_, body_, body_inputs_, *this));
  take_next();
  for (std::size_t i = 0; i < slice_steps_.size(); ++i) {
    body_inputs_[first_state_ + step_.carried + i].data += slice_steps_[i];
  }
  return {};
}

Result<std::byte*> Runner::Loop::allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                                          std::span<const std::int64_t>) {
  if (output < first_) return reinterpret_cast<std::byte*>(&again_);
  const std::size_t i = output - first_;
  if (i >= step_.carried) return place_element(i - step_.carried, dtype, sizes);
  Carried& state = carried_[i];
  if (state.kept) return body_inputs_[first_state_ + i].data;
  TW_ASSIGN(const std::int64_t bytes, bytes_of(dtype, sizes));
  state.next = block(i, state.block == 0 ? 1 : 0).ensure(bytes);
  if (state.next == nullptr) return fail(ErrorKind::kOutOfMemory, "no memory for a state of {} bytes", bytes);
  return state.next;
}

// Outputs of the graph that elements are stacked in are there already, with the size that the graph declares.
Status Runner::Loop::start_stacks() {
  const Plan& plan = call_.plan_;
  for (std::size_t i = 0; i < stacked_.size(); ++i) {
    const auto of_value = [&](const PlanOutput& output) {
      return output.stacked && output.value == step_.outputs[step_.carried + i];
    };
    const auto found = std::find_if(plan.outputs.begin(), plan.outputs.end(), of_value);
    if (found == plan.outputs.end()) continue;
    stacked_[i].output = static_cast<std::uint32_t>(found - plan.outputs.begin());
    const std::int64_t room = call_.c_.outputs[stacked_[i].output].sizes[0];
    if (room == std::max<std::int64_t>(trips_, 0)) continue;
    return fail(ErrorKind::kShapeMismatch, "a result of {} elements for {} trips", room, trips_);
  }
  return {};
}

Result<std::byte*> Runner::Loop::place_element(std::size_t i, DType dtype, std::span<const std::int64_t> sizes) {
  if (trip_ == 0) return place_first(i, dtype, sizes);
  Stacked& all = stacked_[i];
  if (!std::equal(sizes.begin(), sizes.end(), all.sizes.begin())) {
    return fail(ErrorKind::kShapeMismatch, "elements of trips 0 and {} differ in size: [{}] and [{}]", trip_,
                fmt::join(all.sizes, ", "), fmt::join(sizes, ", "));
  }
  if (all.output != kNone) {
    return call_.c_.buffers[call_.plan_.outputs[all.output].buffer] + all.bytes * trip_;
  }
  std::byte* const base = stack(i).ensure(all.bytes * (trip_ + 1), all.bytes * trip_);
  if (base == nullptr)
    return fail(ErrorKind::kOutOfMemory, "no memory for {} elements of {} bytes", trip_ + 1, all.bytes);
  return base + all.bytes * trip_;
}

Result<std::byte*> Runner::Loop::place_first(std::size_t i, DType dtype, std::span<const std::int64_t> sizes) {
  Stacked& all = stacked_[i];
  all.sizes.assign(sizes.begin(), sizes.end());
  TW_ASSIGN(all.bytes, bytes_of(dtype, sizes));
  if (all.output != kNone) {
    const View& view = call_.c_.outputs[all.output];
    if (!std::equal(sizes.begin(), sizes.end(), view.sizes.begin() + 1)) {
      return fail(ErrorKind::kShapeMismatch, "result {}: expected elements of [{}], got [{}]", step_.carried + i,
                  fmt::join(view.sizes.data() + 1, view.sizes.data() + view.rank, ", "), fmt::join(sizes, ", "));
    }
    return call_.c_.buffers[call_.plan_.outputs[all.output].buffer];
  }
  std::int64_t wanted = 0;
  if (__builtin_mul_overflow(all.bytes, step_.conditional ? 1 : trips_, &wanted)) wanted = INT64_MAX;
  std::byte* const base = stack(i).ensure(wanted);
  if (base == nullptr) return fail(ErrorKind::kOutOfMemory, "no memory for {} elements of {} bytes", trips_, all.bytes);
  return base;
}

void Runner::Loop::take_next() {
  const Context& body = *call_.c_.regions[index_][body_];
  for (std::size_t i = 0; i < step_.carried; ++i) {
    Carried& state = carried_[i];
    if (state.kept) continue;
    const View& view = body.outputs[first_ + i];
    TensorArg& arg = body_inputs_[first_state_ + i];
    arg.data = state.next;
    for (int axis = 0; axis < view.rank; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      arg.sizes[a] = view.sizes[a];
      arg.strides[a] = view.strides[a];
    }
    state.block = state.block == 0 ? 1 : 0;
    if (body_ == 1) condition_inputs_[i] = arg;
  }
}

TensorArg Runner::Loop::stacked_result(std::size_t i) {
  const PlanValue& value = call_.plan_.values[step_.outputs[step_.carried + i]];
  std::vector<std::int64_t> sizes{trip_};
  for (std::size_t axis = 1; axis < value.sizes.size(); ++axis) {
    const Slot slot = value.sizes[axis];
    const bool unknown = call_.plan_.late_slots[slot] && !call_.c_.known[slot];
    sizes.push_back(trip_ > 0 ? stacked_[i].sizes[axis - 1] : unknown ? 0 : call_.c_.dims[slot].integer);
  }
  std::byte* const data = stacked_[i].output == kNone
                              ? stack(i).ensure(0)
                              : call_.c_.buffers[call_.plan_.outputs[stacked_[i].output].buffer];
  return row_major(value.dtype, sizes, data);
}

Status Runner::Loop::finish() {
  if (step_.conditional) TW_TRY(call_.bind_found(index_, step_.count, {.integer = trip_}));
  std::vector<TensorArg> results;
  results.reserve(step_.outputs.size());
  for (std::size_t i = 0; i < step_.carried; ++i) {
    // What no trip has written lies in memory of others, which may be used again.
    if (carried_[i].block < 0) TW_TRY(move_in(i));
    results.push_back(body_inputs_[first_state_ + i]);
  }
  for (std::size_t i = 0; i < stacked_.size(); ++i) results.push_back(stacked_result(i));
  return call_.set_results(index_, results);
}

}  // namespace tilewright::runtime
