// A pass is a function in a file of its own, and a row in the one list in pipeline.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

// Why two neighbouring areas stayed apart.
struct FuseRefusal {
  std::string producer, consumer;  // names of a value of each
  std::string_view reason;
};

// Fused nodes of a graph that are one kernel in calls whose sizes agree. The graph keeps the parts, which are right for
// all sizes; a plan may hold both forms and choose when sizes are bound.
struct SpeculativeArea {
  const Graph* graph;
  std::vector<NodeId> parts;             // in order; no way leads from one to another through other nodes
  std::vector<ValueId> inputs, outputs;  // values of the graph, in the order of the region's
  std::shared_ptr<const Graph> region;   // the kernel
  std::string kind;
  Dims equal;  // its condition: equal[0] = equal[1], equal[2] = equal[3], ..
};

struct FuseReport {
  std::vector<FuseRefusal> refused;
  std::vector<SpeculativeArea> speculative;
};

struct Pass {
  std::string_view name;
  bool (*run)(Graph& graph, FuseReport& report);  // true if the graph changed
  std::string_view meaning;
  bool whole = false;  // runs once, on the outermost graph, and sees to the regions itself
};

std::span<const Pass> pipeline();

struct PipelineOptions {
  std::vector<std::string> skip;         // names of passes to leave out
  std::vector<std::string> print_after;  // names of passes after which `printed` gets the graph; "all" for each
  bool verify_each = false;              // verify the graph after each pass
};

struct PassReport {
  std::string_view name;
  double micros;
  bool changed;
  std::string printed;
  FuseReport fused;  // of fuse_areas
};

// Runs the pipeline on the graph and on its regions. An error means that a pass broke the graph.
Result<std::vector<PassReport>> run_pipeline(Graph& graph, const PipelineOptions& options = {});

// What a graph comes with is a call, not an area that one kernel can run: for graphs of others, before the pipeline.
bool open_areas(Graph& graph);

// Producers before users again, otherwise in the old order. For passes that append nodes at the end.
void sort_topologically(Graph& graph);

bool remove_no_ops(Graph& graph);
bool merge_transposes(Graph& graph);
bool merge_reshapes(Graph& graph);
bool merge_updates(Graph& graph);
bool fold_constants(Graph& graph);
bool common_subexpressions(Graph& graph);
bool recognise_composites(Graph& graph);
bool recognise_attention(Graph& graph);
bool inline_composites(Graph& graph);
bool quantized_products(Graph& graph);
bool simple_powers(Graph& graph);
bool scale_convolutions(Graph& graph);  // of the outermost graph
bool split_reduces(Graph& graph);
bool widen_products(Graph& graph);
bool sink_reshapes(Graph& graph);
bool sink_concats(Graph& graph);
bool prepare_weights(Graph& graph);  // of the outermost graph
bool fuse_areas(Graph& graph, FuseReport* report = nullptr);
bool fuse_decided_areas(Graph& graph, FuseReport* report = nullptr);  // only what is one kernel for all sizes
bool fuse_nothing(Graph& graph);                                      // each node alone
bool remove_dead_nodes(Graph& graph);
bool has_unread_nodes(const Graph& graph);  // whether remove_dead_nodes would erase any

}  // namespace tilewright::passes
