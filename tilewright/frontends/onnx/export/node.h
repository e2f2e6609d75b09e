// ExportNode: what the exporter of an operator sees of a node of the graph, and what it builds with. An exporter is a
// function from an ExportNode to the tensors that are the node's results; ops.def lists them. Building calls nest:
//   return {n.make("Mul", {n.input(0), n.make("Sigmoid", {n.input(0)})})};
// After an error everything is a no-op (model_writer.h). A dtype that an operator of ONNX, or onnxruntime's kernel for
// it, does not compute in is widened to one that it does and narrowed back, which gives the same numbers
// (operators.def).
#pragma once

#include "tilewright/frontends/onnx/export/frame.h"

namespace tilewright::onnx {

class ExportNode {
 public:
  ExportNode(Frame& frame, const Node& node, std::string_view name) : frame_(frame), node_(node), name_(name) {}
  // The same node, building in a subgraph.
  ExportNode(const ExportNode& around, Frame& frame) : frame_(frame), node_(around.node_), name_(around.name_) {}

  // The node.
  Op op() const { return node_.op; }
  const Node& node() const { return node_; }
  const Attrs& attrs() const { return node_.attrs; }
  std::int64_t integer(std::string_view attr) const { return node_.attrs.integer(attr); }
  std::size_t num_inputs() const { return node_.inputs.size(); }
  Out input(std::size_t i) const { return frame_.value(node_.inputs[i]); }
  const TensorType& type(std::size_t input) const { return frame_.graph().type(node_.inputs[input]); }
  const TensorType& result(std::size_t output = 0) const { return frame_.graph().type(node_.outputs[output]); }
  const Shape& shape(std::size_t input) const { return type(input).shape; }
  std::int64_t rank(std::size_t input) const { return std::ssize(shape(input)); }
  DType dtype(std::size_t input) const { return type(input).dtype; }
  const Tensor* constant(std::size_t input) const;  // null: not a constant of the graph
  bool is_used(std::size_t output) const;
  const Facts& facts() const { return frame_.graph().facts; }
  int opset() const { return frame_.model().opset(); }
  bool standard_only() const { return frame_.model().options().standard_only; }
  std::string_view name() const { return name_; }
  Frame& frame() { return frame_; }

  // Building.
  Out make(std::string_view op_type, std::initializer_list<Out> inputs, const Attributes& attributes = {});
  Out make(std::string_view op_type, std::initializer_list<Out> inputs, const Attributes& attributes, DType result);
  Outs make_all(std::string_view op_type, const Outs& inputs, const Attributes& attributes,
                const std::vector<DType>& results, std::string_view domain = "");
  Out cast(Out value, DType dtype);
  Out cast_elem(Out value, std::int64_t elem_type, DType dtype);  // the dtype only labels the result
  Out number(DType dtype, double value) { return frame_.model().number(dtype, value); }
  Out integer(DType dtype, std::int64_t value) { return frame_.model().integer(dtype, value); }
  Out like(Out value, double number) {
    return is_float(value.dtype) ? this->number(value.dtype, number)
                                 : integer(value.dtype, static_cast<std::int64_t>(number));
  }
  Out ints(const Ints& values) { return frame_.model().ints(values); }
  Out size(Dim dim) { return frame_.size(dim); }
  Out sizes(std::span<const Dim> dims) { return frame_.sizes(dims); }
  Out scalar(Dim dim, DType dtype) { return frame_.scalar(dim, dtype); }
  std::optional<std::int64_t> known(Dim dim) const { return frame_.known(dim); }
  std::optional<Ints> known(const Dims& dims) const;

  Out where(Out condition, Out a, Out b) { return make("Where", {condition, a, b}, {}, a.dtype); }
  Out negate(Out condition) { return make("Not", {condition}); }
  Out add(Out a, Out b) { return make("Add", {a, b}); }
  Out sub(Out a, Out b) { return make("Sub", {a, b}); }
  Out mul(Out a, Out b) { return make("Mul", {a, b}); }
  Out div(Out a, Out b) { return make("Div", {a, b}); }
  Out equal(Out a, Out b) { return make("Equal", {a, b}); }
  Out less(Out a, Out b) { return make("Less", {a, b}); }
  Out reduce(std::string_view op_type, Out value, const Ints& axes, bool keepdim);
  Out reshape(Out value, const Shape& from, const Shape& to);  // sizes as they are, zeros included
  Out unsqueeze(Out value, const Ints& axes);                  // axes of the result
  Out transpose(Out value, const Ints& perm);
  Out slice(Out value, std::int64_t axis, Dim start, Dim stop);
  Out expand(Out value, const Shape& from, const Shape& to);
  Out concat(const Outs& values, std::int64_t axis);

  Outs definition();  // of a composite, by primitives
  Outs fail(std::string text);

 private:
  Frame& frame_;
  const Node& node_;
  std::string_view name_;
};

using OpExporter = Outs (*)(ExportNode&);

// Writes the nodes of a graph into its frame, whose inputs are set, and gives its results.
Outs write_graph(Frame& frame);
// Binds what the sizes of a region's inputs say about symbols: all but those that are the size passed.
void enter_region(Frame& frame, std::span<const Out> inputs, std::span<const TensorType> passed);

Out add_body_input(GraphWriter& target, std::string_view name, DType dtype, const Shape& shape);

// A subgraph that is finished: results that it does not make itself become copies, as ONNX wants it.
void add_results(GraphWriter& graph, const Outs& results, const std::vector<TensorType>& types);

#define EXPORT(Op, onnx, since, function) Outs function(ExportNode& n);
#define EXPORT_SAME(...)
#define EXPORT_NOT(...)
#include "tilewright/frontends/onnx/export/ops.def"
#undef EXPORT
#undef EXPORT_SAME
#undef EXPORT_NOT

}  // namespace tilewright::onnx
