// OnnxNode: what an operator's importer sees of a node, and what it builds with. An importer is a function from an
// OnnxNode to results; operators.def lists them. Building functions take and give Result<ValueId>, so that they nest:
//   return n.op(Op::kMul, {n.input(0), n.op(Op::kSigmoid, {n.input(0)})});
// The first error passes through.
#pragma once

#include <initializer_list>

#include "tilewright/frontends/onnx/scope.h"
#include "tilewright/frontends/onnx/texts/texts.h"

namespace tilewright::onnx {

class Importer;
using Maybe = Result<ValueId>;
using Results = std::vector<ValueRef>;

// What the attributes of a cast say about floats of few bits.
struct CastRules {
  bool saturate = true;
  std::string_view round_mode = "up";  // of powers of two
};

struct Region {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<GraphScope> scope;
  std::vector<ValueRef> inputs, results;
};

class OnnxNode {
 public:
  OnnxNode(Importer& importer, const schema::NodeProto& proto, Frame& frame, std::int64_t version,
           std::vector<ValueRef> inputs)
      : importer_(importer),
        proto_(proto),
        frame_(frame),
        op_type_(proto.op_type.value_or("")),
        version_(version),
        inputs_(std::move(inputs)) {}

  std::string_view op_type() const { return op_type_; }
  std::int64_t version() const { return version_; }  // of the opset of the node's domain
  const schema::NodeProto& proto() const { return proto_; }

  // Inputs. One that is left out, or an optional without content, is not there.
  std::size_t num_inputs() const { return inputs_.size(); }
  bool has(std::size_t input) const;
  Result<ValueRef> value(std::size_t input) const;
  Maybe input(std::size_t input);
  Result<TensorType> type(std::size_t input) const;
  const Tensor* constant(std::size_t input) const;   // null: not a constant
  const HostTensor* known(std::size_t input) const;  // null: the elements are not known
  // Elements of an integer tensor whose number is known: known, or symbols that are bound when it was computed.
  Result<Dims> integers(std::size_t input);
  // Known numbers; where they are not, the model is imported once for each value that a call brings.
  Result<Ints> constant_integers(std::size_t input) const;
  Status learn(std::size_t input) const;  // the same for any tensor: known(input) gives numbers then
  Status learn(const ValueRef& value, std::string_view name) const;
  bool asks() const;                      // the error that was just given is a question
  bool lacks_operator() const;            // an operator was met that nothing can run
  Result<Dim> scalar(std::size_t input);  // an element of a one-element tensor of any dtype
  std::vector<ValueRef>& inputs() { return inputs_; }

  // Outputs.
  std::size_t num_outputs() const { return static_cast<std::size_t>(proto_.output.size()); }
  bool wants(std::size_t output) const;

  // Attributes.
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t missing) const;
  double real(std::string_view name, double missing) const;
  std::string_view text(std::string_view name, std::string_view missing) const;
  std::optional<Ints> integers_of(std::string_view name) const;
  std::optional<std::vector<double>> reals_of(std::string_view name) const;
  std::vector<std::string_view> texts_of(std::string_view name) const;
  Result<Tensor> tensor(std::string_view name) const;
  Result<DType> dtype(std::string_view name) const;    // of an attribute that holds an element type
  Result<ElemType> elem(std::string_view name) const;  // the same, of a type that a dtype carries too
  Result<ElemType> elem_of_tensor(std::string_view name) const;
  // The number that stands for a text of the model; -1: it is no element of a tensor, nor in a list of an attribute.
  std::int64_t number_of(std::string_view text) const;
  // An axis, negative ones counted from the end of `rank`.
  Result<std::int64_t> axis(std::int64_t given, std::size_t rank) const;
  Result<Ints> axes(const Ints& given, std::size_t rank) const;

