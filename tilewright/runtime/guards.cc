#include "tilewright/runtime/guards.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "tilewright/graph/infer/infer.h"

namespace tilewright::runtime {
namespace {

using Kind = Guard::Kind;

// Symbols whose value no size gives: scalars of the caller and elements of tensors. They may be negative.
std::vector<Dim> symbols_of_values(const Graph& graph) {
  std::vector<Dim> out;
  for (Dim symbol : graph.scalar_inputs()) {
    if (!symbol.is_float()) out.push_back(symbol);
  }
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.dead || node.op != Op::kItem) continue;
    if (const Dim symbol = node.attrs.dim("symbol"); !symbol.is_float()) out.push_back(symbol);
  }
  return out;
}

// Where a call gives a symbol: "axis 0 of input 'x'".
using Places = std::unordered_map<Dim, std::string>;

Places places_of(const Graph& graph) {
  Places places;
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    for (std::size_t axis = 0; axis < value.type.shape.size(); ++axis) {
      const Dim dim = value.type.shape[axis];
      if (dim.is_symbol()) places.try_emplace(dim, fmt::format("axis {} of input '{}'", axis, value.name));
    }
  }
  return places;
}

class Collector {
 public:
  Collector(const Graph& graph, const Places& places, DimProgram& dims, std::vector<Guard>& guards)
      : graph_(graph), places_(places), dims_(dims), guards_(guards) {
    for (Dim symbol : symbols_of_values(graph)) {
      if (graph.facts.ranges().contains(symbol)) continue;
      if (careful_ == nullptr) careful_ = std::make_unique<Facts>(graph.facts);
      careful_->set_range(symbol, {INT64_MIN, INT64_MAX});
    }
  }

