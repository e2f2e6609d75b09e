#include "tilewright/frontends/onnx/importer.h"

#include "tilewright/frontends/onnx/functions.h"
#include "tilewright/frontends/onnx/host/host.h"
#include "tilewright/frontends/onnx/missing.h"
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

constexpr int kMaxDepth = 64;  // of function calls and subgraphs
// After functions are inlined and loops unrolled: so many, and so many more for each node that is written down.
constexpr std::int64_t kMaxNodes = 400'000, kMaxNodesForEach = 20;

std::int64_t count_nodes(const schema::ModelProto& model) {
  std::int64_t count = std::ssize(model.graph->node);
  for (const schema::FunctionProto& function : model.functions) count += std::ssize(function.node);
  return count;
}

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

Opsets to_opsets(const std::vector<schema::OperatorSetIdProto>& imports) {
  Opsets out;
  for (const schema::OperatorSetIdProto& import : imports) {
    out[plain_domain(import.domain.value_or(""))] = import.version.value_or(1);
  }
  return out;
}

std::string where(const schema::NodeProto& node) {
  const std::string_view name = node.name.value_or("");
  const std::string_view shown = name.empty() && !node.output.empty() ? node.output.front() : name;
  return fmt::format("node '{}' ({})", shown, node.op_type.value_or(""));
}

}  // namespace

Dim Importer::fresh_symbol(std::string_view stem) {
  while (true) {
    std::string name = fmt::format("{}{}", stem, symbol_names_[stem]++);
    if (used_symbols_.insert(name).second) return Dim::symbol(name);
  }
}

Dim Importer::fresh_float_symbol(std::string_view stem) {
  const Dim integer = fresh_symbol(stem);
  return Dim::float_symbol(integer.name());
}

Result<Imported> Importer::run() {
  auto imported = import_model();
  return imported.ok() || !question_ ? std::move(imported) : ask(std::move(imported).error());
}

Result<Imported> Importer::import_model() {
  const schema::ModelProto& model = source_.model();
  max_nodes_ = kMaxNodes + kMaxNodesForEach * count_nodes(model);
  add_metadata();
  constexpr std::int64_t kOpsetsSince = 3;  // version of the format
  if (model.opset_import.empty() && model.ir_version.value_or(0) >= kOpsetsSince) {
    return fail(ErrorKind::kCorrupt, "the model says nothing about its opsets");
  }
  opsets_ = to_opsets(model.opset_import);
  for (const schema::FunctionProto& function : model.functions) {
    functions_[{plain_domain(function.domain.value_or("")), function.name.value_or(""),
                function.overload.value_or("")}] = &function;
  }
  out_.graph = std::make_unique<Graph>();
  out_.graph->name = model.graph->name.value_or("");
  root_ = std::make_unique<GraphScope>(*out_.graph, nullptr);
  GraphScope& scope = *root_;
  Frame frame{.graph = &scope, .opsets = &opsets_};
  TW_TRY(add_initializers(*model.graph, frame));
  TW_TRY(add_inputs(*model.graph, frame));
  TW_TRY(add_nodes(model.graph->node, frame));
  TW_ASSIGN(const Results results, outputs_of(*model.graph, frame));
  TW_TRY(set_results(results));
  TW_TRY(declare_outputs());
  out_.weights = std::move(scope.weights());
  describe_elements(out_, *model.graph, results);
  return std::move(out_);
}

// What the model says about itself.
void Importer::add_metadata() {
  const schema::ModelProto& model = source_.model();
  const auto add = [&](std::string_view key, std::optional<std::string_view> text) {
    if (text && !text->empty()) out_.metadata[fmt::format("{}{}", kModelKey, key)] = *text;
  };
  add("producer_name", model.producer_name);
  add("domain", model.domain);
  add("description", model.doc_string);
  add("graph_name", model.graph->name);
  add("graph_description", model.graph->doc_string);
  if (model.model_version) out_.metadata[fmt::format("{}version", kModelKey)] = std::to_string(*model.model_version);
  for (const schema::StringStringEntryProto& entry : model.metadata_props) {
    out_.metadata.emplace(entry.key.value_or(""), entry.value.value_or(""));
  }
}

// The results of the model as outputs of the graph. A sequence is one output for each of its items.
Status Importer::set_results(const Results& results) {
  std::vector<ValueId> outputs;
  std::vector<std::string> names;
  const auto add = [&](const ValueRef& value, std::string name) -> Status {
    auto id = root_->local(value);
    if (!id.ok()) return std::move(id).error().in(fmt::format("output '{}'", name));
    outputs.push_back(*id);
    names.push_back(std::move(name));
    return {};
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string_view name = source_.model().graph->output[i].name.value_or("");
    const OnnxValue& value = *results[i];
    const bool is_sequence = value.kind == OnnxValue::Kind::kSequence;
    out_.forms.push_back({.count = is_sequence                            ? std::ssize(value.items)
                                   : value.kind == OnnxValue::Kind::kNone ? Form::kNothing
                                                                          : 1,
                          .is_sequence = is_sequence});
    if (value.kind == OnnxValue::Kind::kTensor) TW_TRY(add(results[i], std::string(name)));
    for (std::size_t item = 0; item < value.items.size(); ++item) {
      TW_TRY(add(value.items[item], fmt::format("{}_{}", name, item)));
    }
  }
  out_.graph->set_outputs(std::move(outputs), std::move(names));
  return {};
}

