// scan as a host step: trips of the body, whose elements are stacked.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "tilewright/runtime/runner_call.h"

namespace tilewright::runtime {
namespace {

Tensor copy_of(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  Tensor copy(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()});
  if (dense.bytes() > 0) std::memcpy(copy.data(), dense.data(), static_cast<std::size_t>(dense.bytes()));
  return copy;
}

TensorArg slice_of(const TensorArg& whole, std::int64_t trip) {
  TensorArg slice = whole;
  --slice.rank;
  slice.data += trip * whole.strides[0] * byte_size(whole.dtype);
  std::copy(whole.sizes.begin() + 1, whole.sizes.end(), slice.sizes.begin());
  std::copy(whole.strides.begin() + 1, whole.strides.end(), slice.strides.begin());
  return slice;
}

}  // namespace

Status Runner::Call::run_scan(std::size_t index) {
  const Step& step = plan_.steps[index];
  const std::size_t first = step.conditional ? 1 : 0;
  const std::int64_t trips = c_.dims[step.trips].integer;
  std::vector<TensorArg> inputs(1);
  std::int64_t trip = 0;
  inputs[0].dtype = DType::kI64;
  inputs[0].data = reinterpret_cast<std::byte*>(&trip);
  std::vector<Tensor> state;
  std::vector<TensorArg> scanned;
  for (std::size_t i = first; i < step.inputs.size(); ++i) {
    inputs.push_back(argument_of(step.inputs[i]));
    if (i < first + step.carried) {
      state.push_back(tensor_of(step.inputs[i]));
      continue;
    }
    scanned.push_back(inputs.back());
    if (scanned.back().sizes[0] == trips) continue;
    return fail(ErrorKind::kShapeMismatch, "scanned input {} has {} slices for {} trips", scanned.size() - 1,
                scanned.back().sizes[0], trips);
  }
  std::vector<std::vector<Tensor>> elements(step.outputs.size() - step.carried);
  bool again =
      !step.conditional || *reinterpret_cast<const std::uint8_t*>(address(c_.state.views[step.inputs[0]])) != 0;
  for (; again && trip < trips; ++trip) {
    for (std::size_t i = 0; i < scanned.size(); ++i) inputs[1 + step.carried + i] = slice_of(scanned[i], trip);
    auto results = run_region(index, 0, inputs);
    if (!results.ok()) return std::move(results).error();
    if (step.conditional) again = *static_cast<const std::uint8_t*>((*results)[0].data()) != 0;
    for (std::size_t i = 0; i < step.carried; ++i) {
      state[i] = std::move((*results)[first + i]);
      inputs[1 + i] = TensorArg::of(state[i]);
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i].push_back(std::move((*results)[first + step.carried + i]));
    }
  }
  if (trip == 0) {
    for (Tensor& tensor : state) tensor = copy_of(tensor);
  }
  if (step.conditional) TW_TRY(bind_late(step.count, trip));
  TW_TRY(evaluate_dims());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const PlanValue& value = plan_.values[step.outputs[step.carried + i]];
    std::vector<std::int64_t> sizes{trip};
    for (std::size_t axis = 1; axis < value.sizes.size(); ++axis) {
      const Slot slot = value.sizes[axis];
      const bool unknown = plan_.late_slots[slot] && !c_.known[slot];
      sizes.push_back(trip > 0 ? elements[i][0].sizes()[axis - 1] : unknown ? 0 : c_.dims[slot].integer);
    }
    Tensor stacked(value.dtype, sizes);
    auto* to = static_cast<std::byte*>(stacked.data());
    for (const Tensor& element : elements[i]) {
      if (!std::ranges::equal(element.sizes(), elements[i][0].sizes())) {
        return fail(ErrorKind::kShapeMismatch, "elements of trips 0 and {} differ in size: [{}] and [{}]",
                    &element - elements[i].data(), fmt::join(elements[i][0].sizes(), ", "),
                    fmt::join(element.sizes(), ", "));
      }
      if (element.bytes() > 0) std::memcpy(to, element.data(), static_cast<std::size_t>(element.bytes()));
      to += element.bytes();
    }
    state.push_back(std::move(stacked));
  }
  return set_dynamic(step, std::move(state));
}

}  // namespace tilewright::runtime
