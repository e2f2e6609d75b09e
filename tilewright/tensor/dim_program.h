// Dims compiled to one flat program: all sizes and host scalars of a plan are evaluated by one pass when symbols are
// bound. Built once per plan; run() allocates nothing, checks int64 overflow and division by zero, and is re-entrant.
#pragma once

#include <array>
#include <span>
#include <unordered_map>

#include "tilewright/tensor/dim.h"

namespace tilewright {

union DimValue {
  std::int64_t integer;
  double real;
};

enum class DimFault : std::uint8_t;  // dim_arithmetic.h

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
  // An error names the expression that has no value (division by zero, overflow, sizes that do not broadcast) and the
  // values in it. Branches of a select that are not taken may have none.
  Status run(std::span<DimValue> values, std::span<const bool> known = {}) const;

 private:
  struct Step {
    DimOp op;
    bool is_float;  // of the operation's arithmetic
    Slot target, a, b, c;
  };
  struct Constant {
    Slot slot;
    DimValue value;
  };
  Slot slot_of(Dim dim);
  Slot new_slot(Dim dim);
  Slot step(Dim dim, std::array<Slot, 3> in);
  Status run_known(std::span<DimValue> values, std::span<const bool> known) const;
  Status run_with_faults(std::span<DimValue> values, std::span<const bool> known) const;
  Error fault_error(std::span<const DimValue> values, Slot slot, DimFault fault) const;

  std::vector<Dim> dims_;
  std::vector<bool> is_root_;  // asked for by add(), not only a part of what was
  std::vector<Constant> constants_;
  std::vector<Step> steps_;
  std::vector<Slot> symbols_;
  std::unordered_map<Dim, Slot> slots_;
};

}  // namespace tilewright
