// Questions of an import: what must be known of a call before the model can go on. A question is a value of the graph
// built so far (an input, a computed tensor, a condition over sizes); the graph up to it gives the answer.
#include <algorithm>

#include "tilewright/frontends/onnx/carriers.h"
#include "tilewright/frontends/onnx/importer.h"
#include "tilewright/graph/bound_symbols.h"

namespace tilewright::onnx {
namespace {

bool are_numbers(const HostTensor& host) {
  for (const Dim element : host.elements) {
    if (!element.constant() && !element.real_constant()) return false;
  }
  return true;
}

bool is_input(const Graph& graph, ValueId id) {
  for (const ValueId input : graph.inputs()) {
    if (input == id) return true;
  }
  return false;
}

// Whether every symbol in these expressions is bound by the graph itself, not only by a region of it.
bool binds_symbols_of(const Graph& graph, const HostTensor& host) {
  std::vector<Dim> wanted, sizes;
  for (const Dim element : host.elements) collect_symbols(element, wanted);
  for (const ValueId input : graph.inputs()) {
    for (const Dim size : graph.type(input).shape) collect_symbols(size, sizes);
  }
  std::unordered_set<Dim> bound(sizes.begin(), sizes.end());
  for (const Dim symbol : graph.scalar_inputs()) bound.insert(symbol);
  for (const NodeId id : graph.order()) {
    for (const Dim symbol : bound_symbols(graph, graph.node(id))) bound.insert(symbol);
  }
  return std::ranges::all_of(wanted, [&](Dim symbol) { return bound.contains(symbol); });
}

}  // namespace

Status Importer::learn(const ValueRef& value, std::string_view name) {
  if (const HostTensor* known = host(*value); known != nullptr && are_numbers(*known)) return {};
  const bool at_home = value->kind == OnnxValue::Kind::kTensor &&
                       (value->known ? binds_symbols_of(*out_.graph, *value->known) : value->home == root_.get());
  if (!at_home) {
    return fail(ErrorKind::kUnsupported,
                "{} must be known before the model runs, but is computed inside of a loop or a branch", name);
  }
  if (num_answered_ < answers_.size()) {
    value->known = read_elements(answers_[num_answered_++]);
    return {};
  }
  TW_ASSIGN(const ValueId id, root_->local(value));
  const Graph& graph = *out_.graph;
  std::string shown(name);
  if (value->known && value->known->elements.size() == 1) shown = to_string(value->known->elements[0]);
  if (!value->known) shown = fmt::format("{}'{}'", is_input(graph, id) ? "input " : "", graph.value(id).name);
  question_ = Question{id, std::move(shown)};
  return fail(ErrorKind::kUnsupported, "{} must be known before the model runs", question_->name);
}

Result<std::int64_t> Importer::number(Dim expression) {
  if (const auto number = expression.constant()) return *number;
  if (const auto found = numbers_.find(expression); found != numbers_.end()) return found->second;
  const ValueRef value = host_value({DType::kI64, {}, {expression}});
  TW_TRY(learn(value, to_string(expression)));
  const std::optional<std::int64_t> number = value->known->elements.at(0).constant();
  if (!number) return fail(ErrorKind::kDTypeMismatch, "{} must be an integer", expression);
  numbers_.emplace(expression, *number);
  return *number;
}

Result<bool> Importer::decide(Dim condition) {
  TW_ASSIGN(const std::int64_t holds, number(condition));
  return holds != 0;
}

// What stands of the graph, with the answer as its only result. `error` stays if that is no whole graph: a condition
// over sizes that only a loop knows.
Result<Imported> Importer::ask(Error error) {
  if (question_->value == kNoValue) {
    out_.graph->set_outputs({}, {});
  } else {
    out_.graph->set_outputs({question_->value}, {"answer"});
  }
  if (!verify(*out_.graph).ok()) return error;
  out_.weights = std::move(root_->weights());
  out_.question = std::move(question_->name);
  TW_TRY(declare_outputs());
  describe_elements(out_, *source_.model().graph, {});
  return std::move(out_);
}

Status Importer::declare_outputs() {
  for (const schema::ValueInfoProto& output : source_.model().graph->output) {
    TW_ASSIGN(Declared row, declare(output));
    out_.outputs.push_back(std::move(row));
  }
  return {};
}

}  // namespace tilewright::onnx