std::int64_t Importer::add_text_operator(TextOperator op) {
  out_.text_operators.push_back(std::move(op));
  return std::ssize(out_.text_operators) - 1;
}

Result<ValueRef> Importer::random_key(std::string seed) {
  const std::string name = fmt::format("{}{}", kRandomKey, num_random_++);
  const TensorType type{DType::kI64, {Dim(2)}};
  const ValueId id = root_->graph().add_input(type, name, InputRole::kWeight);
  if (root_->graph().value(id).name != name) {
    return fail(ErrorKind::kInvalidArgument, "'{}' is the name of a tensor of the model", name);
  }
  root_->weights().emplace(name, Tensor::from<std::int64_t>({2}, std::array<std::int64_t, 2>{}));
  out_.metadata[name] = std::move(seed);
  return tensor_value(*root_, id, type);
}

Status Importer::add_initializers(const schema::GraphProto& proto, Frame& frame) {
  for (const schema::TensorProto& initializer : proto.initializer) {
    const std::string_view name = initializer.name.value_or("");
    const auto replaced = source_.replaced().find(name);
    const bool is_replaced = &proto == source_.model().graph.get() && replaced != source_.replaced().end();
    auto tensor = is_replaced ? Result<Tensor>(replaced->second) : source_.tensor(initializer);
    if (!tensor.ok()) return std::move(tensor).error().in(fmt::format("initializer '{}'", name));
    TW_ASSIGN(const ElemType elem, to_elem(initializer.data_type.value_or(0)));
    if (!frame.names.values.emplace(name, constant_value(std::move(tensor).value(), name, elem.carried)).second) {
      return fail(ErrorKind::kInvalidArgument, "two initializers are called '{}'", name);
    }
  }
  if (!proto.sparse_initializer.empty()) return fail(ErrorKind::kUnsupported, "sparse initializers");
  return {};
}

Status Importer::add_nodes(const std::vector<schema::NodeProto>& nodes, Frame& frame) {
  for (const schema::NodeProto& node : nodes) {
    if (Status status = add_node(node, frame); !status.ok()) {
      return frame.depth == 0 || !node.name.value_or("").empty() ? std::move(status).error().in(where(node)) : status;
    }
  }
  return {};
}

Status Importer::add_node(const schema::NodeProto& proto, Frame& frame) {
  if (++num_nodes_ > max_nodes_) return fail(ErrorKind::kUnsupported, "more than {} nodes", max_nodes_);
  std::vector<ValueRef> inputs;
  inputs.reserve(proto.input.size());
  for (const std::string_view name : proto.input) {
    inputs.push_back(name.empty() ? nullptr : frame.names.find(name));
    if (!name.empty() && inputs.back() == nullptr) {
      return fail(ErrorKind::kInvalidArgument, "reads '{}', which no node before it makes", name);
    }
  }
  const std::size_t first_new = frame.graph->graph().num_values();
  TW_ASSIGN(const Results results, convert(proto, frame, std::move(inputs)));
  for (std::size_t i = 0; i < proto.output.size(); ++i) {
    if (proto.output[i].empty()) continue;
    if (i >= results.size() || results[i] == nullptr) {
      return fail(ErrorKind::kUnsupported, "output {} ('{}') is not supported", i, proto.output[i]);
    }
    if (!frame.names.values.emplace(proto.output[i], results[i]).second) {
      return fail(ErrorKind::kInvalidArgument, "the name '{}' is given twice", proto.output[i]);
    }
  }
  name_results(results, proto, frame, first_new);
  return {};
}

// Tensors made by this node get its names, for messages and printing.
void Importer::name_results(const Results& results, const schema::NodeProto& proto, Frame& frame,
                            std::size_t first_new) {
  for (std::size_t i = 0; i < results.size() && i < proto.output.size(); ++i) {
    const OnnxValue* value = results[i].get();
    if (value == nullptr || value->home != frame.graph || value->id < first_new || proto.output[i].empty()) continue;
    frame.graph->graph().rename(value->id, proto.output[i]);
  }
}

