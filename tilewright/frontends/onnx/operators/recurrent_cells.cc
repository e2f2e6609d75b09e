// One step of RNN, GRU and LSTM. Formulas are those of the operators' documentation in the ONNX standard.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/recurrent.h"

namespace tilewright::onnx {
namespace {

using States = Result<std::vector<Maybe>>;

Maybe add(OnnxNode& n, const Maybe& a, const Maybe& b) {
  return n.op(Op::kAdd, {a, b});
}

Maybe multiply(OnnxNode& n, const Maybe& a, const Maybe& b) {
  return n.op(Op::kMul, {a, b});
}

Maybe one_minus(OnnxNode& n, const Maybe& x) {
  return n.op(Op::kSub, {n.number_like(x, 1), x});
}

// R h, with its bias where the step adds it.
Maybe recurrent_gates(OnnxNode& n, const Direction& direction, const Maybe& hidden) {
  const Maybe product =
      direction.product ? direction.product(n, hidden) : n.op(Op::kMatMul, {hidden, n.local(direction.recurrence)});
  return direction.recurrence_bias == nullptr ? product : add(n, product, n.local(direction.recurrence_bias));
}

States rnn_step(OnnxNode& n, const Direction& direction, const Maybe& gates, const std::vector<Maybe>& states) {
  const Maybe sum = add(n, gates, recurrent_gates(n, direction, states[0]));
  return std::vector<Maybe>{direction.activations[0](n, sum)};
}

// Gates are z, r, h. Reset before the product with R needs a product of its own for h.
States gru_step(OnnxNode& n, const Direction& direction, const Maybe& gates, const std::vector<Maybe>& states) {
  const Dim size = direction.hidden;
  const Maybe hidden = states[0];
  const bool reset_after = n.integer("linear_before_reset", 0) != 0;
  const auto part = [&](const Maybe& all, std::int64_t i) { return gate(n, all, i, size); };
  const Maybe matrix = n.local(direction.recurrence);
  const Maybe from_hidden = reset_after ? recurrent_gates(n, direction, hidden)
                                        : n.op(Op::kMatMul, {hidden, n.slice(matrix, 1, 0, size * 2)});
  const Maybe z = direction.activations[0](n, add(n, part(gates, 0), part(from_hidden, 0)));
  const Maybe r = direction.activations[0](n, add(n, part(gates, 1), part(from_hidden, 1)));
  const Maybe reset = reset_after ? multiply(n, r, part(from_hidden, 2))
                                  : n.op(Op::kMatMul, {multiply(n, r, hidden), n.slice(matrix, 1, size * 2, size * 3)});
  const Maybe candidate = add(n, part(gates, 2), reset);
  const Maybe h = direction.activations[1](n, candidate);
  return std::vector<Maybe>{add(n, multiply(n, one_minus(n, z), h), multiply(n, z, hidden))};
}

// Gates are i, o, f, c; peepholes i, o, f.
States lstm_step(OnnxNode& n, const Direction& direction, const Maybe& gates, const std::vector<Maybe>& states) {
  const Maybe cell = states[1];
  const Maybe sum = add(n, gates, recurrent_gates(n, direction, states[0]));
  const auto looked = [&](std::int64_t which, std::int64_t peephole, const Maybe& at) {
    const Maybe part = gate(n, sum, which, direction.hidden);
    if (direction.peepholes == nullptr) return part;
    return add(n, part, multiply(n, gate(n, n.local(direction.peepholes), peephole, direction.hidden), at));
  };
  const Maybe i = direction.activations[0](n, looked(0, 0, cell));
  const Maybe f = n.integer("input_forget", 0) != 0 ? one_minus(n, i) : direction.activations[0](n, looked(2, 2, cell));
  const Maybe c = direction.activations[1](n, gate(n, sum, 3, direction.hidden));
  const Maybe next_cell = add(n, multiply(n, f, cell), multiply(n, i, c));
  const Maybe o = direction.activations[0](n, looked(1, 1, next_cell));
  return std::vector<Maybe>{multiply(n, o, direction.activations[2](n, next_cell)), next_cell};
}

}  // namespace

Result<Results> import_rnn(OnnxNode& n) {
  return import_recurrent(
      n, {.gates = 1, .num_states = 1, .activations = {"Tanh"}, .adds_recurrence_bias = true, .step = rnn_step});
}

Result<Results> import_gru(OnnxNode& n) {
  return import_recurrent(n, {.gates = 3,
                              .num_states = 1,
                              .activations = {"Sigmoid", "Tanh"},
                              .adds_recurrence_bias = n.integer("linear_before_reset", 0) == 0,
                              .step = gru_step});
}

Cell lstm_cell() {
  return {.gates = 4,
          .num_states = 2,
          .activations = {"Sigmoid", "Tanh", "Tanh"},
          .adds_recurrence_bias = true,
          .peepholes_input = 7,
          .step = lstm_step};
}

Result<Results> import_lstm(OnnxNode& n) {
  return import_recurrent(n, lstm_cell());
}

}  // namespace tilewright::onnx
