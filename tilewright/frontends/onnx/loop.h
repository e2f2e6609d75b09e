// A loop as a `scan` of the graph: carried states, slices that it walks, and rows that it stacks. Loop and Scan differ
// only in what a trip does.
#pragma once

#include <functional>

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

struct Trip {
  ValueRef go_on;  // a bool; null: always
  Results states;
  Results rows;
};

struct LoopSpec {
  Dim trips = INT64_MAX;  // at most
  ValueRef first;         // whether to begin, a bool; null: yes
  Results states;         // at the beginning
  Results scanned;        // trip i reads slice i of axis 0
  // Builds one trip with `inner`, a node inside of the loop.
  std::function<Result<Trip>(OnnxNode& inner, const ValueRef& counter, const Results& states, const Results& slices)>
      trip;
};

struct LoopResult {
  Results states;
  Results rows;  // stacked along a new first axis
};

Result<LoopResult> build_loop(OnnxNode& n, const LoopSpec& spec);

}  // namespace tilewright::onnx
