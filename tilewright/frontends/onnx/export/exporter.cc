// The walk over a graph, and the table of exporters.
#include <algorithm>
#include <array>

#include "tilewright/frontends/onnx/export/node.h"
#include "tilewright/frontends/onnx/export/opsets.h"
#include "tilewright/graph/bound_symbols.h"

namespace tilewright::onnx {
namespace {

struct Row {
  ExportRule rule;
  OpExporter function = nullptr;
  std::string_view operator_name;  // of EXPORT_SAME
};

constexpr auto make_rows() {
  constexpr std::size_t kCount = []() {
    std::size_t count = 0;
#define OP(...) ++count;
#include "tilewright/graph/ops.def"
#undef OP
    return count;
  }();
  std::array<Row, kCount> rows{};
#define EXPORT_SAME(Name, onnx, since) \
  rows[static_cast<std::size_t>(Op::k##Name)] = {{"", #onnx, since, ""}, nullptr, #onnx};
#define EXPORT(Name, onnx, since, function) \
  rows[static_cast<std::size_t>(Op::k##Name)] = {{"", onnx, since, ""}, function, ""};
#define EXPORT_NOT(Name, reason) rows[static_cast<std::size_t>(Op::k##Name)] = {{"", "", 0, reason}, nullptr, ""};
#include "tilewright/frontends/onnx/export/ops.def"
#undef EXPORT
#undef EXPORT_SAME
#undef EXPORT_NOT
  return rows;
}

constexpr auto kRows = make_rows();
static_assert(std::all_of(kRows.begin(), kRows.end(),
                          [](const Row& row) { return !row.rule.onnx.empty() || !row.rule.reason.empty(); }),
              "every op of graph/ops.def has a row in export/ops.def");

Outs export_node(ExportNode& n) {
  const Row& row = kRows[static_cast<std::size_t>(n.op())];
  if (!row.rule.reason.empty()) return n.fail(std::string(row.rule.reason));
  if (row.function != nullptr) return row.function(n);
  Outs inputs;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) inputs.push_back(n.input(i));
  return n.make_all(row.operator_name, inputs, {}, {n.result().dtype});
}

// A symbol that the node binds is a size of one of its results.
void bind_late_symbols(Frame& frame, const Node& node) {
  for (const Dim symbol : bound_symbols(frame.graph(), node)) {
    for (const ValueId output : node.outputs) {
      const Shape& shape = frame.graph().type(output).shape;
      const auto at = std::find(shape.begin(), shape.end(), symbol);
      if (at == shape.end()) continue;
      frame.bind_size(symbol, frame.value(output), static_cast<std::size_t>(at - shape.begin()));
      break;
    }
  }
}

// Results that were made for this node get the names of its values.
Out named(Frame& frame, Out out, ValueId value, std::size_t first) {
  ModelWriter& model = frame.model();
  if (model.failed() || !frame.target().makes(out.name)) return out;
  const auto& nodes = frame.target().proto().node;
  const bool is_new =
      std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(first), nodes.end(), [&](const auto& node) {
        return std::find(node.output.begin(), node.output.end(), out.name) != node.output.end();
      });
  if (!is_new) return out;
  const auto wanted = frame.wanted(value);
  const std::string_view name = wanted ? *wanted : model.fresh_name(frame.graph().value(value).name);
  return frame.target().rename(out, name, first);
}

}  // namespace

Outs write_graph(Frame& frame) {
  const Graph& graph = frame.graph();
  ModelWriter& model = frame.model();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.dead) continue;
    const std::string_view op = info(node.op).text;
    const std::string& name = node.outputs.empty() ? std::string(op) : graph.value(node.outputs[0]).name;
    const std::size_t first = frame.target().num_nodes();
    ExportNode n(frame, node, name);
    const Outs outs = export_node(n);
    if (model.failed()) {
      model.locate(fmt::format("'{}' = {} (opset {})", name, op, model.opset()));
      break;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      frame.set(node.outputs[i], named(frame, outs[i], node.outputs[i], first));
    }
    bind_late_symbols(frame, node);
  }
  Outs results;
  for (const ValueId output : graph.outputs()) results.push_back(frame.value(output));
  return results;
}

std::vector<ExportRule> export_rules() {
  std::vector<ExportRule> rules;
  for (const Op op : all_ops()) {
    rules.push_back(kRows[static_cast<std::size_t>(op)].rule);
    rules.back().op = info(op).text;
  }
  return rules;
}

std::string export_markdown() {
  std::string out =
      "# What each operator becomes in ONNX\n\nGenerated from `tilewright/frontends/onnx/export/ops.def` by `./dev "
      "docs`. \"from\" is the oldest opset; operators named in the text may ask for a newer one, and an export says so."
      "\n\n| op | ONNX | from |\n|---|---|---|\n";
  for (const ExportRule& rule : export_rules()) {
    if (rule.reason.empty()) {
      out += fmt::format("| `{}` | {} | {} |\n", rule.op, rule.onnx, rule.since);
    } else {
      out += fmt::format("| `{}` | not exported: {} | |\n", rule.op, rule.reason);
    }
  }
  return out;
}

int newest_export_opset() {
  return static_cast<int>(ir_versions().size()) - 1;
}

}  // namespace tilewright::onnx
