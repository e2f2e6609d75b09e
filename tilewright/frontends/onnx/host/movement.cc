// Movement and reductions on known elements. Only what shape arithmetic uses: rows and scalars, or reshapes of
// anything.
#include "tilewright/frontends/onnx/host/host.h"

#include <algorithm>

namespace tilewright::onnx {
namespace {

std::optional<Ints> numbers(const HostCall& call, std::size_t input) {
  if (!call.has(input)) return std::nullopt;
  Ints out;
  for (const Dim element : call[input].elements) {
    if (!element.constant()) return std::nullopt;
    out.push_back(*element.constant());
  }
  return out;
}

// An argument that was an attribute in old opsets and is an input in new ones.
std::optional<Ints> argument(const HostCall& call, std::string_view attribute, std::size_t input) {
  if (const auto given = call.node.integers_of(attribute)) return given;
  return numbers(call, input);
}

std::optional<std::vector<std::int64_t>> reshaped_sizes(const HostCall& call) {
  const std::vector<std::int64_t>& sizes = call[0].sizes;
  const std::string_view name = call.node.op_type();
  const std::optional<Ints> given = argument(call, name == "Reshape" ? "shape" : "axes", 1);
  if (name == "Reshape") {
    if (!given) return std::nullopt;
    std::vector<std::int64_t> out(given->begin(), given->end());
    std::int64_t rest = 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] == 0 && call.node.integer("allowzero", 0) == 0) out[i] = i < sizes.size() ? sizes[i] : 0;
      if (out[i] != -1 && __builtin_mul_overflow(rest, out[i], &rest)) return std::nullopt;
    }
    for (std::int64_t& size : out) {
      if (size == -1) size = rest == 0 ? 0 : count_of(sizes) / rest;
    }
    return out;
  }
  if (name == "Squeeze") {
    std::vector<std::int64_t> out;
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const std::span<const std::int64_t> named =
        given ? std::span<const std::int64_t>(*given) : std::span<const std::int64_t>();
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      bool gone = !given && sizes[static_cast<std::size_t>(axis)] == 1;
      for (const std::int64_t entry : named) gone = gone || entry == axis || entry + rank == axis;
      if (!gone) out.push_back(sizes[static_cast<std::size_t>(axis)]);
    }
    return out;
  }
  if (!given) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes.size() + given->size());
  std::vector<std::int64_t> out(static_cast<std::size_t>(rank), 0);
  for (const std::int64_t entry : *given) {
    const std::int64_t axis = entry < 0 ? entry + rank : entry;
    if (axis < 0 || axis >= rank) return std::nullopt;
    out[static_cast<std::size_t>(axis)] = -1;
  }
  std::size_t next = 0;
  for (std::int64_t& size : out) size = size == -1 || next == sizes.size() ? 1 : sizes[next++];
  return out;
}

// Every position of each axis.
std::vector<Ints> all_positions(const std::vector<std::int64_t>& sizes) {
  std::vector<Ints> out;
  for (const std::int64_t size : sizes) {
    Ints& positions = out.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) positions.push_back(i);
  }
  return out;
}

// The elements at the given positions of each axis, in row-major order. There is at least one.
HostTensor picked(const HostTensor& x, const std::vector<Ints>& positions) {
  HostTensor out{x.dtype, {}, x.elements};
  std::int64_t inner = static_cast<std::int64_t>(x.elements.size());
  for (std::size_t axis = 0; axis < positions.size(); ++axis) {
    const std::int64_t size = x.sizes[axis];
    inner /= size;
    Dims kept;
    const std::int64_t outer = static_cast<std::int64_t>(out.elements.size()) / (size * inner);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const std::int64_t position : positions[axis]) {
        const auto from = out.elements.begin() + (o * size + position) * inner;
        kept.insert(kept.end(), from, from + inner);
      }
    }
    out.elements = std::move(kept);
    out.sizes.push_back(static_cast<std::int64_t>(positions[axis].size()));
  }
  return out;
}

}  // namespace

