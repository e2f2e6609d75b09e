// Parses the text form that print.cc writes into a verified graph. One statement each: an input `x: f32[B, 64]`, a
// weight `weight w: f32[8]`, a host scalar `scalar s0` or `scalar %f0`, a fact, a capture, a node `a, b = op(x) axis=1
// {region}` and, last, `return`. Attributes stand on the line of their node, with '=' directly behind the name.
// Nesting, counts and sizes are bounded by the text itself or by a limit, so that no text can crash the parser or
// exhaust memory.
#include <algorithm>
#include <unordered_map>

#include "tilewright/graph/builder.h"
#include "tilewright/graph/infer/infer.h"
#include "tilewright/graph/text/values.h"
#include "tilewright/graph/text/words.h"

namespace tilewright {
namespace {

using text::Scanner;

constexpr int kMaxDepth = 32;                 // regions in regions
constexpr std::size_t kMaxExpression = 2000;  // operations of one size, written out

struct Scope {
  Graph& graph;
  Scope* outer;
  int depth;
  std::unordered_map<std::string, ValueId> values;
};

struct ResultName {
  std::string name;
  std::optional<TensorType> type;  // written in the text
};

class Parser {
 public:
  Parser(std::string_view text, std::span<const Tensor> tensors) : in_(text, tensors) {}

  Result<std::unique_ptr<Graph>> parse() {
    auto graph = std::make_unique<Graph>();
    Scope scope{*graph, nullptr, 0, {}};
    TW_TRY(parse_body(scope));
    if (!in_.at_end()) return in_.fail("'return' ends a graph, found {}", in_.found());
    return graph;
  }

 private:
  Status parse_body(Scope& scope) {
    while (true) {
      if (in_.at_end() || in_.peek() == '}') return in_.fail("a graph ends with 'return', found {}", in_.found());
      const bool plain = in_.peek() != '"';
      TW_ASSIGN(std::string first, in_.name());
      if (plain && first == "return") return parse_return(scope);
      if (plain && text::is_keyword(first) && starts_operand(in_.peek())) {
        TW_TRY(parse_keyword(scope, first));
      } else if (in_.peek() == '(') {
        TW_TRY(parse_node(scope, {}, first));
      } else {
        TW_TRY(parse_definition(scope, std::move(first)));
      }
    }
  }

  static bool starts_operand(char c) {
    return text::starts_word(c) || (c >= '0' && c <= '9') || c == '"' || c == '%' || c == '(';
  }

  Status parse_keyword(Scope& scope, std::string_view keyword) {
    if (keyword == "weight") return parse_weight(scope);
    if (keyword == "scalar") return parse_scalar(scope);
    if (keyword == "fact") return parse_fact(scope.graph.facts);
    if (keyword == "capture") return parse_capture(scope);
    TW_ASSIGN(scope.graph.name, in_.name());
    return {};
  }

  Status define(Scope& scope, const std::string& name, ValueId value) {
    if (name.empty()) return in_.fail("a name is empty");
    if (!scope.values.emplace(name, value).second) return in_.fail("'{}' is defined twice", name);
    return {};
  }

  Result<ValueId> use(const Scope& scope, const std::string& name) {
    const auto found = scope.values.find(name);
    if (found == scope.values.end()) return in_.fail("'{}' is not defined", name);
    return found->second;
  }

  Status parse_weight(Scope& scope) {
    TW_ASSIGN(const std::string name, in_.name());
    TW_TRY(in_.expect(':'));
    TW_ASSIGN(TensorType type, text::parse_type(in_));
    return add_input(scope, name, std::move(type), InputRole::kWeight);
  }

  Status add_input(Scope& scope, const std::string& name, TensorType type, InputRole role) {
    TW_TRY(define(scope, name, static_cast<ValueId>(scope.graph.num_values())));
    scope.graph.rename(scope.graph.add_input(std::move(type), name, role), name);
    return {};
  }

  Status parse_scalar(Scope& scope) {
    TW_ASSIGN(const Dim symbol, text::parse_expression(in_, false));
    if (!symbol.is_symbol()) return in_.fail("a host scalar is a symbol: {}", to_string(symbol));
    scope.graph.add_scalar_input(symbol);
    return {};
  }