  // Building.
  Maybe op(Op op, std::initializer_list<Maybe> inputs, Attrs attrs = {});
  Maybe op(Op op, const std::vector<ValueId>& inputs, Attrs attrs = {});
  Result<std::vector<ValueId>> ops(Op op, const std::vector<ValueId>& inputs, Attrs attrs = {},
                                   std::vector<std::unique_ptr<Graph>> regions = {});
  Result<std::vector<ValueId>> plain_ops(Op op, const std::vector<ValueId>& inputs, Attrs attrs = {},
                                         std::vector<std::unique_ptr<Graph>> regions = {});  // of carriers
  // A call of the host with the attributes of this node and `more`; its results are of these types.
  Result<std::vector<ValueId>> on_texts(TextFunction function, const std::vector<ValueId>& inputs,
                                        const std::vector<TensorType>& types, TextAttributes more = {});
  // i64[2], another one at every call and in every trip of a loop.
  Maybe random_key();
  Maybe number(DType dtype, Dim value);                // rank 0
  Maybe number_like(const Maybe& like, double value);  // of the same dtype
  Maybe constant_tensor(Tensor tensor);
  Maybe cast(const Maybe& value, DType dtype);
  // A cast as ONNX means it, from and to any element type; the result is of just that type.
  Maybe convert(const Maybe& value, ElemType to, const CastRules& rules = {});
  Carried carried(ValueId value) const { return frame_.graph->carried(value); }
  ElemType elem_of(ValueId value) const { return {type_of(value).dtype, carried(value)}; }
  Result<ElemType> elem_of_input(std::size_t input) const;
  Maybe reshape(const Maybe& value, Shape shape);
  Maybe expand(const Maybe& value, Shape shape);
  Maybe transpose(const Maybe& value, Ints perm);
  Maybe slice(const Maybe& value, std::int64_t axis, Dim start, Dim stop);
  Maybe reduce(Op reduction, const Maybe& value, const Ints& axes, bool keepdim);
  Maybe unsqueeze(const Maybe& value, const Ints& axes);  // axes of the result
  // The type of a value that was just built. The reference ends with the next node.
  const TensorType& type_of(ValueId value) const { return frame_.graph->graph().type(value); }
  ValueRef result(ValueId value) const;
  Result<ValueRef> result(const Maybe& value) const;
  Result<Results> results(std::initializer_list<Maybe> values) const;
  Facts& facts() { return frame_.graph->graph().facts; }
  Dim fresh_symbol(std::string_view stem);
  Result<Dim> late(const Maybe& one_element);  // its value, as a symbol bound when it was computed
  // Whether it holds, where the structure depends on it. The model is imported once for each answer, and checks it.
  Result<bool> decide(Dim condition);
  // The same for a size: how many there are decides what is built.
  Result<std::int64_t> number_of_size(Dim size);
  Status require(Dim condition, std::string message);  // an error of the call unless the condition holds

  // The results of another operator of ONNX for these inputs and the attributes of this node.
  Result<Results> delegate(std::string_view op_type, std::int64_t version, std::vector<ValueRef> inputs);
  Result<Results> delegate(std::string_view op_type, std::int64_t version, std::initializer_list<Maybe> inputs);

  // Subgraphs.
  const schema::GraphProto* subgraph(std::string_view name) const;
  Result<Results> inline_subgraph(std::string_view name, std::vector<ValueRef> inputs);
  Result<Region> region(std::string_view name, const std::vector<ValueRef>& inputs);
  Result<std::vector<ValueId>> finish_region(Region& region);  // its results as outputs of its graph
  // For loops: a region with inputs of these types, and a node like this one inside of it.
  Region open_region(const std::vector<TensorType>& inputs, const std::vector<Carried>& carried = {});
  template <typename Build>
  auto inside(Region& region, Build build) {
    Frame frame{
        .graph = region.scope.get(), .opsets = frame_.opsets, .attributes = frame_.attributes, .depth = frame_.depth};
    frame.names.outer = &frame_.names;
    OnnxNode inner(importer_, proto_, frame, version_, inputs_);
    return build(inner);
  }
  Maybe local(const ValueRef& value) { return frame_.graph->local(value); }
  GraphScope& scope() { return *frame_.graph; }
  Frame& frame() { return frame_; }

 private:
  const schema::AttributeProto* attribute(std::string_view name) const;

  Importer& importer_;
  const schema::NodeProto& proto_;
  Frame& frame_;
  std::string_view op_type_;
  std::int64_t version_;
  std::vector<ValueRef> inputs_;
};

}  // namespace tilewright::onnx
