// verify: what a pass or a reader of a file could get wrong, looked for in one walk over the nodes in their order.
// Costs one infer per node. Regions are verified with the symbols that the graphs around them know.
#include <algorithm>
#include <unordered_set>

#include "tilewright/graph/infer/infer.h"

namespace tilewright {
namespace {

std::string where(const Graph& graph, const Node& node) {
  const std::string_view text = info(node.op).text;
  if (node.outputs.empty() || node.outputs[0] >= graph.num_values()) return std::string(text);
  return fmt::format("'{}' = {}", graph.value(node.outputs[0]).name, text);
}

// Calls `visit` once for each symbol of a dim, also where it shares subexpressions many times over.
template <typename Visit>
void for_each_symbol(Dim dim, std::unordered_set<Dim>& seen, Visit& visit) {
  if (!seen.insert(dim).second) return;
  if (dim.is_symbol()) visit(dim);
  for (const Dim operand : dim.operands()) for_each_symbol(operand, seen, visit);
}

class Verifier {
 public:
  Verifier(const Graph& graph, const Verifier* outer) : graph_(graph), outer_(outer) {}

  Status run() {
    TW_TRY(check_inputs());
    TW_TRY(check_captures());
    TW_TRY(check_order());
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.dead) continue;
      Status status = check_node(id, node);
      if (!status.ok()) return std::move(status).error().in(where(graph_, node));
    }
    return check_outputs();
  }

 private:
  template <typename... Args>
  static Error wrong(fmt::format_string<Args...> text, Args&&... args) {
    return fail(ErrorKind::kInvalidArgument, text, std::forward<Args>(args)...);
  }

  Status define(ValueId id, NodeId producer) {
    if (id >= graph_.num_values()) return wrong("value {} does not exist", id);
    const Value& value = graph_.value(id);
    if (value.name.empty()) return wrong("value {} has no name", id);
    if (!names_.insert(value.name).second) return wrong("the name '{}' is used twice", value.name);
    if (value.producer != producer) return wrong("'{}' does not know its producer", value.name);
    if (!defined_.insert(id).second) return wrong("'{}' is defined twice", value.name);
    for (const Dim dim : value.type.shape) {
      if (dim.is_float()) return wrong("a size of '{}' is no integer: {}", value.name, value.type);
    }
    return {};
  }

  Status check_inputs() {
    for (const Dim symbol : graph_.scalar_inputs()) {
      if (!symbol.is_symbol()) return wrong("a host scalar must be a symbol: {}", symbol);
      bound_.insert(symbol);
    }
    for (const ValueId input : graph_.inputs()) {
      TW_TRY(define(input, kNoNode));
      bind_sizes(graph_.type(input));
    }
    return {};
  }

  void bind_sizes(const TensorType& type) {
    std::unordered_set<Dim> seen;
    auto bind = [&](Dim symbol) { bound_.insert(symbol); };
    for (const Dim dim : type.shape) for_each_symbol(dim, seen, bind);
  }

  Status check_captures() {
    if (outer_ == nullptr && !graph_.captures().empty()) return wrong("a graph that is no region captures values");
    for (const Graph::Capture& capture : graph_.captures()) {
      TW_TRY(define(capture.inner, kNoNode));
      const Value& inner = graph_.value(capture.inner);
      if (!outer_->defined_.contains(capture.outer)) {
        return wrong("'{}' captures a value that is not defined before the region", inner.name);
      }
      const Value& outer = outer_->graph_.value(capture.outer);
      if (!may_be(inner.type, outer.type, graph_.facts)) {
        return wrong("'{}' is {} but captures '{}', which is {}", inner.name, inner.type, outer.name, outer.type);
      }
    }
    return {};
  }

