#include "tilewright/passes/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilewright::passes {
namespace {

constexpr std::int64_t kMostBytes = 64 << 10;

// The first element. Float numbers are exact in f64, integers as Dims are.
std::optional<Dim> first_element(const Tensor& tensor) {
  return visit(tensor.dtype(), [&]<typename T>() -> std::optional<Dim> {
    const T value = *tensor.data_as<T>();
    if constexpr (std::is_integral_v<T>) {
      return Dim(static_cast<std::int64_t>(value));
    } else {
      const auto real = static_cast<double>(value);
      if (std::isnan(real)) return std::nullopt;
      return Dim::real(real);
    }
  });
}

}  // namespace

const Node* made_by(const Graph& graph, ValueId value, Op op) {
  const NodeId id = graph.value(value).producer;
  return id != kNoNode && graph.node(id).op == op ? &graph.node(id) : nullptr;
}

bool is_uniform(const Tensor& tensor) {
  if (tensor.count() == 1) return true;
  if (tensor.count() == 0 || tensor.bytes() > kMostBytes) return false;
  const Tensor dense = tensor.contiguous();
  const auto size = static_cast<std::size_t>(byte_size(dense.dtype()));
  const auto* bytes = dense.data_as<unsigned char>();
  return std::memcmp(bytes, bytes + size, static_cast<std::size_t>(dense.bytes()) - size) == 0;
}

std::optional<Dim> host_scalar(const Graph& graph, ValueId value) {
  while (true) {
    const NodeId id = graph.value(value).producer;
    if (id == kNoNode) return std::nullopt;
    const Node& node = graph.node(id);
    if (node.op == Op::kScalar) return node.attrs.dim("value");
    if (node.op == Op::kConstant) {
      const Tensor& tensor = node.attrs.tensor("value");
      return is_uniform(tensor) ? first_element(tensor) : std::nullopt;
    }
    if (node.op != Op::kExpand && node.op != Op::kReshape) return std::nullopt;
    value = node.inputs[0];
  }
}

std::optional<double> known_number(const Graph& graph, ValueId value) {
  const std::optional<Dim> scalar = host_scalar(graph, value);
  if (!scalar) return std::nullopt;
  const std::optional<double> number = scalar->real_constant();
  if (!number || std::isnan(*number)) return std::nullopt;
  switch (graph.type(value).dtype) {
    case DType::kF32:
      return static_cast<double>(static_cast<float>(*number));
    case DType::kF16:
      return static_cast<double>(static_cast<float>(Half(static_cast<float>(*number))));
    case DType::kBF16:
      return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(*number))));
    case DType::kF64:
      return *number;
    default:
      break;
  }
  return std::trunc(*number) == *number && std::fabs(*number) < 128 ? number : std::nullopt;
}

bool same_shape(const Shape& a, const Shape& b, const Facts& facts) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](Dim x, Dim y) { return x == y || facts.same(x, y) == Answer::kYes; });
}

bool same_but_for_units(const Shape& a, const Shape& b, const Facts& facts) {
  std::size_t i = 0, j = 0;
  const auto skip = [&](const Shape& shape, std::size_t& at) {
    while (at < shape.size() && facts.is_one(shape[at]) == Answer::kYes) ++at;
  };
  while (true) {
    skip(a, i);
    skip(b, j);
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i] != b[j] && facts.same(a[i], b[j]) != Answer::kYes) return false;
    ++i;
    ++j;
  }
}

}  // namespace tilewright::passes
