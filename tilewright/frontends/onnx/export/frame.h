// Frame: a graph while it is written. It knows which tensor of the ONNX model each value is, and where each symbol of a
// size comes from: an axis of an input, a scalar input, the result of a node. Sizes become ONNX nodes only where one is
// asked for, once, in the outermost graph that knows all symbols of the expression.
#pragma once

#include "tilewright/frontends/onnx/export/model_writer.h"

namespace tilewright::onnx {

class Frame {
 public:
  Frame(const Graph& graph, GraphWriter& target, Frame* outer)
      : graph_(graph), target_(target), outer_(outer), values_(graph.num_values()) {}
  Frame(const Frame&) = delete;

  const Graph& graph() const { return graph_; }
  GraphWriter& target() { return target_; }
  ModelWriter& model() { return target_.model(); }
  Frame* outer() { return outer_; }

  Out value(ValueId id) const { return values_[id]; }
  void set(ValueId id, Out out) { values_[id] = out; }
  // Just this name, which is reserved, for a value that a node makes: a result of the model.
  void want(ValueId id, std::string_view name) { wanted_.try_emplace(id, name); }
  std::optional<std::string_view> wanted(ValueId id) const {
    const auto found = wanted_.find(id);
    return found == wanted_.end() ? std::nullopt : std::optional(found->second);
  }

  // A symbol is the size of an axis, or the only element of a tensor; the first source counts.
  void bind_size(Dim symbol, Out tensor, std::size_t axis);
  void bind_element(Dim symbol, Out tensor);
  void bind_number(Dim symbol, std::int64_t value);
  // The sizes of an input: symbols, and expressions in which one symbol is new and linear.
  void bind_shape(const Shape& shape, Out tensor);
  bool binds(Dim symbol) const { return sources_.contains(symbol); }

  Out size(Dim dim);                                 // i64[1], or f64[1] of a float expression
  Out sizes(std::span<const Dim> dims);              // i64[n]
  Out scalar(Dim dim, DType dtype);                  // rank 0
  std::optional<std::int64_t> known(Dim dim) const;  // a number, or a symbol of a weight's size

 private:
  struct Source {
    enum class Kind : std::uint8_t { kSize, kElement, kNumber, kSolved };
    Kind kind;
    Out tensor;
    std::size_t axis = 0;
    std::int64_t number = 0;  // kNumber: the value; kSolved: the factor of the symbol
    Dim rest = Dim(0);        // kSolved: (size of the axis - rest) / factor
  };
  struct Place {
    Frame* frame;
    const Source* source;
  };

  Frame& home_of(Dim dim);
  Place find(Dim symbol);
  Out write(Dim dim);  // into this frame, whose symbols are known
  Out write_symbol(Dim symbol);
  Out write_node(Dim dim);
  Out sum(Dim dim);
  Out chain(std::string_view op_type, Dim dim);
  Out quotient(Dim dim);
  Out compare(Dim dim);
  Out logic(Dim dim);
  Out operand(Dim dim, bool as_float);
  Out shape_part(Out tensor, std::size_t from, std::size_t to);
  Out add(std::string_view op_type, std::initializer_list<Out> inputs, DType dtype, const Attributes& attributes = {});
  Out cast(Out value, DType dtype);

  const Graph& graph_;
  GraphWriter& target_;
  Frame* outer_;
  std::vector<Out> values_;
  std::unordered_map<ValueId, std::string_view> wanted_;
  std::unordered_map<Dim, Source> sources_;
  std::unordered_map<Dim, Out> written_;
  std::map<std::tuple<std::string_view, std::size_t, std::size_t>, Out> shape_parts_;
};

}  // namespace tilewright::onnx
