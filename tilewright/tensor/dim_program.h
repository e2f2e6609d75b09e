// Dims compiled to one flat program: all sizes and host scalars of a plan are evaluated by one pass when symbols are
// bound. Built once per plan; run() allocates nothing, checks int64 overflow and division by zero, and is re-entrant.
#pragma once

#include <span>
#include <unordered_map>

#include "tilewright/tensor/dim.h"

namespace tilewright {

union DimValue {
  std::int64_t integer;
  double real;
};

class DimProgram {
 public:
  using Slot = std::uint32_t;

  // The slot that holds the value of `dim` after run(). Equal expressions share a slot. Symbols get a slot too: their
  // values are inputs. Slots are stable; `add` may be called until the first run.
  Slot add(Dim dim);
  std::size_t size() const { return dims_.size(); }
  Dim dim(Slot slot) const { return dims_[slot]; }
  std::span<const Slot> symbol_slots() const { return symbols_; }  // in the order they were added

  // `values` has size() entries with the symbol slots filled. Evaluates every slot whose symbols are all in
  // `known` (a per-slot mask; empty = all are), so that late symbols can be bound in a second run.
  Status run(std::span<DimValue> values, std::span<const bool> known = {}) const;

 private:
  struct Step {
    DimOp op;
    bool is_float;               // of the operation's arithmetic
    Slot target, a, b, c;
  };
  std::vector<Dim> dims_;
  std::vector<Step> steps_;
  std::vector<Slot> symbols_;
  std::unordered_map<Dim, Slot> slots_;
};

}  // namespace tilewright
