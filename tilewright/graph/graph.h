// Graph: SSA over tensors with symbolic dims. Nodes are kept in an order in which producers stand before consumers.
// A region is a Graph owned by a node: its inputs are the carried or passed values, and its nodes may also read values
// of the graphs around it, through `captures` (region value <- outer value), so that a region is a Graph like any
// other. Mutation of caller memory is an Assign node. Build through Builder (builder.h); rewrite in passes/. Not
// thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewright/base/result.h"
#include "tilewright/graph/op.h"
#include "tilewright/tensor/facts.h"

namespace tilewright {

using Shape = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string to_string(const TensorType& type);  // "f32[B, 64]"
inline std::string format_as(const TensorType& type) {
  return to_string(type);
}

using ValueId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

enum class InputRole : std::uint8_t {
  kData,    // differs from call to call
  kWeight,  // bound late, usually the same from call to call: may be packed and cached by version
};

class Graph;

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attrs attrs;
  std::vector<std::unique_ptr<Graph>> regions;
  bool dead = false;  // erased; skipped by every reader, dropped by Graph::compact()
};

struct Value {
  TensorType type;
  std::string name;           // unique in its graph, never empty
  NodeId producer = kNoNode;  // kNoNode: an input or a capture
};

class Graph {
 public:
  struct Capture {
    ValueId inner;  // a value of this graph
    ValueId outer;  // a value of the graph that owns this region
  };

  // Inputs, outputs, captures. Integer and float scalars from the caller are symbols, listed in scalar_inputs.
  ValueId add_input(TensorType type, std::string_view name, InputRole role = InputRole::kData);
  void add_scalar_input(Dim symbol) { scalar_inputs_.push_back(symbol); }
  const std::string& rename(ValueId value, std::string_view wanted);  // the name it got: `wanted`, made unique
  ValueId add_capture(ValueId outer, TensorType type, std::string_view name);
  void set_outputs(std::vector<ValueId> outputs, std::vector<std::string> names = {});

  // Appends a node with result types already inferred. Builder::op infers them.
  NodeId add_node(Op op, std::vector<ValueId> inputs, Attrs attrs, std::vector<TensorType> results,
                  std::vector<std::unique_ptr<Graph>> regions = {}, std::string_view name = "");
  // The same, placed before `before` in the order (kNoNode: at the end).
  NodeId insert_node(NodeId before, Op op, std::vector<ValueId> inputs, Attrs attrs, std::vector<TensorType> results,
                     std::vector<std::unique_ptr<Graph>> regions = {}, std::string_view name = "");
  void replace_uses(ValueId old_value, ValueId new_value);  // in nodes, outputs and captures of regions
  void erase(NodeId node);                                  // its results have no uses
  void reorder(std::vector<NodeId> order);                  // a permutation of nodes() that keeps producers first
  bool compact();                                           // drops dead nodes from order(); ids stay; true if any

  const std::vector<ValueId>& inputs() const { return inputs_; }
  InputRole role(std::size_t input) const { return roles_[input]; }
  const std::vector<Dim>& scalar_inputs() const { return scalar_inputs_; }
  const std::vector<Capture>& captures() const { return captures_; }
  std::vector<Capture>& captures() { return captures_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  const std::vector<NodeId>& order() const { return order_; }  // live nodes, producers first
  const Node& node(NodeId id) const { return nodes_[id]; }
  Node& node(NodeId id) { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  const TensorType& type(ValueId id) const { return values_[id].type; }
  std::size_t num_values() const { return values_.size(); }
  std::size_t num_nodes() const { return nodes_.size(); }
  std::vector<std::vector<NodeId>> users() const;  // per value: nodes that read it, also through captures; no outputs

  Facts facts;       // of the symbols in this graph
  std::string name;  // for messages

  std::unique_ptr<Graph> clone() const;

 private:
  ValueId add_value(TensorType type, std::string_view name, NodeId producer);
  std::string unique_name(std::string_view wanted);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<InputRole> roles_;
  std::vector<Dim> scalar_inputs_;
  std::vector<Capture> captures_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> output_names_;
  std::unordered_map<std::string, int> names_;
};

// Checks everything a pass or a reader of a file could get wrong: arity, attributes, dominance, inferred types, names,
// captures, regions. The error names the node.
Status verify(const Graph& graph);

// Text form. parse(print(g)) is g again, up to value ids.
std::string print(const Graph& graph);
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text);
// The same with the elements of long constants outside of the text, where "@2" stands for the elements of tensors[2].
std::string print(const Graph& graph, std::vector<Tensor>& tensors);
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, std::span<const Tensor> tensors);

}  // namespace tilewright
