#include "tilewright/frontends/onnx/loop.h"

#include "tilewright/graph/bound_symbols.h"

namespace tilewright::onnx {
namespace {

constexpr int kMaxRounds = 64;

// A size of a state that is not the same after a trip is a symbol of the body's input.
bool generalise(OnnxNode& n, std::vector<TensorType>& types, std::unordered_set<Dim>& loop_symbols,
                const Results& next) {
  bool changed = false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (std::size_t axis = 0; axis < types[i].shape.size(); ++axis) {
      Dim& size = types[i].shape[axis];
      const Dim after = next[i]->type.shape[axis];
      if (size == after || n.facts().same(size, after) == Answer::kYes || loop_symbols.contains(size)) continue;
      size = n.fresh_symbol("n");
      loop_symbols.insert(size);
      changed = true;
    }
  }
  return changed;
}

Status check_states(const std::vector<TensorType>& types, const Results& next) {
  if (next.size() != types.size()) {
    return fail(ErrorKind::kInvalidArgument, "a trip takes {} states and gives {}", types.size(), next.size());
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (next[i]->kind != OnnxValue::Kind::kTensor) return fail(ErrorKind::kUnsupported, "state {} is not a tensor", i);
    const TensorType& type = next[i]->type;
    if (type.dtype != types[i].dtype) {
      return fail(ErrorKind::kDTypeMismatch, "state {} is {} and becomes {}", i, types[i], type);
    }
    if (type.shape.size() != types[i].shape.size()) {
      return fail(ErrorKind::kUnsupported, "state {} changes its rank: {} and {}", i, types[i], type);
    }
  }
  return {};
}

struct Body {
  Region region;
  Trip trip;
  std::unordered_set<Dim> loop_symbols;  // sizes that change from trip to trip
};

// Types of the inputs of the body: counter, states, slices.
Result<std::vector<TensorType>> input_types(const LoopSpec& spec, const std::vector<TensorType>& states) {
  std::vector<TensorType> types{{DType::kI64, {}}};
  types.insert(types.end(), states.begin(), states.end());
  for (const ValueRef& whole : spec.scanned) {
    if (whole->type.shape.empty()) return fail(ErrorKind::kShapeMismatch, "a scalar has no slices");
    types.push_back({whole->type.dtype, Shape(whole->type.shape.begin() + 1, whole->type.shape.end())});
  }
  return types;
}

// Of the same inputs: what their dtypes carry.
std::vector<Carried> element_types(const LoopSpec& spec) {
  std::vector<Carried> out{Carried::kNone};
  for (const Results* list : {&spec.states, &spec.scanned}) {
    for (const ValueRef& value : *list) out.push_back(value->carried);
  }
  return out;
}

Result<Body> build_body(OnnxNode& n, const LoopSpec& spec) {
  Body body;
  std::vector<TensorType> states;
  for (const ValueRef& state : spec.states) states.push_back(state->type);
  for (int round = 0; round < kMaxRounds; ++round) {
    TW_ASSIGN(const std::vector<TensorType> types, input_types(spec, states));
    body.region = n.open_region(types, element_types(spec));
    body.region.scope->set_trip(body.region.inputs[0]);
    const auto first = body.region.inputs.begin() + 1;
    const auto middle = first + static_cast<std::ptrdiff_t>(states.size());
    const Results carried(first, middle);
    const Results slices(middle, body.region.inputs.end());
    TW_ASSIGN(body.trip, n.inside(body.region, [&](OnnxNode& inner) {
      return spec.trip(inner, body.region.inputs[0], carried, slices);
    }));
    TW_TRY(check_states(states, body.trip.states));
    if (!generalise(n, states, body.loop_symbols, body.trip.states)) return body;
  }
  return fail(ErrorKind::kUnsupported, "the sizes of a loop do not settle");
}

bool is_true(const ValueRef& value) {
  if (value == nullptr) return true;
  const HostTensor* known = host(*value);
  return known != nullptr && known->elements.size() == 1 && known->elements[0].constant() == 1;
}

Status set_outputs(OnnxNode& n, Body& body, bool conditional) {
  std::vector<ValueId> outputs;
  const auto add = [&](OnnxNode& inner, const Results& values) -> Status {
    for (const ValueRef& value : values) {
      TW_ASSIGN(const ValueId id, inner.local(value));
      outputs.push_back(id);
    }
    return {};
  };
  TW_TRY(n.inside(body.region, [&](OnnxNode& inner) -> Status {
    if (conditional) {
      const Maybe go_on = body.trip.go_on == nullptr ? inner.constant_tensor(Tensor::scalar(true))
                                                     : inner.reshape(inner.local(body.trip.go_on), {});
      TW_ASSIGN(const ValueId id, Maybe(go_on));
      outputs.push_back(id);
    }
    TW_TRY(add(inner, body.trip.states));
    return add(inner, body.trip.rows);
  }));
  body.region.graph->set_outputs(std::move(outputs));
  return {};
}

// One symbol for each size of a row that only the body knows.
Dims late_symbols(OnnxNode& n, const Body& body) {
  std::unordered_set<Dim> inner = body.loop_symbols;
  const Graph& graph = *body.region.graph;
  for (const NodeId id : graph.order()) {
    for (const Dim symbol : bound_symbols(graph, graph.node(id))) inner.insert(symbol);
  }
  Dims late;
  for (const ValueRef& row : body.trip.rows) {
    for (const Dim size : row->type.shape) {
      std::vector<Dim> symbols;
      collect_symbols(size, symbols);
      for (const Dim symbol : symbols) {
        if (!inner.contains(symbol)) continue;
        late.push_back(n.fresh_symbol("n"));
        break;
      }
    }
  }
  return late;
}

Result<std::vector<ValueId>> initial_values(OnnxNode& n, const LoopSpec& spec, bool conditional) {
  std::vector<ValueId> values;
  if (conditional) {
    const Maybe first =
        spec.first == nullptr ? n.constant_tensor(Tensor::scalar(true)) : n.reshape(n.local(spec.first), {});
    TW_ASSIGN(const ValueId id, Maybe(first));
    values.push_back(id);
  }
  for (const Results* list : {&spec.states, &spec.scanned}) {
    for (const ValueRef& value : *list) {
      TW_ASSIGN(const ValueId id, n.local(value));
      values.push_back(id);
    }
  }
  return values;
}

}  // namespace

Result<LoopResult> build_loop(OnnxNode& n, const LoopSpec& spec) {
  TW_ASSIGN(Body body, build_body(n, spec));
  const bool conditional = !is_true(spec.first) || !is_true(body.trip.go_on);
  if (!conditional && spec.trips == Dim(INT64_MAX)) return fail(ErrorKind::kInvalidArgument, "a loop that never ends");
  TW_TRY(set_outputs(n, body, conditional));
  TW_ASSIGN(const std::vector<ValueId> initial, initial_values(n, spec, conditional));
  Attrs attrs{{"carried", std::ssize(spec.states)},
              {"trips", spec.trips},
              {"conditional", conditional},
              {"count", conditional ? Dims{n.fresh_symbol("n")} : Dims()},
              {"late", late_symbols(n, body)}};
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body.region.graph));
  TW_ASSIGN(const std::vector<ValueId> values, n.ops(Op::kScan, initial, std::move(attrs), std::move(regions)));
  LoopResult out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t num_states = spec.states.size();
    n.scope().set_carried(values[i],
                          i < num_states ? spec.states[i]->carried : body.trip.rows[i - num_states]->carried);
    (i < spec.states.size() ? out.states : out.rows).push_back(n.result(values[i]));
  }
  return out;
}

}  // namespace tilewright::onnx
