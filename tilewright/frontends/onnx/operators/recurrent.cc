#include "tilewright/frontends/onnx/operators/recurrent.h"

#include "tilewright/frontends/onnx/loop.h"

namespace tilewright::onnx {
namespace {

// The inputs of the operators, in their order.
enum Input : std::size_t { kX, kW, kR, kBias, kLengths, kInitial, kInitialCell };

struct Setup {
  Dim steps, batch, hidden;
  std::size_t num_directions;
  bool backwards_only;
  bool batch_first;
  DType dtype;
  ValueRef x;        // [steps, batch, inputs]
  ValueRef lengths;  // i64[batch], or null
  std::vector<Activation> activations;
};

Result<Setup> read_setup(OnnxNode& n, const Cell& cell) {
  Setup out{};
  TW_ASSIGN(const TensorType x, n.type(kX));
  TW_ASSIGN(const TensorType r, n.type(kR));
  if (x.shape.size() != 3 || r.shape.size() != 3) {
    return fail(ErrorKind::kShapeMismatch, "x and R must have three axes: {}, {}", x, r);
  }
  const std::string_view direction = n.text("direction", "forward");
  out.num_directions = direction == "bidirectional" ? 2 : 1;
  out.backwards_only = direction == "reverse";
  out.batch_first = n.integer("layout", 0) != 0;
  out.steps = x.shape[out.batch_first ? 1 : 0];
  out.batch = x.shape[out.batch_first ? 0 : 1];
  out.hidden = r.shape[cell.product ? 1 : 2];
  out.dtype = x.dtype;
  const Maybe value = out.batch_first ? n.transpose(n.input(kX), {1, 0, 2}) : n.input(kX);
  TW_ASSIGN(out.x, n.result(value));
  if (n.has(kLengths)) {
    TW_ASSIGN(out.lengths, n.result(n.cast(n.input(kLengths), DType::kI64)));
  }
  TW_ASSIGN(out.activations, read_activations(n, cell.activations, out.num_directions));
  return out;
}

// Matrix or row number `direction` of an input whose first axis is the directions.
Maybe of_direction(OnnxNode& n, std::size_t input, std::size_t direction) {
  TW_ASSIGN(const TensorType type, n.type(input));
  if (type.shape.empty()) return fail(ErrorKind::kShapeMismatch, "input {} is a scalar", input);
  const auto at = static_cast<std::int64_t>(direction);
  return n.reshape(n.slice(n.input(input), 0, at, at + 1), Shape(type.shape.begin() + 1, type.shape.end()));
}

// [batch, hidden] of a state at the beginning; zeros where the node gives none.
Result<ValueRef> initial_state(OnnxNode& n, const Setup& setup, std::size_t input, std::size_t direction) {
  const Shape shape{setup.batch, setup.hidden};
  if (!n.has(input)) return n.result(n.expand(n.number(setup.dtype, Dim::real(0)), shape));
  const auto at = static_cast<std::int64_t>(direction);
  return n.result(n.reshape(n.slice(n.input(input), setup.batch_first ? 1 : 0, at, at + 1), shape));
}

Maybe iota(OnnxNode& n, Dim size, Shape shape) {
  return n.reshape(n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", Shape{size}}, {"axis", std::int64_t{0}}}),
                   std::move(shape));
}

// Steps in the opposite order; of a sequence shorter than the others only its own steps, the rest stays in place.
Maybe reversed(OnnxNode& n, const Setup& setup, const Maybe& rows) {
  if (setup.lengths == nullptr) return n.op(Op::kFlip, {rows}, {{"axes", Ints{0}}});
  TW_ASSIGN(const ValueId value, Maybe(rows));
  const Shape shape = n.type_of(value).shape;
  const Maybe step = iota(n, setup.steps, {setup.steps, Dim(1)});
  const Maybe length = n.reshape(n.local(setup.lengths), {Dim(1), setup.batch});
  const Maybe last = n.op(Op::kSub, {length, n.number(DType::kI64, 1)});
  const Maybe from = n.op(Op::kSelect, {n.op(Op::kLt, {step, length}), n.op(Op::kSub, {last, step}), step});
  return n.op(Op::kIndex, {value, from, iota(n, setup.batch, {Dim(1), setup.batch})}, {{"axes", Ints{0, 1}}});
}

// W x + b of all steps: [steps, batch, gates * hidden].
Maybe input_gates(OnnxNode& n, const Setup& setup, const Cell& cell, std::size_t direction) {
  const Maybe x = n.local(setup.x);
  const Maybe product = cell.product ? cell.product(n, x, Weight::kInput, direction)
                                     : n.op(Op::kMatMul, {x, n.transpose(of_direction(n, kW, direction), {1, 0})});
  if (!n.has(kBias)) return product;
  const Maybe both = of_direction(n, kBias, direction);
  const Dim width = setup.hidden * cell.gates;
  Maybe bias = n.slice(both, 0, 0, width);
  if (cell.adds_recurrence_bias) bias = n.op(Op::kAdd, {bias, n.slice(both, 0, width, width * 2)});
  return n.op(Op::kAdd, {product, bias});
}

Result<Direction> read_direction(OnnxNode& n, const Setup& setup, const Cell& cell, std::size_t number) {
  Direction out{};
  out.hidden = setup.hidden;
  if (cell.product) {
    out.product = [&cell, number](OnnxNode& inner, const Maybe& hidden) {
      return cell.product(inner, hidden, Weight::kRecurrence, number);
    };
  } else {
    TW_ASSIGN(out.recurrence, n.result(n.transpose(of_direction(n, kR, number), {1, 0})));
  }
  if (n.has(kBias) && !cell.adds_recurrence_bias) {
    const Dim width = setup.hidden * cell.gates;
    TW_ASSIGN(out.recurrence_bias, n.result(n.slice(of_direction(n, kBias, number), 0, width, width * 2)));
  }
  if (cell.peepholes_input != 0 && n.has(cell.peepholes_input)) {
    TW_ASSIGN(out.peepholes, n.result(of_direction(n, cell.peepholes_input, number)));
  }
  const auto count = static_cast<std::ptrdiff_t>(cell.activations.size());
  const auto first = setup.activations.begin() + static_cast<std::ptrdiff_t>(number) * count;
  out.activations.assign(first, first + count);
  return out;
}

// One trip of the loop. A sequence that has ended keeps its states and gives zeros.
Result<Trip> make_trip(OnnxNode& n, const Setup& setup, const Cell& cell, const Direction& direction,
                       const ValueRef& counter, const Results& states, const ValueRef& gates) {
  std::vector<Maybe> before;
  for (const ValueRef& state : states) before.push_back(n.local(state));
  TW_ASSIGN(const std::vector<Maybe> after, cell.step(n, direction, n.local(gates), before));
  Trip trip;
  Maybe running = n.local(counter);
  if (setup.lengths != nullptr) {
    running = n.op(Op::kLt, {running, n.reshape(n.local(setup.lengths), {setup.batch, Dim(1)})});
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    const Maybe next = setup.lengths == nullptr ? after[i] : n.op(Op::kSelect, {running, after[i], before[i]});
    TW_ASSIGN(ValueRef state, n.result(next));
    trip.states.push_back(std::move(state));
  }
  if (setup.lengths == nullptr) {
    trip.rows.push_back(trip.states[0]);
  } else {
    const Maybe zero = n.number(setup.dtype, Dim::real(0));
    TW_ASSIGN(ValueRef row, n.result(n.op(Op::kSelect, {running, after[0], zero})));
    trip.rows.push_back(std::move(row));
  }
  return trip;
}

// The results of one direction: rows [steps, batch, hidden] and the last states.
Result<LoopResult> run_direction(OnnxNode& n, const Setup& setup, const Cell& cell, std::size_t number) {
  const bool backwards = setup.backwards_only || number == 1;
  TW_ASSIGN(const Direction direction, read_direction(n, setup, cell, number));
  Maybe gates = input_gates(n, setup, cell, number);
  if (backwards) gates = reversed(n, setup, gates);
  LoopSpec spec;
  spec.trips = setup.steps;
  TW_ASSIGN(ValueRef scanned, n.result(gates));
  spec.scanned.push_back(std::move(scanned));
  for (std::size_t i = 0; i < cell.num_states; ++i) {
    TW_ASSIGN(ValueRef state, initial_state(n, setup, kInitial + i, number));
    spec.states.push_back(std::move(state));
  }
  spec.trip = [&](OnnxNode& inner, const ValueRef& counter, const Results& states, const Results& slices) {
    return make_trip(inner, setup, cell, direction, counter, states, slices[0]);
  };
  TW_ASSIGN(LoopResult out, build_loop(n, spec));
  if (backwards) {
    TW_ASSIGN(out.rows[0], n.result(reversed(n, setup, n.local(out.rows[0]))));
  }
  return out;
}

// Values of all directions along a new axis.
Maybe joined(OnnxNode& n, const Results& parts, std::int64_t axis) {
  std::vector<ValueId> values;
  for (const ValueRef& part : parts) {
    TW_ASSIGN(const ValueId value, n.unsqueeze(n.local(part), {axis}));
    values.push_back(value);
  }
  return values.size() == 1 ? Maybe(values[0]) : n.op(Op::kConcat, values, {{"axis", axis}});
}

}  // namespace

Maybe gate(OnnxNode& n, const Maybe& gates, std::int64_t i, Dim hidden) {
  if (!gates.ok()) return gates;
  const auto last = std::ssize(n.type_of(*gates).shape) - 1;
  return n.slice(gates, last, hidden * i, hidden * (i + 1));
}

Result<Results> import_recurrent(OnnxNode& n, const Cell& cell) {
  TW_ASSIGN(const Setup setup, read_setup(n, cell));
  Results rows;
  std::vector<Results> states(cell.num_states);
  for (std::size_t number = 0; number < setup.num_directions; ++number) {
    TW_ASSIGN(const LoopResult result, run_direction(n, setup, cell, number));
    rows.push_back(result.rows[0]);
    for (std::size_t i = 0; i < cell.num_states; ++i) states[i].push_back(result.states[i]);
  }
  Maybe all = joined(n, rows, 1);  // [steps, directions, batch, hidden]
  if (setup.batch_first) all = n.transpose(all, {2, 0, 1, 3});
  Results out;
  TW_ASSIGN(ValueRef all_rows, n.result(all));
  out.push_back(std::move(all_rows));
  for (const Results& state : states) {
    TW_ASSIGN(ValueRef last, n.result(joined(n, state, setup.batch_first ? 1 : 0)));
    out.push_back(std::move(last));
  }
  return out;
}

}  // namespace tilewright::onnx