  void run() {
    for (NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.dead) continue;
      if (node.op == Op::kFused) {
        Collector(*node.regions[0], places_, dims_, guards_).run();
        continue;
      }
      name_ = node.outputs.empty() ? std::string(info(node.op).text) : graph_.value(node.outputs[0]).name;
      visit(node);
      results(node);
    }
  }

 private:
  const Facts& facts() const { return careful_ != nullptr ? *careful_ : graph_.facts; }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  static Dim count(const Shape& shape) {
    Dim total(1);
    for (Dim dim : shape) total = total * dim;
    return total;
  }

  void add(Kind kind, Dim value, Dim bound) {
    if (kind == Kind::kAtMost) {
      if (facts().less_equal(value, bound) == Answer::kYes) return;
    } else if (kind == Kind::kAtLeast) {
      if (facts().less_equal(bound, value) == Answer::kYes) return;
    } else if (facts().same(value, bound) == Answer::kYes ||
               (kind == Kind::kEqualOrOne && facts().is_one(value) == Answer::kYes)) {
      return;
    }
    const Guard guard{kind, dims_.add(value), dims_.add(bound), name_, origins(value, bound)};
    for (const Guard& other : guards_) {
      if (other.kind == kind && other.value == guard.value && other.bound == guard.bound) return;
    }
    guards_.push_back(guard);
  }

  // " (B is axis 0 of input 'x')"
  std::string origins(Dim value, Dim bound) const {
    std::vector<Dim> symbols;
    collect_symbols(value, symbols);
    collect_symbols(bound, symbols);
    std::string out;
    for (const Dim symbol : symbols) {
      const auto place = places_.find(symbol);
      if (place == places_.end()) continue;
      out += fmt::format("{}{} is {}", out.empty() ? " (" : ", ", symbol, place->second);
    }
    return out.empty() ? out : out + ")";
  }

  // Sizes aligned at the last axis, the last `skipped` of both left out.
  void broadcast(const Shape& from, const Shape& to, std::size_t skipped = 0) {
    for (std::size_t i = skipped; i < from.size(); ++i)
      add(Kind::kEqualOrOne, from[from.size() - 1 - i], to[to.size() - 1 - i]);
  }

  void equal(const Shape& a, const Shape& b) {
    for (std::size_t axis = 0; axis < a.size() && axis < b.size(); ++axis) add(Kind::kEqual, a[axis], b[axis]);
  }

  void slice(const Node& node) {
    const Shape& from = shape(node.inputs[0]);
    const Dims &start = node.attrs.dims("start"), &stop = node.attrs.dims("stop");
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      add(Kind::kAtMost, Dim(0), start[axis]);
      add(Kind::kAtMost, start[axis], stop[axis]);
      add(Kind::kAtMost, stop[axis], from[axis]);
    }
  }

  void matmul(const Node& node) {
    const Shape &a = shape(node.inputs[0]), &b = shape(node.inputs[1]), &out = shape(node.outputs[0]);
    add(Kind::kEqual, b[b.size() - 2], a.back());
    broadcast(a, out, 2);
    broadcast(b, out, 2);
    for (std::size_t i = 2; i < node.inputs.size(); ++i) {  // zero points: of rows, of columns
      Shape large = out;
      large[out.size() - (i == 2 ? 1 : 2)] = Dim(1);
      broadcast(shape(node.inputs[i]), large);
    }
  }

  // Scales and zero points have one element, one per position of the axis, or one per block of it.
  void parameters(const Node& node) {
    const Shape& x = shape(node.inputs[0]);
    const auto axis = static_cast<std::size_t>(node.attrs.integer("axis"));
    const Dim block(node.attrs.integer("block"));
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Shape& parameter = shape(node.inputs[i]);
      if (block.constant() != 0) {
        Shape blocks = x;
        blocks[axis] = floordiv(x[axis] + block - Dim(1), block);
        equal(parameter, blocks);
      } else if (!parameter.empty() && parameter[0].constant() != 1) {
        add(Kind::kEqual, parameter[0], x[axis]);
      }
    }
  }

  void block_matmul(const Node& node) {
    const Shape &a = shape(node.inputs[0]), &q = shape(node.inputs[1]);
    const Dim block(node.attrs.integer("block"));
    add(Kind::kAtMost, a.back(), q[1] * block);
    add(Kind::kEqual, q[2], floordiv(block, Dim(2)));
    equal(shape(node.inputs[2]), {q[0], q[1]});
    if (node.inputs.size() < 4) return;
    const bool packed = graph_.type(node.inputs[3]).dtype == DType::kU8;
    equal(shape(node.inputs[3]), {q[0], packed ? floordiv(q[1] + Dim(1), Dim(2)) : q[1]});
  }

  void attention(const Node& node) {
    const Shape &q = shape(node.inputs[0]), &k = shape(node.inputs[1]), &v = shape(node.inputs[2]);
    add(Kind::kEqual, k[0], q[0]);
    add(Kind::kEqual, v[0], q[0]);
    add(Kind::kEqual, v[1], k[1]);
    add(Kind::kEqual, v[2], k[2]);
    add(Kind::kEqual, k[3], q[3]);
    if (node.inputs.size() > 3) broadcast(shape(node.inputs[3]), {q[0], q[1], q[2], k[2]});
  }

  // A graph may record a type that inference could not refute. Late sizes are known from the results alone.
  void results(const Node& node) {
    for (ValueId output : node.outputs) {
      for (Dim dim : shape(output)) {
        if (!dim.constant()) add(Kind::kAtLeast, dim, Dim(0));
      }
    }
    const OpClass op_class = info(node.op).op_class;
    if (op_class == OpClass::kLate || op_class == OpClass::kControl || op_class == OpClass::kEffect) return;
    std::vector<TensorType> types;
    for (ValueId input : node.inputs) types.push_back(graph_.type(input));
    const auto inferred = infer({node.op, std::move(types), node.attrs, node.regions, graph_.facts});
    if (!inferred.ok()) return;
    for (std::size_t i = 0; i < inferred->size(); ++i) equal(shape(node.outputs[i]), (*inferred)[i].shape);
  }

  void visit(const Node& node) {
    switch (node.op) {
      case Op::kMatMul:
      case Op::kIntegerMatMul:
        return matmul(node);
      case Op::kExpand:
        return broadcast(shape(node.inputs[0]), shape(node.outputs[0]));
      case Op::kReshape:
        return add(Kind::kEqual, count(shape(node.inputs[0])), count(shape(node.outputs[0])));
      case Op::kSlice:
        return slice(node);
      case Op::kLayerNorm:
      case Op::kRmsNorm: {
        const Shape& x = shape(node.inputs[0]);
        const Shape row(x.end() - static_cast<std::ptrdiff_t>(node.attrs.integer("num_axes")), x.end());
        for (std::size_t i = 1; i < node.inputs.size(); ++i) equal(shape(node.inputs[i]), row);
        return;
      }
      case Op::kAttention:
        return attention(node);
      case Op::kQuantizeLinear:
      case Op::kDequantizeLinear:
        return parameters(node);
      case Op::kBlockMatMul:
        return block_matmul(node);
      case Op::kConcat:
        for (std::size_t i = 1; i < node.inputs.size(); ++i) {
          for (std::size_t axis = 0; axis < shape(node.inputs[0]).size(); ++axis) {
            if (static_cast<std::int64_t>(axis) == node.attrs.integer("axis")) continue;
            add(Kind::kEqual, shape(node.inputs[i])[axis], shape(node.inputs[0])[axis]);
          }
        }
        return;
      case Op::kAssign:
        return equal(shape(node.inputs[1]), shape(node.inputs[0]));
      case Op::kTopK:
        return add(Kind::kAtMost, node.attrs.dim("k"),
                   shape(node.inputs[0])[static_cast<std::size_t>(node.attrs.integer("axis"))]);
      default:
        break;
    }
    if (info(node.op).op_class != OpClass::kElementwise) return;
    for (ValueId input : node.inputs) broadcast(shape(input), shape(node.outputs[0]));
  }

  const Graph& graph_;
  const Places& places_;
  DimProgram& dims_;
  std::vector<Guard>& guards_;
  std::string name_;
  std::unique_ptr<Facts> careful_;  // the graph's, without a sign for what values give
};

