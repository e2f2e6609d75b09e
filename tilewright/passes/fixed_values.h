// Values that depend on weights and constants alone and have known sizes: the same in every call until a weight
// changes.
#pragma once

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

// Inputs and captures of the graph that it writes to, itself or in a region.
std::vector<ValueId> written_buffers(const Graph& graph);

class FixedValues {
 public:
  // Of the outermost graph: its weights are fixed, but for those that it writes to.
  explicit FixedValues(const Graph& graph);
  // Of a region, where the graph around it has `outer`. Only what cannot fail: the region may never run.
  FixedValues(const Graph& region, const FixedValues& outer);

  bool has(ValueId value) const { return value < fixed_.size() && fixed_[value] != 0; }
  // An input, a capture, a constant or a scalar: nothing is computed.
  bool is_source(ValueId value) const;
  void add(ValueId value);  // of a node that the graph has got since

  // The fixed values that what depends on a call reads, and that are worth being kept, in order of their definition:
  // what is computed and not much larger than the weights it comes from, and copies where a reader cannot take a view.
  std::vector<ValueId> worth_keeping() const;

 private:
  void find();
  bool may_be_fixed(const Node& node) const;
  ValueId behind_views(ValueId value, const Node& reader) const;
  bool is_large(ValueId value) const;

  const Graph& graph_;
  bool fallible_;  // operators that may fail are fixed too
  std::vector<char> fixed_;
  std::vector<double> source_bytes_;  // by value: of the sources it comes from
};

}  // namespace tilewright::passes