  // "s0 in [2, 100]", "s0 % 8 == 0", "s0 == s1"
  Status parse_fact(Facts& facts) {
    TW_ASSIGN(const Dim dim, text::parse_expression(in_, false));
    if (dim.is_float()) return in_.fail("a fact is about an integer: {}", to_string(dim));
    if (in_.accept(std::string_view("=="))) {
      TW_ASSIGN(const Dim equal, text::parse_expression(in_, false));
      if (equal.is_float()) return in_.fail("a fact is about integers: {}", to_string(equal));
      facts.set_equal(dim, equal);
      return {};
    }
    if (!dim.is_symbol()) return in_.fail("a range or divisor is known of a symbol: {}", to_string(dim));
    if (in_.accept('%')) {
      TW_ASSIGN(const std::int64_t divisor, text::parse_integer(in_));
      if (divisor < 1) return in_.fail("a divisor is at least 1: {}", divisor);
      if (!in_.accept(std::string_view("=="))) return in_.fail("'==' expected, found {}", in_.found());
      TW_ASSIGN(const std::int64_t zero, text::parse_integer(in_));
      if (zero != 0) return in_.fail("a divisibility fact ends with '== 0': {}", zero);
      facts.set_divisor(dim, divisor);
      return {};
    }
    if (in_.word() != "in") return in_.fail("'in', '%' or '==' expected in a fact, found {}", in_.found());
    return parse_range(facts, dim);
  }

  Status parse_range(Facts& facts, Dim dim) {
    Range range;
    TW_TRY(in_.expect('['));
    if (in_.accept(std::string_view("-inf"))) {
      range.low = INT64_MIN;
    } else {
      TW_ASSIGN(range.low, text::parse_integer(in_));
    }
    TW_TRY(in_.expect(','));
    if (!in_.accept(std::string_view("inf"))) {
      TW_ASSIGN(range.high, text::parse_integer(in_));
    }
    TW_TRY(in_.expect(']'));
    if (range.low > range.high) return in_.fail("a range is empty: [{}, {}]", range.low, range.high);
    facts.set_range(dim, range);
    return {};
  }

  Status parse_capture(Scope& scope) {
    TW_ASSIGN(const std::string inner, in_.name());
    TW_TRY(in_.expect('='));
    TW_ASSIGN(const std::string outer, in_.name());
    if (scope.outer == nullptr) return in_.fail("'capture {}' stands outside of a region", inner);
    TW_ASSIGN(const ValueId value, use(*scope.outer, outer));
    TW_TRY(define(scope, inner, static_cast<ValueId>(scope.graph.num_values())));
    scope.graph.rename(scope.graph.add_capture(value, scope.outer->graph.type(value), inner), inner);
    return {};
  }

  // From behind the first name: an input, or a node with results.
  Status parse_definition(Scope& scope, std::string first) {
    std::vector<ResultName> names;
    names.push_back({std::move(first), std::nullopt});
    while (true) {
      if (in_.accept(':')) {
        TW_ASSIGN(names.back().type, text::parse_type(in_));
        if (names.size() == 1 && in_.peek() != '=' && in_.peek() != ',') {
          return add_input(scope, names[0].name, std::move(*names[0].type), InputRole::kData);
        }
      }
      if (!in_.accept(',')) break;
      TW_ASSIGN(std::string next, in_.name());
      names.push_back({std::move(next), std::nullopt});
    }
    TW_TRY(in_.expect('='));
    TW_ASSIGN(const std::string op, in_.name());
    return parse_node(scope, std::move(names), op);
  }

  Status parse_node(Scope& scope, std::vector<ResultName> names, const std::string& op_text) {
    const std::optional<Op> op = parse_op(op_text);
    if (!op) return in_.fail("unknown operator '{}'", op_text);
    TW_ASSIGN(std::vector<ValueId> inputs, parse_operands(scope));
    TW_ASSIGN(Attrs attrs, parse_attributes(*op));
    TW_ASSIGN(auto regions, parse_regions(scope, *op));
    TW_ASSIGN(const std::vector<ValueId> results,
              add_node(scope, *op, std::move(inputs), std::move(attrs), std::move(regions), names));
    if (results.size() != names.size()) {
      return in_.fail("'{}' gives {} results, {} named", op_text, results.size(), names.size());
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      TW_TRY(define(scope, names[i].name, results[i]));
      scope.graph.rename(results[i], names[i].name);
      TW_TRY(check_lengths(scope.graph.value(results[i])));
      if (names[i].type) TW_TRY(declare(scope.graph, results[i], std::move(*names[i].type)));
    }
    return {};
  }

  Result<std::vector<ValueId>> parse_operands(const Scope& scope) {
    std::vector<ValueId> inputs;
    TW_TRY(in_.expect('('));
    if (in_.accept(')')) return inputs;
    while (true) {
      TW_ASSIGN(const std::string name, in_.name());
      TW_ASSIGN(const ValueId value, use(scope, name));
      inputs.push_back(value);
      if (in_.accept(')')) return inputs;
      TW_TRY(in_.expect(','));
    }
  }

