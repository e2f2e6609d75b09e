// For tests of this and other layers: graphs as text. Include in *_test.cc only.
#pragma once

#include <gtest/gtest.h>

#include "tilewright/graph/builder.h"

namespace tilewright {

inline std::unique_ptr<Graph> parse_or_die(std::string_view text) {
  Result<std::unique_ptr<Graph>> graph = parse_graph(text);
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << "\nin\n" << text;
  TW_CHECK(graph.ok(), "the text of a test parses");
  return std::move(*graph);
}

// Renames values in the order of their definition, so that two graphs can be compared whatever passes call their
// values. Inputs keep their names; the names of outputs follow their values.
inline void rename_in_order(Graph& graph) {
  int next = 0;
  const auto rename_all = [&](std::string_view prefix) {
    next = 0;
    for (const Graph::Capture& capture : graph.captures())
      graph.rename(capture.inner, fmt::format("{}{}", prefix, next++));
    for (const NodeId id : graph.order()) {
      if (graph.node(id).dead) continue;
      for (const ValueId output : graph.node(id).outputs) graph.rename(output, fmt::format("{}{}", prefix, next++));
      for (const std::unique_ptr<Graph>& region : graph.node(id).regions) rename_in_order(*region);
    }
  };
  rename_all("t.");  // first out of the way of the final names
  rename_all("v.");
  std::vector<std::string> names;
  for (const ValueId output : graph.outputs()) names.push_back(graph.value(output).name);
  graph.set_outputs(graph.outputs(), std::move(names));
}

inline std::string canonical_text(const Graph& graph) {
  const std::unique_ptr<Graph> copy = graph.clone();
  copy->compact();
  rename_in_order(*copy);
  return print(*copy);
}

// `pass` (Graph& -> bool or void) turns `before` into `after`, up to the names of values, and leaves a valid graph.
template <typename Pass>
void expect_pass(Pass&& pass, std::string_view before, std::string_view after) {
  const std::unique_ptr<Graph> graph = parse_or_die(before);
  pass(*graph);
  const Status status = verify(*graph);
  EXPECT_TRUE(status.ok()) << status.error().message << "\n" << print(*graph);
  EXPECT_EQ(canonical_text(*graph), canonical_text(*parse_or_die(after))) << "the pass gave:\n" << print(*graph);
}

// The types of the results: "f32[B, 64], i64[B]".
inline std::string result_types(std::string_view text) {
  const std::unique_ptr<Graph> graph = parse_or_die(text);
  std::string out;
  for (const ValueId output : graph->outputs()) out += (out.empty() ? "" : ", ") + to_string(graph->type(output));
  return out;
}

// Parsing (with inference and verification) fails with this message, "line N: " left out.
inline void expect_error(std::string_view text, std::string_view message) {
  const Result<std::unique_ptr<Graph>> graph = parse_graph(text);
  ASSERT_FALSE(graph.ok()) << "no error; the graph is:\n" << print(**graph);
  std::string_view found = graph.error().message;
  if (found.starts_with("line ")) found.remove_prefix(found.find(": ") + 2);
  EXPECT_EQ(found, message);
}

}  // namespace tilewright
