// scan: a loop that collects an element per trip and stacks them at the end.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "tilewright/graph/eval/evaluator.h"

namespace tilewright {
namespace {

Tensor slice_of(const Tensor& whole, std::int64_t trip) {
  const auto* base = static_cast<const std::byte*>(whole.data());
  const std::int64_t offset = trip * whole.strides()[0] * byte_size(whole.dtype());
  return Tensor(whole.dtype(), {whole.sizes().begin() + 1, whole.sizes().end()},
                {whole.strides().begin() + 1, whole.strides().end()}, const_cast<std::byte*>(base + offset),
                whole.owner());
}

// Elements of equal sizes along a new first axis; of none, the sizes that the type gives and 0 for those it does not.
Result<Tensor> stack(std::span<const Tensor> elements, const TensorType& type, const Symbols& symbols) {
  Ints sizes{static_cast<std::int64_t>(elements.size())};
  if (elements.empty()) {
    for (std::size_t axis = 1; axis < type.shape.size(); ++axis) {
      const Dim dim = type.shape[axis];
      if (dim.is_symbol() && !symbols.knows(dim)) {
        sizes.push_back(0);
        continue;
      }
      TW_ASSIGN(const std::int64_t size, symbols.integer(dim));
      sizes.push_back(size);
    }
    return Tensor(type.dtype, std::move(sizes));
  }
  sizes.insert(sizes.end(), elements[0].sizes().begin(), elements[0].sizes().end());
  Tensor out(type.dtype, std::move(sizes));
  auto* to = static_cast<std::byte*>(out.data());
  for (std::size_t trip = 0; trip < elements.size(); ++trip) {
    const Tensor& element = elements[trip];
    if (!std::ranges::equal(element.sizes(), elements[0].sizes())) {
      return fail(ErrorKind::kShapeMismatch, "elements of trips 0 and {} differ in size: [{}] and [{}]", trip,
                  fmt::join(elements[0].sizes(), ", "), fmt::join(element.sizes(), ", "));
    }
    if (element.bytes() > 0) std::memcpy(to, element.data(), static_cast<std::size_t>(element.bytes()));
    to += element.bytes();
  }
  return out;
}

}  // namespace

Results Evaluator::run_scan(const Node& node, const Attrs& attrs, std::span<const Tensor> in, Frame& frame) {
  const std::size_t conditional = attrs.flag("conditional") ? 1 : 0;
  const auto num_carried = static_cast<std::size_t>(attrs.integer("carried"));
  TW_ASSIGN(const std::int64_t trips, frame.symbols.integer(attrs.dim("trips")));
  std::vector<Tensor> carried(in.begin() + static_cast<std::ptrdiff_t>(conditional),
                              in.begin() + static_cast<std::ptrdiff_t>(conditional + num_carried));
  const std::span<const Tensor> scanned = in.subspan(conditional + num_carried);
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    if (scanned[i].sizes()[0] == trips) continue;
    return fail(ErrorKind::kShapeMismatch, "scanned input {} has {} slices for {} trips", i, scanned[i].sizes()[0],
                trips);
  }
  std::vector<std::vector<Tensor>> elements(node.outputs.size() - num_carried);
  bool again = true;
  if (conditional == 1) {
    TW_ASSIGN(again, truth(in[0]));
  }
  std::int64_t trip = 0;
  for (; again && trip < trips; ++trip) {
    std::vector<Tensor> inputs{Tensor::scalar<std::int64_t>(trip)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (const Tensor& whole : scanned) inputs.push_back(slice_of(whole, trip));
    TW_ASSIGN(const std::vector<Tensor> out, run_region(*node.regions[0], inputs, frame));
    if (conditional == 1) {
      TW_ASSIGN(again, truth(out[0]));
    }
    for (std::size_t i = 0; i < num_carried; ++i) carried[i] = out[conditional + i];
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i].push_back(out[conditional + num_carried + i].contiguous());
    }
  }
  if (conditional == 1) TW_TRY(frame.symbols.meet(attrs.dims("count")[0], HostValue::of(trip), "'count'"));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const TensorType& type = frame.graph.type(node.outputs[num_carried + i]);
    TW_ASSIGN(Tensor stacked, stack(elements[i], type, frame.symbols));
    carried.push_back(std::move(stacked));
  }
  return carried;
}

}  // namespace tilewright
