// Prints a graph in the text form that parse.cc reads. Attributes at their defaults are left out; a result whose
// recorded type is not the one that infer gives is printed with its type. Facts of a region are printed where they
// differ from those of the graph around it.
#include <fmt/format.h>

#include <algorithm>

#include "tilewright/graph/infer/infer.h"
#include "tilewright/graph/text/values.h"
#include "tilewright/graph/text/words.h"

namespace tilewright {
namespace {

using text::word_or_quoted;

class Printer {
 public:
  explicit Printer(std::vector<Tensor>* tensors) : tensors_(tensors) {}

  std::string print(const Graph& graph) {
    print_body(graph, nullptr);
    return std::move(out_);
  }

 private:
  void line(std::string_view content) {
    out_.append(indent_, ' ');
    out_ += content;
    out_ += '\n';
  }

  void print_body(const Graph& graph, const Graph* outer) {
    if (!graph.name.empty()) line("graph " + word_or_quoted(graph.name));
    print_facts(graph.facts, outer == nullptr ? Facts{} : outer->facts);
    for (const Dim symbol : graph.scalar_inputs()) line("scalar " + to_string(symbol));
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& value = graph.value(graph.inputs()[i]);
      line(fmt::format("{}{}: {}", graph.role(i) == InputRole::kWeight ? "weight " : "", word_or_quoted(value.name),
                       to_string(value.type)));
    }
    for (const Graph::Capture& capture : graph.captures()) {
      line(fmt::format("capture {} = {}", name(graph, capture.inner),
                       outer == nullptr ? fmt::format("{}", capture.outer) : name(*outer, capture.outer)));
    }
    for (const NodeId id : graph.order()) {
      if (!graph.node(id).dead) print_node(graph, graph.node(id));
    }
    print_return(graph);
  }

  void print_facts(const Facts& facts, const Facts& known) {
    std::vector<std::string> lines;
    const auto bound = [](std::int64_t value) {
      return value == INT64_MAX ? "inf" : value == INT64_MIN ? "-inf" : fmt::format("{}", value);
    };
    const auto dim_text = [](Dim dim) { return text::print_value(dim); };
    for (const auto& [dim, range] : facts.ranges()) {
      const auto before = known.ranges().find(dim);
      if (before != known.ranges().end() && before->second.low == range.low && before->second.high == range.high)
        continue;
      lines.push_back(fmt::format("fact {} in [{}, {}]", dim_text(dim), bound(range.low), bound(range.high)));
    }
    for (const auto& [dim, divisor] : facts.divisors()) {
      const auto before = known.divisors().find(dim);
      if (before != known.divisors().end() && before->second == divisor) continue;
      lines.push_back(fmt::format("fact {} % {} == 0", dim_text(dim), divisor));
    }
    std::sort(lines.begin(), lines.end());
    for (const std::string& one : lines) line(one);
    print_equalities(facts, known);
  }

  // A rule is applied to the rules that come after it. So one whose right side mentions the left side of another was
  // set before that one, and is printed before it.
  void print_equalities(const Facts& facts, const Facts& known) {
    using Rule = std::pair<Dim, Dim>;
    std::vector<std::pair<std::string, Rule>> rules;
    for (const auto& [dim, equal] : facts.equalities()) {
      const auto before = known.equalities().find(dim);
      if (before != known.equalities().end() && before->second == equal) continue;
      rules.push_back({fmt::format("fact {} == {}", text::print_value(dim), text::print_value(equal)), {dim, equal}});
    }
    std::sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    while (!rules.empty()) {
      const auto is_free = [&](const auto& rule) {
        return std::none_of(rules.begin(), rules.end(), [&](const auto& other) {
          return other.second.first != rule.second.first && mentions(other.second.second, rule.second.first);
        });
      };
      auto next = std::find_if(rules.begin(), rules.end(), is_free);
      if (next == rules.end()) next = rules.begin();
      line(next->first);
      rules.erase(next);
    }
  }

  static bool mentions(Dim dim, Dim part) {
    return dim == part || std::any_of(dim.operands().begin(), dim.operands().end(),
                                      [&](Dim operand) { return mentions(operand, part); });
  }

  void print_node(const Graph& graph, const Node& node) {
    const OpInfo& op = info(node.op);
    std::string content = results(graph, node);
    content += fmt::format("{}(", op.text);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      content += (i == 0 ? "" : ", ") + name(graph, node.inputs[i]);
    }
    content += ")";
    for (const Attrs::Entry& entry : node.attrs.entries()) {
      const std::string value = print_value(entry.value);
      if (!is_default(op, entry.name, value)) content += fmt::format(" {}={}", entry.name, value);
    }
    for (std::size_t i = 0; i < node.regions.size(); ++i) {
      line(content + (i == 0 ? " {" : "{"));
      indent_ += 2;
      print_body(*node.regions[i], &graph);
      indent_ -= 2;
      content = i + 1 < node.regions.size() ? "} " : "}";
    }
    line(content);
  }

  std::string print_value(const AttrValue& value) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    if (tensors_ == nullptr || tensor == nullptr || !text::is_long(*tensor)) return text::print_value(value);
    tensors_->push_back(*tensor);
    return text::print_reference(*tensor, tensors_->size() - 1);
  }

  std::string results(const Graph& graph, const Node& node) {
    if (node.outputs.empty()) return "";
    Types types;
    for (const ValueId input : node.inputs) types.push_back(graph.type(input));
    const Result<Types> inferred = infer({node.op, std::move(types), node.attrs, node.regions, graph.facts});
    std::string out;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = graph.value(node.outputs[i]);
      out += (i == 0 ? "" : ", ") + word_or_quoted(value.name);
      const bool agrees = inferred.ok() && i < inferred->size() && (*inferred)[i] == value.type;
      if (!agrees) out += ": " + to_string(value.type);
    }
    return out + " = ";
  }

  static bool is_default(const OpInfo& op, std::string_view name, std::string_view printed) {
    for (const AttrSpec& spec : op.attrs) {
      if (spec.name == name) return spec.default_value && text::print_value(*spec.default_value) == printed;
    }
    return false;
  }

  void print_return(const Graph& graph) {
    std::string content = "return";
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      const std::string& value = graph.value(graph.outputs()[i]).name;
      content += (i == 0 ? " " : ", ") + word_or_quoted(value);
      if (graph.output_names()[i] != value) content += " as " + word_or_quoted(graph.output_names()[i]);
    }
    line(content);
  }

  static std::string name(const Graph& graph, ValueId value) {
    return value < graph.num_values() ? word_or_quoted(graph.value(value).name) : fmt::format("<value {}>", value);
  }

  std::vector<Tensor>* tensors_;  // null: everything is written in the text
  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string print(const Graph& graph) {
  return Printer(nullptr).print(graph);
}

std::string print(const Graph& graph, std::vector<Tensor>& tensors) {
  return Printer(&tensors).print(graph);
}

}  // namespace tilewright
