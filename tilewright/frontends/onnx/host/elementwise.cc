// Arithmetic on known elements. Integers are exact; of floats only numbers are computed (in double, then rounded to the
// dtype), because an expression over symbols would be rounded otherwise than the tensor.
#include <algorithm>
#include <array>
#include <cmath>

#include "tilewright/frontends/onnx/host/host.h"

namespace tilewright::onnx {
namespace {

using Sizes = std::vector<std::int64_t>;

std::optional<Sizes> broadcast_sizes(std::span<const HostTensor* const> inputs) {
  Sizes out;
  for (const HostTensor* input : inputs) {
    if (input->sizes.size() > out.size()) out.insert(out.begin(), input->sizes.size() - out.size(), 1);
    const std::size_t skipped = out.size() - input->sizes.size();
    for (std::size_t axis = 0; axis < input->sizes.size(); ++axis) {
      std::int64_t& size = out[skipped + axis];
      if (size == 1) size = input->sizes[axis];
      if (input->sizes[axis] != size && input->sizes[axis] != 1) return std::nullopt;
    }
  }
  if (count_of(out) > kMaxHostElements) return std::nullopt;
  return out;
}

// The element of `input` that stands at row-major position `at` of a result with `sizes`.
Dim element(const HostTensor& input, const Sizes& sizes, std::int64_t at) {
  std::int64_t place = 0;
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= sizes.size(); ++back) {
    const std::int64_t index = at % sizes[sizes.size() - back];
    at /= sizes[sizes.size() - back];
    if (back > input.sizes.size()) continue;
    const std::int64_t size = input.sizes[input.sizes.size() - back];
    if (size != 1) place += index * stride;
    stride *= size;
  }
  return input.elements[static_cast<std::size_t>(place)];
}

double rounded(double value, DType dtype) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF16) return static_cast<double>(static_cast<float>(Half(static_cast<float>(value))));
  if (dtype == DType::kBF16) return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
  return static_cast<double>(static_cast<float>(value));
}

Dim truth(bool value) {
  return Dim(value ? 1 : 0);
}

std::optional<Dim> integer_op(std::string_view name, Dim a, Dim b, const Facts& facts) {
  const auto make = [](DimOp op, Dim x, Dim y) { return Dim::make(op, std::array{x, y}); };
  if (name == "Add") return a + b;
  if (name == "Sub") return a - b;
  if (name == "Mul") return a * b;
  if (name == "Min") return min(a, b);
  if (name == "Max") return max(a, b);
  if (name == "And") return make(DimOp::kAnd, a, b);
  if (name == "Or") return make(DimOp::kOr, a, b);
  if (name == "Equal") {
    const Answer answer = facts.same(a, b);
    return answer == Answer::kUnknown ? make(DimOp::kEq, a, b) : truth(answer == Answer::kYes);
  }
  const auto less = [&](Dim x, Dim y) {
    const Answer answer = facts.less(x, y);
    return answer == Answer::kUnknown ? make(DimOp::kLt, x, y) : truth(answer == Answer::kYes);
  };
  const auto less_equal = [&](Dim x, Dim y) {
    const Answer answer = facts.less_equal(x, y);
    return answer == Answer::kUnknown ? make(DimOp::kLe, x, y) : truth(answer == Answer::kYes);
  };
  if (name == "Less") return less(a, b);
  if (name == "Greater") return less(b, a);
  if (name == "LessOrEqual") return less_equal(a, b);
  if (name == "GreaterOrEqual") return less_equal(b, a);
  const bool positive = facts.less(Dim(0), b) == Answer::kYes;
  const bool sign_free = positive && facts.less_equal(Dim(0), a) == Answer::kYes;
  if (name == "Div" && sign_free) return floordiv(a, b);
  if (name == "Mod" && positive) return mod(a, b);
  return std::nullopt;
}

std::optional<double> float_op(std::string_view name, double a, double b) {
  if (name == "Add") return a + b;
  if (name == "Sub") return a - b;
  if (name == "Mul") return a * b;
  if (name == "Div") return a / b;
  return std::nullopt;
}

}  // namespace