std::string_view relation(Kind kind) {
  switch (kind) {
    case Kind::kEqual:
      return "";
    case Kind::kEqualOrOne:
      return "1 or ";
    case Kind::kAtMost:
      return "at most ";
    case Kind::kAtLeast:
      return "at least ";
  }
  return "";
}

bool holds(Kind kind, std::int64_t value, std::int64_t bound) {
  switch (kind) {
    case Kind::kEqual:
      return value == bound;
    case Kind::kEqualOrOne:
      return value == bound || value == 1;
    case Kind::kAtMost:
      return value <= bound;
    case Kind::kAtLeast:
      return value >= bound;
  }
  return false;
}

}  // namespace

void collect_guards(const Graph& graph, DimProgram& dims, std::vector<Guard>& guards) {
  const Places places = places_of(graph);
  Collector(graph, places, dims, guards).run();
}

void collect_facts(const Graph& graph, DimProgram& dims, std::vector<Guard>& guards) {
  const Facts& facts = graph.facts;
  std::vector<Dim> symbols;
  for (DimProgram::Slot slot : dims.symbol_slots()) symbols.push_back(dims.dim(slot));
  const auto add = [&](Kind kind, Dim value, Dim bound, Dim symbol) {
    guards.push_back({kind, dims.add(value), dims.add(bound), std::string(symbol.name())});
  };
  for (Dim symbol : symbols) {
    if (symbol.is_float()) continue;
    const auto range = facts.ranges().find(symbol);
    const Range given = range == facts.ranges().end() ? Range{} : range->second;
    const bool any_size = given.low >= 0 && given.low <= 2;
    if (!any_size && given.low != INT64_MIN) add(Kind::kAtLeast, symbol, Dim(given.low), symbol);
    if (given.high != INT64_MAX) add(Kind::kAtMost, symbol, Dim(given.high), symbol);
    const auto divisor = facts.divisors().find(symbol);
    if (divisor != facts.divisors().end()) add(Kind::kEqual, mod(symbol, Dim(divisor->second)), Dim(0), symbol);
  }
  const auto all_there = [&](Dim dim) {
    std::vector<Dim> used;
    collect_symbols(dim, used);
    return std::ranges::all_of(used, [&](Dim one) { return std::ranges::find(symbols, one) != symbols.end(); });
  };
  for (const auto& [from, to] : facts.equalities()) {
    if (from.is_float() || !all_there(from) || !all_there(to)) continue;
    std::vector<Dim> used;
    collect_symbols(from, used);
    add(Kind::kEqual, from, to, used.empty() ? from : used[0]);
  }
}

Status check_guards(std::span<const Guard> guards, const DimProgram& program, std::span<const DimValue> dims,
                    std::span<const bool> known) {
  for (const Guard& guard : guards) {
    const std::int64_t value = dims[guard.value].integer, bound = dims[guard.bound].integer;
    if (holds(guard.kind, value, bound)) continue;
    const auto is_known = [&](DimProgram::Slot slot) {
      if (known.empty()) return true;
      std::vector<Dim> symbols;
      collect_symbols(program.dim(slot), symbols);
      for (Dim symbol : symbols) {
        for (DimProgram::Slot of : program.symbol_slots()) {
          if (program.dim(of) == symbol && !known[of]) return false;
        }
      }
      return true;
    };
    if (!is_known(guard.value) || !is_known(guard.bound)) continue;
    const Dim what = program.dim(guard.value), limit = program.dim(guard.bound);
    return fail(ErrorKind::kShapeMismatch, "'{}': sizes do not fit: {}{}, expected {}{}{}{}", guard.node, what,
                what.constant() ? "" : fmt::format(" = {}", value), relation(guard.kind), limit,
                limit.constant() ? "" : fmt::format(" = {}", bound), guard.origins);
  }
  return {};
}

}  // namespace tilewright::runtime