HostResult host_reshape(const HostCall& call) {
  const auto sizes = reshaped_sizes(call);
  if (!sizes || count_of(*sizes) != static_cast<std::int64_t>(call[0].elements.size())) return not_on_host();
  return std::optional(HostTensor{call[0].dtype, *sizes, call[0].elements});
}

HostResult host_gather(const HostCall& call) {
  const std::optional<Ints> index = numbers(call, 1);
  if (!index || call[0].sizes.size() != 1 || call[1].sizes.size() > 1) return not_on_host();
  HostTensor out{call[0].dtype, call[1].sizes, {}};
  const auto size = static_cast<std::int64_t>(call[0].elements.size());
  for (const std::int64_t entry : *index) {
    if (entry < -size || entry >= size)
      return fail(ErrorKind::kIndexOutOfRange, "index {} of {} elements", entry, size);
    out.elements.push_back(call[0].elements[static_cast<std::size_t>(entry < 0 ? entry + size : entry)]);
  }
  return std::optional(std::move(out));
}

HostResult host_concat(const HostCall& call) {
  HostTensor out{call[0].dtype, {0}, {}};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i) || call[i].sizes.size() != 1 || call[i].dtype != out.dtype) return not_on_host();
    out.elements.insert(out.elements.end(), call[i].elements.begin(), call[i].elements.end());
  }
  out.sizes[0] = static_cast<std::int64_t>(out.elements.size());
  return std::optional(std::move(out));
}

HostResult host_slice(const HostCall& call) {
  const std::optional<Ints> starts = argument(call, "starts", 1);
  const std::optional<Ints> ends = argument(call, "ends", 2);
  if (!starts || !ends || (call.has(3) && !numbers(call, 3)) || (call.has(4) && !numbers(call, 4)))
    return not_on_host();
  if (call[0].elements.empty()) return not_on_host();  // its other sizes may be anything
  const Ints steps = numbers(call, 4).value_or(Ints(starts->size(), 1));
  const auto rank = static_cast<std::int64_t>(call[0].sizes.size());
  const std::optional<Ints> axes = argument(call, "axes", 3);
  if (ends->size() != starts->size() || steps.size() != starts->size()) return not_on_host();
  if (axes ? axes->size() != starts->size() : starts->size() > call[0].sizes.size()) return not_on_host();
  std::vector<Ints> picks = all_positions(call[0].sizes);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t given = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    const std::int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank || steps[i] == 0) return not_on_host();
    const std::int64_t size = call[0].sizes[static_cast<std::size_t>(axis)], step = steps[i];
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const auto clamped = [&](std::int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
    const std::int64_t start = clamped((*starts)[i]), stop = clamped((*ends)[i]);
    Ints& pick = picks[static_cast<std::size_t>(axis)];
    pick.clear();
    for (std::int64_t at = start; step > 0 ? at < stop : at > stop; at += step) {
      pick.push_back(at);
      if (step > size || step < -size) break;  // the next may be beyond 64 bits
    }
  }
  return std::optional(picked(call[0], picks));
}

HostResult host_transpose(const HostCall& call) {
  const HostTensor& x = call[0];
  const std::size_t rank = x.sizes.size();
  Ints perm = call.node.integers_of("perm").value_or(Ints{});
  if (perm.empty()) {
    for (std::size_t axis = rank; axis-- > 0;) perm.push_back(static_cast<std::int64_t>(axis));
  }
  Ints sorted = perm;
  std::ranges::sort(sorted);
  for (std::size_t axis = 0; axis < sorted.size(); ++axis) {
    if (sorted.size() != rank || sorted[axis] != static_cast<std::int64_t>(axis)) return not_on_host();
  }
  if (x.elements.empty()) return not_on_host();
  const std::vector<std::int64_t> strides = contiguous_strides(x.sizes);
  HostTensor out{x.dtype, std::vector<std::int64_t>(rank), {}};
  for (std::size_t axis = 0; axis < rank; ++axis) out.sizes[axis] = x.sizes[static_cast<std::size_t>(perm[axis])];
  std::vector<std::int64_t> index(rank, 0);
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) from += index[axis] * strides[static_cast<std::size_t>(perm[axis])];
    out.elements.push_back(x.elements[static_cast<std::size_t>(from)]);
    for (std::size_t axis = rank; axis-- > 0 && ++index[axis] == out.sizes[axis];) index[axis] = 0;
  }
  return std::optional(std::move(out));
}