HostResult host_identity(const HostCall& call) {
  return std::optional(call[0]);
}

HostResult host_arithmetic(const HostCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i) || call[i].dtype != call[0].dtype) return not_on_host();
  }
  const std::optional<Sizes> sizes = broadcast_sizes(call.inputs);
  if (!sizes || call.node.integer("fmod", 0) != 0 || call.node.has_attribute("axis")) return not_on_host();
  HostTensor out{call[0].dtype, *sizes, {}};
  const std::string_view name = call.node.op_type();
  for (std::int64_t at = 0; at < count_of(*sizes); ++at) {
    Dim value = element(call[0], *sizes, at);
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
      const Dim other = element(call[i], *sizes, at);
      std::optional<Dim> next;
      if (!is_float(out.dtype)) {
        next = integer_op(name, value, other, call.node.facts());
      } else if (value.real_constant() && other.real_constant()) {
        if (const auto number = float_op(name, *value.real_constant(), *other.real_constant())) {
          next = Dim::real(rounded(*number, out.dtype));
        }
      }
      if (!next) return not_on_host();
      value = *next;
    }
    out.elements.push_back(value);
  }
  static constexpr std::string_view kPredicates[] = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
  if (std::find(std::begin(kPredicates), std::end(kPredicates), name) != std::end(kPredicates))
    out.dtype = DType::kBool;
  return std::optional(std::move(out));
}

HostResult host_unary(const HostCall& call) {
  HostTensor out = call[0];
  const std::string_view name = call.node.op_type();
  for (Dim& element : out.elements) {
    const std::optional<double> real = element.real_constant();
    if (is_float(out.dtype)) {
      if (!real) return not_on_host();
      const double value = name == "Neg"     ? -*real
                           : name == "Abs"   ? std::abs(*real)
                           : name == "Floor" ? std::floor(*real)
                           : name == "Ceil"  ? std::ceil(*real)
                                             : std::sqrt(*real);
      element = Dim::real(rounded(value, out.dtype));
    } else if (name == "Not") {
      element = Dim::make(DimOp::kNot, std::array{element});
    } else if (name == "Neg") {
      element = -element;
    } else if (name == "Abs") {
      element = Dim::make(DimOp::kAbs, std::array{element});
    } else {
      return not_on_host();
    }
  }
  return std::optional(std::move(out));
}

HostResult host_cast(const HostCall& call) {
  TW_ASSIGN(const ElemType to, call.node.elem("to"));
  if (to.carried != Carried::kNone) return not_on_host();
  const DType dtype = to.dtype;
  HostTensor out = call[0];
  out.dtype = dtype;
  const bool narrow = byte_size(dtype) < 4 && dtype != DType::kBool;
  for (Dim& element : out.elements) {
    if (narrow && !element.real_constant()) return not_on_host();
    if (is_float(dtype)) {
      if (const auto real = element.real_constant()) element = Dim::real(rounded(*real, dtype));
    } else if (dtype == DType::kBool) {
      element = Dim::make(DimOp::kNe, std::array{element, Dim(0)});
    } else if (element.is_float()) {
      if (!element.real_constant() || std::abs(*element.real_constant()) > 9e18) return not_on_host();
      element = Dim(static_cast<std::int64_t>(*element.real_constant()));
    }
    if (narrow && is_integer(dtype)) {
      std::optional<Tensor> wrapped = to_tensor({dtype, {}, {element}});
      element = host(*constant_value(std::move(*wrapped), ""))->elements.front();
    }
  }
  return std::optional(std::move(out));
}

HostResult host_where(const HostCall& call) {
  if (!call.has(1) || !call.has(2) || call[1].dtype != call[2].dtype) return not_on_host();
  const std::optional<Sizes> sizes = broadcast_sizes(call.inputs);
  if (!sizes) return not_on_host();
  HostTensor out{call[1].dtype, *sizes, {}};
  for (std::int64_t at = 0; at < count_of(*sizes); ++at) {
    out.elements.push_back(
        select(element(call[0], *sizes, at), element(call[1], *sizes, at), element(call[2], *sizes, at)));
  }
  return std::optional(std::move(out));
}

}  // namespace tilewright::onnx
