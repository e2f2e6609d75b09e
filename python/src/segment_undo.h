// What a segment overwrites before it is sure to end well: updates in place of memory from outside. A copy is kept of
// it where something after (or in) the update may still fail, so that a failed segment can run again by other means.
#pragma once

#include <vector>

#include "tilewright/runtime/arguments.h"
#include "tilewright/runtime/plan.h"

namespace tilewright::python {

// Inputs that are written while something may still fail.
std::vector<std::size_t> inputs_at_risk(const runtime::Plan& plan);

class SegmentUndo {
 public:
  void keep(const runtime::TensorArg& input);
  void restore() const;

 private:
  struct Piece {
    std::byte* memory;
    std::vector<std::byte> bytes;
  };
  std::vector<Piece> pieces_;
};

}  // namespace tilewright::python
