// Where nodes go and what names mean while a model is imported. A GraphScope is one Graph under construction: the whole
// model or a region of it; values of the graphs around it come in through captures, constants as nodes or as weights of
// the outermost graph. A NameScope is the names of one GraphProto or function call; a subgraph sees the names around
// it, a function does not.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "messages.h"
#include "tilewright/frontends/onnx/value.h"
#include "tilewright/graph/builder.h"

namespace tilewright::onnx {

// Whether a constant of the model is a weight of the graph, and no constant in it.
bool is_weight(const Tensor& constant);

class GraphScope {
 public:
  GraphScope(Graph& graph, GraphScope* outer) : builder_(graph), outer_(outer) {}
  GraphScope(const GraphScope&) = delete;

  Graph& graph() { return builder_.graph(); }
  Builder& builder() { return builder_; }
  // The value as a tensor of this graph.
  Result<ValueId> local(const ValueRef& value);
  // The element type of a value that its dtype only carries.
  Carried carried(ValueId value) const {
    const auto found = carried_.find(value);
    return found == carried_.end() ? Carried::kNone : found->second;
  }
  bool has_carried() const { return !carried_.empty(); }
  void set_carried(ValueId value, Carried carried) {
    if (carried != Carried::kNone) carried_[value] = carried;
  }
  const GraphScope* outer() const { return outer_; }
  // Of the body of a loop: the number of the trip, i64.
  const ValueRef& trip() const { return trip_; }
  void set_trip(ValueRef trip) { trip_ = std::move(trip); }
  // Values of the weight inputs that constants became; of the outermost graph.
  std::map<std::string, Tensor>& weights() { return outer_ == nullptr ? weights_ : outer_->weights(); }

 private:
  Result<ValueId> place(const ValueRef& value);
  Result<ValueId> place_constant(const ValueRef& value);
  Result<ValueId> place_numbers(const HostTensor& host);
  Result<ValueId> one(Op op, std::vector<ValueId> inputs, Attrs attrs);

  Builder builder_;
  GraphScope* outer_;
  std::unordered_map<ValueRef, ValueId> locals_;
  std::unordered_map<ValueId, Carried> carried_;
  std::map<std::string, Tensor> weights_;
  ValueRef trip_;
};

struct NameScope {
  std::unordered_map<std::string_view, ValueRef> values;
  const NameScope* outer = nullptr;

  ValueRef find(std::string_view name) const;
};

using Opsets = std::map<std::string_view, std::int64_t>;  // by domain; "ai.onnx" counts as ""

// What a list of nodes is imported in.
struct Frame {
  // An attribute that a function was called with; graphs in it use the names of the caller.
  struct Bound {
    const schema::AttributeProto* proto;
    const Frame* frame;
  };
  GraphScope* graph;
  NameScope names;
  const Opsets* opsets;
  std::unordered_map<std::string_view, Bound> attributes;  // of a function call
  int depth = 0;                                           // of calls and subgraphs
};

}  // namespace tilewright::onnx