  Result<Attrs> parse_attributes(Op op) {
    Attrs attrs;
    while (in_.starts_attribute()) {
      const std::string name(in_.word());
      TW_TRY(in_.expect('='));
      const AttrSpec* spec = nullptr;
      for (const AttrSpec& one : info(op).attrs) {
        if (one.name == name) spec = &one;
      }
      if (spec == nullptr) return in_.fail("'{}' has no attribute '{}'", info(op).text, name);
      if (attrs.find(name) != nullptr) return in_.fail("attribute '{}' is given twice", name);
      Result<AttrValue> value = text::parse_value(in_, spec->kind);
      if (!value.ok()) return std::move(value).error();
      attrs.set(name, std::move(*value));
    }
    return attrs;
  }

  Result<std::vector<std::unique_ptr<Graph>>> parse_regions(Scope& scope, Op op) {
    std::vector<std::unique_ptr<Graph>> regions;
    while (in_.peek() == '{') {
      if (regions.size() == num_regions(op)) return in_.fail("'{}' takes {} regions", info(op).text, regions.size());
      if (scope.depth == kMaxDepth) return in_.fail("regions nest deeper than {}", kMaxDepth);
      TW_TRY(in_.expect('{'));
      regions.push_back(std::make_unique<Graph>());
      regions.back()->facts = scope.graph.facts;
      Scope inner{*regions.back(), &scope, scope.depth + 1, {}};
      TW_TRY(parse_body(inner));
      TW_TRY(in_.expect('}'));
    }
    return regions;
  }

  // Results of a host call are known from the text alone; all others are inferred.
  Result<std::vector<ValueId>> add_node(Scope& scope, Op op, std::vector<ValueId> inputs, Attrs attrs,
                                        std::vector<std::unique_ptr<Graph>> regions,
                                        const std::vector<ResultName>& names) {
    const std::string_view name = names.empty() ? std::string_view() : std::string_view(names[0].name);
    if (op != Op::kHostCall) {
      return Builder(scope.graph).op(op, std::move(inputs), std::move(attrs), std::move(regions), name);
    }
    Types types;
    for (const ResultName& result : names) {
      if (!result.type)
        return in_.fail("the type of '{}' must be written: it is the result of a host call", result.name);
      types.push_back(*result.type);
    }
    Result<Attrs> complete = complete_attrs(op, attrs);
    if (!complete.ok()) return std::move(complete).error().in(info(op).text);
    const NodeId node = scope.graph.add_node(op, std::move(inputs), std::move(*complete), std::move(types), {}, name);
    return scope.graph.node(node).outputs;
  }

  // Sizes share subexpressions, so that few lines could make one that takes gigabytes to write out.
  Status check_lengths(const Value& value) {
    for (const Dim dim : value.type.shape) {
      if (length(dim) > kMaxExpression) return in_.fail("a size of '{}' is too long an expression", value.name);
    }
    return {};
  }

  std::size_t length(Dim dim) {
    if (const auto known = lengths_.find(dim); known != lengths_.end()) return known->second;
    std::size_t total = 1;
    for (const Dim operand : dim.operands()) total = std::min(total + length(operand), kMaxExpression + 1);
    lengths_.emplace(dim, total);
    return total;
  }

  // The text writes the type of a result: it replaces the inferred one if both can be true.
  Status declare(Graph& graph, ValueId id, TensorType type) {
    Value& value = graph.value(id);
    if (!may_be(value.type, type, graph.facts)) {
      return in_.fail("'{}' is written as {} but is {}", value.name, to_string(type), to_string(value.type));
    }
    value.type = std::move(type);
    return {};
  }

  Status parse_return(Scope& scope) {
    std::vector<ValueId> outputs;
    std::vector<std::string> names;
    while (in_.peek() != '}' && !in_.at_end()) {
      TW_ASSIGN(std::string name, in_.name());
      TW_ASSIGN(const ValueId value, use(scope, name));
      outputs.push_back(value);
      if (in_.accept(std::string_view("as "))) {
        TW_ASSIGN(name, in_.name());
      }
      names.push_back(std::move(name));
      if (!in_.accept(',')) break;
    }
    scope.graph.set_outputs(std::move(outputs), std::move(names));
    return {};
  }

  Scanner in_;
  std::unordered_map<Dim, std::size_t> lengths_;
};

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text) {
  return parse_graph(text, {});
}

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, std::span<const Tensor> tensors) {
  TW_ASSIGN(std::unique_ptr<Graph> graph, Parser(text, tensors).parse());
  TW_TRY(verify(*graph));
  return graph;
}

}  // namespace tilewright
