// What RNN, GRU and LSTM share: directions, layouts, sequence lengths, activations, and the loop over the steps. The
// products with the inputs of all steps are done before the loop; a step multiplies only its state.
#pragma once

#include <functional>

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

// An activation function with its parameters, already clipped if the node asks for it.
using Activation = std::function<Maybe(OnnxNode& n, const Maybe& x)>;

// One direction of a recurrent node.
struct Direction {
  Dim hidden;
  ValueRef recurrence;       // R transposed: [hidden, gates * hidden]
  ValueRef recurrence_bias;  // [gates * hidden], or null
  // R h, where it is not the product with `recurrence`, which is null then.
  std::function<Maybe(OnnxNode& n, const Maybe& hidden)> product;
  ValueRef peepholes;                   // [3 * hidden], or null
  std::vector<Activation> activations;  // as many as the operator has
};

enum class Weight { kInput, kRecurrence };  // W or R

struct Cell {
  std::int64_t gates;
  std::size_t num_states;                     // hidden state, and the cell of an LSTM
  std::vector<std::string_view> activations;  // those of one direction, by default
  bool adds_recurrence_bias;                  // to the inputs; else the step does
  std::size_t peepholes_input = 0;            // 0: none
  // One step: gates holds W x + b of [batch, gates * hidden]. Gives the next states.
  std::function<Result<std::vector<Maybe>>(OnnxNode& n, const Direction& direction, const Maybe& gates,
                                           const std::vector<Maybe>& states)>
      step;
  // The product with a weight of one direction, where weights are not plain tensors.
  std::function<Maybe(OnnxNode& n, const Maybe& x, Weight weight, std::size_t direction)> product = nullptr;
};

Result<Results> import_recurrent(OnnxNode& n, const Cell& cell);
// R has the axes [directions, hidden, gates * hidden] if the cell has a product of its own, else those of ONNX.
Cell lstm_cell();

// Columns [i * hidden, (i + 1) * hidden) of the last axis.
Maybe gate(OnnxNode& n, const Maybe& gates, std::int64_t i, Dim hidden);

// The activations of all directions, `names` repeated where the node gives none.
Result<std::vector<Activation>> read_activations(OnnxNode& n, std::vector<std::string_view> names,
                                                 std::size_t num_directions);

}  // namespace tilewright::onnx
