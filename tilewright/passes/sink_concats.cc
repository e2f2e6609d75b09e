// Elementwise operations over joined pieces become operations on each piece, joined behind them: no pass joins what the
// next one reads, and the pieces are computed where they belong (runtime/concat_parts.h). So what
// reads long halves that were joined is two areas that write the halves of the result.
//   mul(concat(a, b), y)  ->  concat(mul(a, y[..n]), mul(b, y[n..]))
// Operands that are computed for this alone are computed in pieces too.
#include <algorithm>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

constexpr std::size_t kMaxPieces = 4;
constexpr int kMaxDepth = 6;  // operations of an operand that are computed in pieces
constexpr std::int64_t kShortestPiece =
    16;  // along the last axis, where shorter ones would be written element by element

class SinkConcats {
 public:
  explicit SinkConcats(Graph& graph) : graph_(graph), uses_(graph.num_values(), 0) {
    for (NodeId id : graph.order()) {
      for (ValueId input : graph.node(id).inputs) ++uses_[input];
      for (const auto& region : graph.node(id).regions) {
        for (const Graph::Capture& capture : region->captures()) ++uses_[capture.outer];
      }
    }
    for (ValueId output : graph.outputs()) ++uses_[output];
  }

  std::optional<ValueId> rewrite(Builder& builder, NodeId id) {
    const Node& node = graph_.node(id);
    if (!is_map(node.op)) return std::nullopt;
    const Shape& result = graph_.type(node.outputs[0]).shape;
    for (const ValueId input : node.inputs) {
      const Node* concat = made_by(graph_, input, Op::kConcat);
      if (concat == nullptr || !has_one_reader(input) || !has_long_pieces(*concat)) continue;
      if (!same_shape(graph_.type(input).shape, result, graph_.facts)) continue;
      return sunk(builder, id, input);
    }
    return std::nullopt;
  }

 private:
  struct Piece {
    std::size_t number, from_last;  // from_last: the axis, counted from the last
    Dim whole, start, stop;
  };

  static bool is_map(Op op) { return is_elementwise(op) || op == Op::kGelu || op == Op::kSilu; }
  // Values that this pass made have one.
  bool has_one_reader(ValueId value) const { return value >= uses_.size() || uses_[value] == 1; }

  bool has_long_pieces(const Node& concat) const {
    if (concat.inputs.size() < 2 || concat.inputs.size() > kMaxPieces) return false;
    const auto axis = static_cast<std::size_t>(concat.attrs.integer("axis"));
    if (axis + 1 < graph_.type(concat.outputs[0]).shape.size()) return true;
    return std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId piece) {
      return graph_.type(piece).shape[axis].constant().value_or(0) >= kShortestPiece;
    });
  }

  std::optional<ValueId> sunk(Builder& builder, NodeId id, ValueId joined) {
    const std::vector<ValueId> pieces = made_by(graph_, joined, Op::kConcat)->inputs;
    const std::int64_t axis = made_by(graph_, joined, Op::kConcat)->attrs.integer("axis");
    const Shape shape = graph_.type(joined).shape;
    Piece piece{0, shape.size() - 1 - static_cast<std::size_t>(axis), shape[static_cast<std::size_t>(axis)], 0, 0};
    std::vector<ValueId> parts;
    for (; piece.number < pieces.size(); ++piece.number) {
      piece.stop = piece.start + graph_.type(pieces[piece.number]).shape[static_cast<std::size_t>(axis)];
      const std::optional<ValueId> part = computed(builder, id, piece, kMaxDepth);
      if (!part) return std::nullopt;  // at the first piece, or never: what was made is dead
      parts.push_back(*part);
      piece.start = piece.stop;
    }
    return builder.must(Op::kConcat, std::move(parts), {{"axis", axis}});
  }

  // The piece of the result of an elementwise node.
  std::optional<ValueId> computed(Builder& builder, NodeId id, const Piece& piece, int depth) {
    const Op op = graph_.node(id).op;
    const Attrs attrs = graph_.node(id).attrs;
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (ValueId& input : inputs) {
      const std::optional<ValueId> part = piece_of(builder, input, piece, depth);
      if (!part) return std::nullopt;
      input = *part;
    }
    return builder.must(op, std::move(inputs), attrs);
  }

  std::optional<ValueId> piece_of(Builder& builder, ValueId value, const Piece& piece, int depth) {
    const Shape shape = graph_.type(value).shape;
    if (shape.size() <= piece.from_last) return value;  // broadcasts
    const std::size_t axis = shape.size() - 1 - piece.from_last;
    if (graph_.facts.is_one(shape[axis]) == Answer::kYes) return value;
    if (graph_.facts.same(shape[axis], piece.whole) != Answer::kYes) return std::nullopt;
    const NodeId producer = graph_.value(value).producer;
    if (producer != kNoNode && has_one_reader(value)) {
      if (const auto own = own_piece(graph_.node(producer), axis, piece)) return own;
      if (depth > 0 && is_map(graph_.node(producer).op)) return computed(builder, producer, piece, depth - 1);
    }
    Dims start(shape.size(), Dim(0)), stop(shape);
    start[axis] = piece.start;
    stop[axis] = piece.stop;
    return builder.must(Op::kSlice, {value}, {{"start", start}, {"stop", stop}, {"step", Ints(shape.size(), 1)}});
  }

  // Of a concat whose pieces end where this one does.
  std::optional<ValueId> own_piece(const Node& node, std::size_t axis, const Piece& piece) const {
    if (node.op != Op::kConcat || node.attrs.integer("axis") != static_cast<std::int64_t>(axis)) return std::nullopt;
    if (piece.number >= node.inputs.size()) return std::nullopt;
    Dim start = 0;
    for (std::size_t i = 0; i < piece.number; ++i) start = start + graph_.type(node.inputs[i]).shape[axis];
    const Dim stop = start + graph_.type(node.inputs[piece.number]).shape[axis];
    const bool same =
        graph_.facts.same(start, piece.start) == Answer::kYes && graph_.facts.same(stop, piece.stop) == Answer::kYes;
    return same ? std::optional(node.inputs[piece.number]) : std::nullopt;
  }

  Graph& graph_;
  std::vector<std::uint32_t> uses_;  // by value, before the pass
};

}  // namespace

bool sink_concats(Graph& graph) {
  SinkConcats sink(graph);
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) { return sink.rewrite(builder, id); });
}

}  // namespace tilewright::passes
