// What a native row operation may read in the place of a value that only it uses: softmax(x * s + y), layer_norm(x + y)
// and the like need no pass of their own for the product or the sum.
#pragma once

#include "tilewright/compiler/area.h"

namespace tilewright::compiler {

struct RowPrologue {
  std::uint16_t from = AreaNode::kNone;    // kNone: there is none
  std::uint16_t scale = AreaNode::kNone;   // a scalar; kNone: 1
  std::uint16_t addend = AreaNode::kNone;  // kNone: nothing is added
};

// The prologue that the phase of `operation` can take over. from and addend are inputs; the caller checks that their
// strides suit the phase.
RowPrologue find_row_prologue(const Area& area, const AreaNode& operation);

// The phase that does it.
isa::PhaseOp phase_with_prologue(isa::PhaseOp phase);

}  // namespace tilewright::compiler