HostResult host_expand(const HostCall& call) {
  const std::optional<Ints> shape = numbers(call, 1);
  if (!shape || call[0].elements.size() != 1) return not_on_host();
  std::vector<std::int64_t> sizes(shape->begin(), shape->end());
  if (sizes.size() < call[0].sizes.size()) sizes.insert(sizes.begin(), call[0].sizes.size() - sizes.size(), 1);
  const std::int64_t count = count_of(sizes);
  if (count < 0 || count > kMaxHostElements) return not_on_host();
  return std::optional(HostTensor{call[0].dtype, sizes, Dims(static_cast<std::size_t>(count), call[0].elements[0])});
}

HostResult host_constant_of_shape(const HostCall& call) {
  const std::optional<Ints> shape = numbers(call, 0);
  if (!shape || call[0].sizes.size() != 1) return not_on_host();
  const std::int64_t count = count_of(*shape);
  if (count < 0 || count > 64) return not_on_host();
  HostTensor value{DType::kF32, {}, {Dim::real(0.0)}};
  if (call.node.has_attribute("value")) {
    TW_ASSIGN(const ElemType elem, call.node.elem_of_tensor("value"));
    TW_ASSIGN(Tensor given, call.node.tensor("value"));
    if (given.count() != 1 || elem.carried != Carried::kNone) return not_on_host();
    value = *host(*constant_value(std::move(given), ""));
  }
  return std::optional(HostTensor{value.dtype, *shape, Dims(static_cast<std::size_t>(count), value.elements[0])});
}

HostResult host_range(const HostCall& call) {
  const std::optional<Ints> start = numbers(call, 0);
  const std::optional<Ints> limit = numbers(call, 1);
  const std::optional<Ints> delta = numbers(call, 2);
  if (!start || !limit || !delta || (*delta)[0] == 0 || !is_integer(call[0].dtype)) return not_on_host();
  HostTensor out{call[0].dtype, {0}, {}};
  for (std::int64_t at = (*start)[0]; (*delta)[0] > 0 ? at < (*limit)[0] : at > (*limit)[0]; at += (*delta)[0]) {
    if (out.elements.size() == 64) return not_on_host();
    out.elements.push_back(Dim(at));
  }
  out.sizes[0] = static_cast<std::int64_t>(out.elements.size());
  return std::optional(std::move(out));
}

HostResult host_reduce(const HostCall& call) {
  const HostTensor& x = call[0];
  if (x.sizes.size() != 1 || !is_integer(x.dtype) || x.elements.empty() ||
      call.node.integer("noop_with_empty_axes", 0)) {
    return not_on_host();
  }
  const std::string_view name = call.node.op_type();
  Dim total = x.elements[0];
  for (std::size_t i = 1; i < x.elements.size(); ++i) {
    const Dim element = x.elements[i];
    total = name == "ReduceProd"  ? total * element
            : name == "ReduceSum" ? total + element
            : name == "ReduceMax" ? max(total, element)
                                  : min(total, element);
  }
  std::vector<std::int64_t> sizes;
  if (call.node.integer("keepdims", 1) != 0) sizes.push_back(1);
  return std::optional(HostTensor{x.dtype, sizes, {total}});
}

}  // namespace tilewright::onnx
