// The ONNX model that is written: names, constants, and graphs of nodes in the structs of the schema. Texts and tensors
// live here as long as the model does; the structs hold views of them. The first error stays: after it nothing is
// added, so that code which builds nodes need not look.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "messages.h"
#include "tilewright/frontends/onnx/export/export.h"

namespace tilewright::onnx {

// A tensor of the model. Without a name: an optional input that is left out.
struct Out {
  std::string_view name;
  DType dtype = DType::kF32;
  bool operator==(const Out&) const = default;
};
using Outs = std::vector<Out>;

struct Attribute {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view, Ints> value;
};
using Attributes = std::vector<Attribute>;

class ModelWriter {
 public:
  explicit ModelWriter(ExportOptions options) : options_(std::move(options)) {}
  ModelWriter(const ModelWriter&) = delete;

  const ExportOptions& options() const { return options_; }
  int opset() const { return options_.opset; }
  std::string_view keep(std::string text);             // the same text, as long as the model lives
  std::string_view fresh_name(std::string_view stem);  // the stem, made unique
  void reserve(std::string_view name) { names_.emplace(keep(std::string(name)), 1); }

  Out constant(const Tensor& tensor, std::string_view name, bool is_named = false);  // named: just so
  Out number(DType dtype, double value);                                             // rank 0; shared
  Out integer(DType dtype, std::int64_t value);
  Out ints(const Ints& values);  // i64[n]; shared

  void fail(Error error);
  bool failed() const { return error_.has_value(); }
  // Says where, once: the innermost place counts.
  void locate(std::string_view where);
  Error take_error() { return std::move(*error_); }
  void note(std::string text);
  const std::vector<std::string>& notes() const { return notes_; }
  void use_domain(std::string_view domain) { domains_.insert(domain); }
  const std::unordered_set<std::string_view>& domains() const { return domains_; }
  // Fails unless the opset has the standard operator.
  void check_operator(std::string_view name);

  schema::GraphProto main;
  std::vector<std::pair<ValueId, Out>> states;  // inputs that the graph assigns to, with what they become

 private:
  ExportOptions options_;
  std::deque<std::string> texts_;
  std::deque<Tensor> tensors_;
  std::unordered_map<std::string_view, int> names_;
  std::unordered_map<std::string, Out> shared_;  // constants by what they are
  std::unordered_set<std::string_view> domains_;
  std::vector<std::string> notes_;
  std::optional<Error> error_;
  bool located_ = false;
};

// A graph under construction: the main one, or a subgraph, which sees the names of those around it.
class GraphWriter {
 public:
  GraphWriter(ModelWriter& model, schema::GraphProto& proto) : model_(model), proto_(proto) {}
  GraphWriter(const GraphWriter&) = delete;

  ModelWriter& model() { return model_; }
  schema::GraphProto& proto() { return proto_; }
  std::size_t num_nodes() const { return proto_.node.size(); }

  // Appends a node; its results get names from `stem`.
  Outs add(std::string_view op_type, std::span<const Out> inputs, const Attributes& attributes,
           std::span<const DType> results, std::string_view stem, std::string_view domain = "");
  Out add_one(std::string_view op_type, std::initializer_list<Out> inputs, DType result, std::string_view stem,
              const Attributes& attributes = {});
  void add_subgraph(std::string_view attribute, std::unique_ptr<schema::GraphProto> graph);  // to the last node
  bool makes(std::string_view name) const { return made_.contains(name); }
  // Gives a result of a node from `first` on another name.
  Out rename(Out value, std::string_view wanted, std::size_t first);

  // Only the main graph names its sizes: what a subgraph takes may have another size each time.
  Out add_input(std::string_view name, std::int64_t elem_type, DType dtype, const Shape& shape);
  void add_output(std::string_view name, std::int64_t elem_type, const Shape& shape);

 private:
  schema::ValueInfoProto value_info(std::string_view name, std::int64_t elem_type, const Shape& shape);

  ModelWriter& model_;
  schema::GraphProto& proto_;
  std::unordered_set<std::string_view> made_;
};

}  // namespace tilewright::onnx
