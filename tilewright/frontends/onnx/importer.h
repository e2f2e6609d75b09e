// Importer: an ONNX model as a Graph. Walks the nodes in their order; each becomes nodes of the graph by its operator's
// importer (operators.def), the body of a function (of the model, or of the operator's schema), or nothing at all where
// its result is known without running (host/). Sizes named in the model become symbols of the same name.
// Where the structure depends on a value of the call, the import stops with a question (Imported::question). Importing
// is deterministic, so the next import, given the answers in order, comes to the same places and passes them.
#pragma once

#include "tilewright/frontends/onnx/node.h"
#include "tilewright/frontends/onnx/reader.h"

namespace tilewright::onnx {

class Importer {
 public:
  explicit Importer(Source& source, std::span<const Tensor> answers = {}) : source_(source), answers_(answers) {}
  Result<Imported> run();

  Source& source() { return source_; }
  Dim fresh_symbol(std::string_view stem);
  Dim fresh_float_symbol(std::string_view stem);
  // After it the elements of the value are known numbers. Otherwise an error: the value is one that a call can tell,
  // then it is the question, or it exists only inside of a loop or a branch, or it is too large.
  Status learn(const ValueRef& value, std::string_view name);
  bool asks() const { return question_.has_value(); }
  // Whether an operator was met that nothing can run.
  bool lacks_operator() const { return lacks_operator_; }
  // The target of a host call of this operator.
  std::int64_t add_text_operator(TextOperator op);
  // A weight input i64[2] with another key of random numbers at every call; the text is its seed or empty.
  Result<ValueRef> random_key(std::string seed);
  // The value of an expression over sizes, asked at most once; of a condition, whether it holds.
  Result<std::int64_t> number(Dim expression);
  Result<bool> decide(Dim condition);
  // The results of a graph whose names see `closure`, with nodes going into `target`.
  Result<Results> subgraph(const schema::GraphProto& proto, const Frame& closure, GraphScope& target,
                           std::vector<ValueRef> inputs);
  // The same as a region of a node in the closure's graph; its inputs have the types of `inputs`.
  Result<Region> region(const schema::GraphProto& proto, const Frame& closure, const std::vector<ValueRef>& inputs);

 private:
  struct Question {
    ValueId value;
    std::string name;
  };
  Result<Imported> import_model();
  Result<Imported> ask(Error error);
  Status declare_outputs();
  Result<Declared> declare(const schema::ValueInfoProto& value);
  Status add_inputs(const schema::GraphProto& proto, Frame& frame);
  struct Given {
    Form form;
    std::vector<std::size_t> ranks;  // of the tensors that it is
  };
  Result<Given> given_as(const Declared& input, std::size_t place);
  Result<ValueRef> add_tensor(const Declared& input, Carried carried, std::size_t rank, std::string name, Frame& frame);
  Result<Shape> input_shape(const schema::TypeProtoTensor& type);
  void add_metadata();
  Status set_results(const Results& results);
  Status add_initializers(const schema::GraphProto& proto, Frame& frame);
  Status add_nodes(const std::vector<schema::NodeProto>& nodes, Frame& frame);
  Status add_node(const schema::NodeProto& proto, Frame& frame);
  Result<Results> convert(const schema::NodeProto& proto, Frame& frame, std::vector<ValueRef> inputs);
  Result<Results> call(const schema::FunctionProto& function, const schema::NodeProto& node, Frame& caller,
                       std::vector<ValueRef> inputs);
  void describe_elements(Imported& out, const schema::GraphProto& proto, const Results& results);
  Result<Results> outputs_of(const schema::GraphProto& proto, const Frame& frame) const;
  void name_results(const Results& results, const schema::NodeProto& proto, Frame& frame, std::size_t first_new);

  Source& source_;
  std::span<const Tensor> answers_;
  std::size_t num_answered_ = 0;
  std::optional<Question> question_;
  std::unordered_map<Dim, std::int64_t> numbers_;
  Imported out_;
  std::unique_ptr<GraphScope> root_;
  std::unordered_map<std::string_view, int> symbol_names_;
  std::unordered_set<std::string> used_symbols_;
  std::map<std::string, Dim> named_dims_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const schema::FunctionProto*> functions_;
  std::map<const void*, Opsets> function_opsets_;
  Opsets opsets_;
  bool lacks_operator_ = false;
  std::int64_t num_random_ = 0;
  std::int64_t num_nodes_ = 0, max_nodes_ = 0;
};

}  // namespace tilewright::onnx