  Status check_order() {
    std::vector<bool> seen(graph_.num_nodes(), false);
    for (const NodeId id : graph_.order()) {
      if (id >= graph_.num_nodes()) return wrong("the order names node {}, which does not exist", id);
      if (seen[id]) return wrong("the order names node {} twice", id);
      seen[id] = true;
    }
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (!seen[id] && !graph_.node(id).dead) return wrong("the order leaves out {}", where(graph_, graph_.node(id)));
    }
    return {};
  }

  Status check_node(NodeId id, const Node& node) {
    const OpInfo& op = info(node.op);
    if (node.inputs.size() < op.min_inputs || node.inputs.size() > op.max_inputs) {
      return wrong("{} inputs given, {} to {} expected", node.inputs.size(), op.min_inputs, op.max_inputs);
    }
    for (const ValueId input : node.inputs) TW_TRY(check_use(input));
    TW_TRY(check_attrs(node));
    TW_TRY(check_regions(node));
    if (node.op == Op::kFused) TW_TRY(check_area(node));
    TW_TRY(check_types(node));
    for (const ValueId output : node.outputs) TW_TRY(define(output, id));
    if (node.op == Op::kAssign) TW_TRY(check_buffer(node.inputs[0]));
    return bind_late(node);
  }

  Status check_use(ValueId value) {
    if (value >= graph_.num_values()) return wrong("value {} does not exist", value);
    if (defined_.contains(value)) return {};
    return wrong("'{}' is used before it is defined", graph_.value(value).name);
  }

  Status check_attrs(const Node& node) {
    TW_ASSIGN(const Attrs complete, complete_attrs(node.op, node.attrs));
    if (complete.entries().size() != node.attrs.entries().size()) return wrong("attributes are missing or given twice");
    for (const Attrs::Entry& entry : node.attrs.entries()) {
      if (complete.find(entry.name)->index() != entry.value.index()) {
        return wrong("attribute '{}' has the wrong kind", entry.name);
      }
      if (!is_late_symbol(node.op, entry.name)) TW_TRY(check_bound(entry));
    }
    return {};
  }

  static bool is_late_symbol(Op op, std::string_view attribute) {
    const bool by_class = info(op).op_class == OpClass::kLate && (attribute == "count" || attribute == "symbol");
    return by_class || ((op == Op::kIf || op == Op::kScan) && (attribute == "late" || attribute == "count"));
  }

  // Every symbol of an attribute is the size of an input, a host scalar or bound by an earlier node.
  Status check_bound(const Attrs::Entry& entry) {
    std::optional<Dim> missing;
    std::unordered_set<Dim> seen;
    auto look = [&](Dim symbol) {
      if (!is_bound(symbol)) missing = symbol;
    };
    if (const auto* dim = std::get_if<Dim>(&entry.value)) for_each_symbol(*dim, seen, look);
    if (const auto* dims = std::get_if<Dims>(&entry.value)) {
      for (const Dim dim : *dims) for_each_symbol(dim, seen, look);
    }
    if (!missing) return {};
    return wrong("attribute '{}' uses the symbol {}, which nothing binds before", entry.name, *missing);
  }

  bool is_bound(Dim symbol) const { return bound_.contains(symbol) || (outer_ != nullptr && outer_->is_bound(symbol)); }

  Status check_regions(const Node& node) {
    if (node.regions.size() != num_regions(node.op)) {
      return wrong("{} regions given, {} expected", node.regions.size(), num_regions(node.op));
    }
    for (std::size_t i = 0; i < node.regions.size(); ++i) {
      if (node.regions[i] == nullptr) return wrong("region {} is missing", i);
      Status status = Verifier(*node.regions[i], this).run();
      if (!status.ok()) return std::move(status).error().in(fmt::format("region {}", i));
    }
    return {};
  }

  // A fused area is one kernel: it has results, takes everything as inputs and does nothing that needs the host.
  Status check_area(const Node& node) const {
    constexpr std::string_view kKinds[] = {"map", "rows", "columns", "matmul"};
    const std::string& kind = node.attrs.text("kind");
    if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) {
      return wrong("'{}' is no kind of area: map, rows, columns or matmul", kind);
    }
    const Graph& area = *node.regions[0];
    if (area.outputs().empty()) return wrong("a fused area without results");
    if (!area.captures().empty()) return wrong("a fused area captures '{}'", area.value(area.captures()[0].inner).name);
    if (!area.scalar_inputs().empty()) return wrong("a fused area has a host scalar of its own");
    for (const NodeId id : area.order()) {
      const OpClass op_class = info(area.node(id).op).op_class;
      const bool on_host = op_class == OpClass::kControl || op_class == OpClass::kEffect || op_class == OpClass::kLate;
      if (on_host) return wrong("{} cannot stand in a fused area", info(area.node(id).op).text);
    }
    return {};
  }

  Status check_types(const Node& node) {
    if (node.op == Op::kHostCall) return {};
    Types types;
    for (const ValueId input : node.inputs) types.push_back(graph_.type(input));
    TW_ASSIGN(const Types inferred, infer({node.op, std::move(types), node.attrs, node.regions, graph_.facts}));
    if (inferred.size() != node.outputs.size()) {
      return wrong("{} results recorded, {} inferred", node.outputs.size(), inferred.size());
    }
    for (std::size_t i = 0; i < inferred.size(); ++i) {
      if (node.outputs[i] >= graph_.num_values()) return wrong("value {} does not exist", node.outputs[i]);
      const Value& value = graph_.value(node.outputs[i]);
      if (!may_be(value.type, inferred[i], graph_.facts)) {
        return wrong("'{}' is recorded as {} but is {}", value.name, value.type, inferred[i]);
      }
    }
    return {};
  }

  // A buffer belongs to the caller: an input of the outermost graph, seen through captures in a region.
  Status check_buffer(ValueId buffer) const {
    for (const ValueId input : graph_.inputs()) {
      if (input == buffer && outer_ == nullptr) return {};
    }
    for (const Graph::Capture& capture : graph_.captures()) {
      if (capture.inner == buffer) return outer_->check_buffer(capture.outer);
    }
    return wrong("'{}' is no input of the graph, so it cannot be assigned", graph_.value(buffer).name);
  }

  Status bind_late(const Node& node) {
    Dims symbols;
    for (const Attrs::Entry& entry : node.attrs.entries()) {
      if (!is_late_symbol(node.op, entry.name)) continue;
      if (const auto* dim = std::get_if<Dim>(&entry.value)) symbols.push_back(*dim);
      if (const auto* dims = std::get_if<Dims>(&entry.value)) symbols.insert(symbols.end(), dims->begin(), dims->end());
    }
    for (const Dim symbol : symbols) {
      if (is_bound(symbol)) return wrong("the symbol {} is bound already", symbol);
      bound_.insert(symbol);
    }
    // Symbols of carried sizes and of what the host gives may be bound before: then they are checked.
    if (node.op == Op::kWhile || node.op == Op::kScan || node.op == Op::kHostCall) {
      for (const ValueId output : node.outputs) bind_sizes(graph_.type(output));
    }
    return {};
  }

  Status check_outputs() {
    if (graph_.outputs().size() != graph_.output_names().size()) {
      return wrong("{} outputs have {} names", graph_.outputs().size(), graph_.output_names().size());
    }
    for (const ValueId output : graph_.outputs()) {
      Status status = check_use(output);
      if (!status.ok()) return std::move(status).error().in("return");
    }
    return {};
  }

  const Graph& graph_;
  const Verifier* outer_;
  std::unordered_set<ValueId> defined_;
  std::unordered_set<Dim> bound_;
  std::unordered_set<std::string_view> names_;
};

}  // namespace

Status verify(const Graph& graph) {
  return Verifier(graph, nullptr).run();
}

}  // namespace tilewright
