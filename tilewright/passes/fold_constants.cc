// Computes what depends on nothing but constants, with the oracle, up to a size limit; and arithmetic on host scalars,
// where a Dim expression gives the same bits. A constant of equal elements that an elementwise node reads becomes a
// host scalar, which kernels take as a literal.
#include <cmath>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"
#include "tilewright/passes/scalar_arithmetic.h"

namespace tilewright::passes {
namespace {

constexpr std::int64_t kMostBytes = 256 << 10;                 // of an input or a result
constexpr std::int64_t kMostProducts = std::int64_t{1} << 20;  // of a contraction

// The number of bytes of a value, nothing if a size is not known.
std::optional<std::int64_t> bytes_of(const TensorType& type) {
  std::int64_t bytes = byte_size(type.dtype);
  for (Dim dim : type.shape) {
    const std::optional<std::int64_t> size = dim.constant();
    if (!size || *size < 0 || __builtin_mul_overflow(bytes, *size, &bytes)) return std::nullopt;
  }
  return bytes;
}

bool is_known(const Attrs& attrs) {
  for (const Attrs::Entry& entry : attrs.entries()) {
    if (const auto* dim = std::get_if<Dim>(&entry.value); dim != nullptr && !dim->real_constant()) return false;
    const auto* dims = std::get_if<Dims>(&entry.value);
    if (dims == nullptr) continue;
    for (Dim dim : *dims) {
      if (!dim.constant()) return false;
    }
  }
  return true;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), arithmetic_(graph) {}

  std::optional<ValueId> fold(Builder& builder, NodeId id) {
    if (is_foldable(graph_.node(id))) {
      const bool stays = graph_.node(id).op == Op::kExpand;  // a view: it would only grow
      if (const auto tensor = tensor_of(graph_.node(id).outputs[0]); tensor && !stays) return literal(builder, *tensor);
    }
    if (const auto scalar = arithmetic_.fold(graph_.node(id))) {
      return builder.scalar(graph_.type(graph_.node(id).outputs[0]).dtype, *scalar);
    }
    take_literals(builder, id);
    return std::nullopt;
  }

 private:
  bool is_foldable(const Node& node) const {
    switch (info(node.op).op_class) {
      case OpClass::kCreate:
      case OpClass::kRandom:
      case OpClass::kLate:
      case OpClass::kControl:
      case OpClass::kEffect:
        return false;
      default:
        break;
    }
    if (node.inputs.empty() || node.outputs.size() != 1 || !is_known(node.attrs)) return false;
    const auto bytes = bytes_of(graph_.type(node.outputs[0]));
    if (!bytes || *bytes > kMostBytes) return false;
    for (ValueId input : node.inputs) {
      if (!may_be_known(input)) return false;
    }
    return info(node.op).op_class != OpClass::kContraction || is_small_contraction(node);
  }

  bool is_small_contraction(const Node& node) const {
    if (node.op != Op::kMatMul) return false;
    const Shape& a = graph_.type(node.inputs[0]).shape;
    std::int64_t products = a.back().constant().value_or(kMostProducts);
    for (Dim dim : graph_.type(node.outputs[0]).shape) {
      if (__builtin_mul_overflow(products, *dim.constant(), &products)) return false;
    }
    return products <= kMostProducts;
  }

  bool may_be_known(ValueId value) const {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode) return false;
    const Node& node = graph_.node(id);
    if (node.op == Op::kConstant) return node.attrs.tensor("value").bytes() <= kMostBytes;
    if (node.op == Op::kScalar) return is_known(node.attrs);
    return node.op == Op::kExpand && is_foldable(node);
  }

  // The value, computed by the oracle; nothing if it finds an error, which then stays for the call.
  std::optional<Tensor> tensor_of(ValueId value) const {
    const Node& node = graph_.node(graph_.value(value).producer);
    if (node.op == Op::kConstant) return node.attrs.tensor("value");
    Graph one;
    std::vector<Tensor> tensors;
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      const std::optional<Tensor> tensor = tensor_of(input);
      if (!tensor) return std::nullopt;
      inputs.push_back(one.add_input(graph_.type(input), "x"));
      tensors.push_back(*tensor);
    }
    const NodeId copy = one.add_node(node.op, inputs, node.attrs, {graph_.type(value)});
    one.set_outputs(one.node(copy).outputs);
    Result<std::vector<Tensor>> results = eval(one, tensors);
    return results.ok() ? std::optional((*results)[0]) : std::nullopt;
  }

  ValueId literal(Builder& builder, const Tensor& tensor) const {
    const ValueId constant = builder.must(Op::kConstant, {}, {{"value", tensor}});
    if (tensor.rank() != 0) return constant;
    const std::optional<Dim> number = host_scalar(graph_, constant);
    return number ? builder.scalar(tensor.dtype(), *number) : constant;
  }

  // Constants of equal elements among the inputs of an elementwise node, where another input alone gives the result's
  // shape.
  void take_literals(Builder& builder, NodeId id) const {
    if (!is_elementwise(graph_.node(id).op)) return;
    const Shape shape = graph_.type(graph_.node(id).outputs[0]).shape;
    for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId input = graph_.node(id).inputs[i];
      if (made_by(graph_, input, Op::kConstant) == nullptr) continue;
      bool covered = shape.empty();
      for (std::size_t j = 0; j < graph_.node(id).inputs.size(); ++j) {
        const ValueId other = graph_.node(id).inputs[j];
        covered = covered || (other != input && same_shape(graph_.type(other).shape, shape, graph_.facts));
      }
      const std::optional<Dim> number = covered ? host_scalar(graph_, input) : std::nullopt;
      if (!number) continue;
      const ValueId scalar = builder.scalar(graph_.type(input).dtype, *number);
      graph_.node(id).inputs[i] = scalar;
      changed_ = true;
    }
  }

 public:
  bool changed() const { return changed_; }

 private:
  Graph& graph_;
  ScalarArithmetic arithmetic_;
  mutable bool changed_ = false;
};

}  // namespace

bool fold_constants(Graph& graph) {
  Folder folder(graph);
  const bool folded = rewrite_nodes(graph, [&](Builder& builder, NodeId id) { return folder.fold(builder, id); });
  if (!folded && folder.changed()) sort_topologically(graph);
  return folded || folder.changed();
}

}  // namespace tilewright::passes
