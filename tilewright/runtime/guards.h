// Guards: what inference could not decide about the sizes of a graph and its kernels rely on. Checked for every call as
// soon as the sizes are known: a size that should fit another either is that size, or the call is an error that names
// both, and the axes of inputs that they are.
#pragma once

#include <string>
#include <vector>

#include "tilewright/graph/graph.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright::runtime {

struct Guard {
  enum class Kind : std::uint8_t { kEqual, kEqualOrOne, kAtMost, kAtLeast };
  Kind kind;
  DimProgram::Slot value, bound;  // value == bound, value == bound or 1, value <= bound, value >= bound
  std::string node;               // for the message
  std::string origins;            // for the message: which sizes of inputs the symbols are
};

// Of every node in the graph and in its fused areas (other regions are graphs of plans of their own).
void collect_guards(const Graph& graph, DimProgram& dims, std::vector<Guard>& guards);
// What the graph takes for true of its symbols. A lower bound of 1 or 2 is not checked for a size: it says that a trace
// did not meet the others, and every kernel takes them. Only of symbols that `dims` has.
void collect_facts(const Graph& graph, DimProgram& dims, std::vector<Guard>& guards);
// `known`: per slot, empty if all are.
Status check_guards(std::span<const Guard> guards, const DimProgram& program, std::span<const DimValue> dims,
                    std::span<const bool> known);

}  // namespace tilewright::runtime