Result<Results> Importer::convert(const schema::NodeProto& proto, Frame& frame, std::vector<ValueRef> inputs) {
  const std::string_view domain = plain_domain(proto.domain.value_or(""));
  const auto opset = frame.opsets->find(domain);
  const std::int64_t version = opset == frame.opsets->end() ? 1 : opset->second;
  if (const auto own = functions_.find({domain, proto.op_type.value_or(""), proto.overload.value_or("")});
      own != functions_.end()) {
    return call(*own->second, proto, frame, std::move(inputs));
  }
  OnnxNode node(*this, proto, frame, version, std::move(inputs));
  TW_ASSIGN(std::optional<Results> known, run_on_host(node, domain));
  if (known) return std::move(*known);
  if (const Handler* handler = find_handler(domain, node.op_type(), version)) return (*handler)(node);
  if (const schema::FunctionProto* body = operator_function(domain, node.op_type(), version)) {
    return call(*body, proto, frame, std::move(node.inputs()));
  }
  lacks_operator_ = true;
  return missing_operators(source_.model(), domain, node.op_type(), version);
}

Result<Results> Importer::call(const schema::FunctionProto& function, const schema::NodeProto& node, Frame& caller,
                               std::vector<ValueRef> inputs) {
  if (caller.depth >= kMaxDepth) return fail(ErrorKind::kUnsupported, "functions call each other {} deep", kMaxDepth);
  Opsets& opsets = function_opsets_[&function];
  if (opsets.empty()) {
    opsets = to_opsets(function.opset_import);
    for (const auto& [domain, version] : *caller.opsets) opsets.emplace(domain, version);
  }
  Frame frame{.graph = caller.graph, .opsets = &opsets, .depth = caller.depth + 1};
  for (const schema::AttributeProto& attribute : function.attribute_proto) {
    frame.attributes[attribute.name.value_or("")] = {&attribute, &caller};
  }
  for (const schema::AttributeProto& attribute : node.attribute) {
    const std::string_view reference = attribute.ref_attr_name.value_or("");
    const auto bound = caller.attributes.find(reference);
    if (!reference.empty() && bound == caller.attributes.end()) continue;
    frame.attributes[attribute.name.value_or("")] =
        reference.empty() ? Frame::Bound{&attribute, &caller} : bound->second;
  }
  for (std::size_t i = 0; i < function.input.size(); ++i) {
    const bool given = i < inputs.size() && inputs[i] != nullptr;
    frame.names.values[function.input[i]] = given ? inputs[i] : no_value();
  }
  TW_TRY(add_nodes(function.node, frame));
  Results results;
  for (const std::string_view name : function.output) results.push_back(frame.names.find(name));
  return results;
}

Result<Results> Importer::outputs_of(const schema::GraphProto& proto, const Frame& frame) const {
  Results results;
  for (const schema::ValueInfoProto& output : proto.output) {
    const std::string_view name = output.name.value_or("");
    results.push_back(frame.names.find(name));
    if (results.back() == nullptr) return fail(ErrorKind::kInvalidArgument, "no node makes the output '{}'", name);
  }
  return results;
}

Result<Results> Importer::subgraph(const schema::GraphProto& proto, const Frame& closure, GraphScope& target,
                                   std::vector<ValueRef> inputs) {
  if (closure.depth >= kMaxDepth) return fail(ErrorKind::kUnsupported, "graphs are nested {} deep", kMaxDepth);
  Frame frame{.graph = &target, .opsets = closure.opsets, .attributes = closure.attributes, .depth = closure.depth + 1};
  frame.names.outer = &closure.names;
  TW_TRY(add_initializers(proto, frame));
  std::size_t next = 0;
  for (const schema::ValueInfoProto& input : proto.input) {
    if (next == inputs.size()) {
      return fail(ErrorKind::kInvalidArgument, "a subgraph takes {} inputs, {} are given", proto.input.size(),
                  inputs.size());
    }
    frame.names.values[input.name.value_or("")] = inputs[next++];
  }
  TW_TRY(add_nodes(proto.node, frame));
  return outputs_of(proto, frame);
}

Result<Region> Importer::region(const schema::GraphProto& proto, const Frame& closure,
                                const std::vector<ValueRef>& inputs) {
  Region region;
  region.graph = std::make_unique<Graph>();
  region.graph->facts = closure.graph->graph().facts;
  region.scope = std::make_unique<GraphScope>(*region.graph, closure.graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string_view name = i < proto.input.size() ? proto.input[i].name.value_or("") : "";
    if (inputs[i]->kind != OnnxValue::Kind::kTensor) {
      return fail(ErrorKind::kUnsupported, "a loop carries '{}', which is not a tensor", name);
    }
    const ValueId id = region.graph->add_input(inputs[i]->type, name);
    region.scope->set_carried(id, inputs[i]->carried);
    region.inputs.push_back(tensor_value(*region.scope, id, inputs[i]->type, inputs[i]->carried));
  }
  TW_ASSIGN(region.results, subgraph(proto, closure, *region.scope, region.inputs));
  return region;
}

Result<Imported> import_bytes(Bytes bytes, const std::string& path) {
  TW_ASSIGN(const std::shared_ptr<ModelReader> reader, ModelReader::open(std::move(bytes), path));
  TW_ASSIGN(Imported imported, reader->import());
  if (imported.question.empty()) return imported;
  return fail(ErrorKind::kUnsupported, "the structure of the model depends on {}, which only a call can tell",
              imported.question);
}

}  // namespace tilewright::onnx
