// Scaled dot-product attention that an exporter wrote as two products with a softmax between them:
//   matmul(softmax(matmul(q, k^T) * scale + mask), v)  ->  attention(q, k, v, mask)
// so that the scores never leave the cache. Factors may stand on q, on k or on the scores; scores may be viewed as
// [B, H, S, T] for the mask between products of rank 3; keys and values may be repeated for groups of heads. Numbers
// that hide a key are added as they are, so the mask keeps its meaning whatever it hides. A row of -inf alone is nan,
// as its softmax is, unless the graph puts 0 there. Only f32, and only where nobody else reads the scores.
#include <algorithm>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/recognise.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

constexpr double kHides = -1e30;  // a score plus this or less is this, up to rounding

// A term added to scores: a value, or a number where a condition does not hold (or, inverted, where it does).
struct Mask {
  std::optional<ValueId> value;
  ValueId condition = 0;
  double hides = 0;
  bool inverted = false;
  std::size_t rank = 0;  // of the scores it was added to
};

struct Attention {
  ValueId q = 0, k_transposed = 0;
  double scale = 1;
  bool scaled = false;
  std::vector<Mask> masks;
  Shape scores;  // as the masks see them, of rank 3 or 4
  bool empty_is_nan = true;
};

// Finds the parts, and changes nothing.
class Match {
 public:
  explicit Match(const Around& around) : around_(around) {}
  std::optional<Attention> run(const Node& product) {
    return weights(product.inputs[0]) ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  bool weights(ValueId value);
  bool scores(ValueId value);
  bool added(ValueId value, const Node& add);
  bool hidden(ValueId value, const Node& select);
  ValueId without_factor(ValueId value);
  std::optional<ValueId> guarded(const Node& select) const;
  bool same(ValueId a, ValueId b) const { return same_shape(around_.shape(a), around_.shape(b), around_.graph.facts); }

  const Facts& facts() const { return around_.graph.facts; }

  const Around& around_;
  Attention found_;
};

// p, of select(p is nan, 0, p): rows that attend to nothing are 0.
std::optional<ValueId> Match::guarded(const Node& select) const {
  const ValueId inner = select.inputs[2];
  const Node* is_nan = around_.made(select.inputs[0], Op::kIsNan);
  const auto instead = known_number(around_.graph, select.inputs[1]);
  if (is_nan == nullptr || is_nan->inputs[0] != inner || instead != 0.0) return std::nullopt;
  return around_.uses(inner) == 2 ? std::optional(inner) : std::nullopt;
}

bool Match::weights(ValueId value) {
  if (around_.uses(value) != 1) return false;
  if (const Node* view = around_.made(value, Op::kReshape)) {
    value = view->inputs[0];
    if (around_.uses(value) != 1) return false;
  }
  if (const Node* select = around_.made(value, Op::kSelect)) {
    const auto inner = guarded(*select);
    if (!inner) return false;
    found_.empty_is_nan = false;
    value = *inner;
  }
  const Node* softmax = around_.made(value, Op::kSoftmax);
  if (softmax == nullptr) return false;
  found_.scores = around_.shape(value);
  const std::size_t rank = found_.scores.size();
  if ((rank != 3 && rank != 4) || softmax->attrs.integer("axis") != static_cast<std::int64_t>(rank) - 1) return false;
  return scores(softmax->inputs[0]);
}

bool Match::scores(ValueId value) {
  if (around_.uses(value) != 1) return false;
  if (const Node* product = around_.made(value, Op::kMatMul)) {
    found_.q = without_factor(product->inputs[0]);
    found_.k_transposed = without_factor(product->inputs[1]);
    return true;
  }
  // Terms that are added before the scale would have to be scaled.
  if (const Node* add = around_.made(value, Op::kAdd)) return !found_.scaled && added(value, *add);
  if (const Node* select = around_.made(value, Op::kSelect)) return !found_.scaled && hidden(value, *select);
  if (const Node* view = around_.made(value, Op::kReshape)) {
    const Shape& from = around_.shape(view->inputs[0]);
    const Shape& to = around_.shape(value);
    if (from.size() + to.size() != 7 || !same_shape({from.end() - 2, from.end()}, {to.end() - 2, to.end()}, facts()))
      return false;
    if (to.size() == 4) found_.scores = to;
    return scores(view->inputs[0]);
  }
  const ValueId bare = without_factor(value);
  return bare != value && scores(bare);
}

bool Match::added(ValueId value, const Node& add) {
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId score = add.inputs[i];
    if (!same(score, value)) continue;
    const Attention before = found_;
    found_.masks.push_back({.value = add.inputs[1 - i], .rank = around_.shape(value).size()});
    if (scores(score)) return true;
    found_ = before;
  }
  return false;
}

bool Match::hidden(ValueId value, const Node& select) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const auto hides = known_number(around_.graph, select.inputs[3 - i]);
    const ValueId score = select.inputs[i];
    if (!hides || *hides > kHides || !same(score, value)) continue;
    found_.masks.push_back({{}, select.inputs[0], *hides, i == 2, around_.shape(value).size()});
    return scores(score);
  }
  return false;
}

// The value without a number that multiplies or divides it, which goes into the scale.
ValueId Match::without_factor(ValueId value) {
  for (const Op op : {Op::kMul, Op::kDiv}) {
    const Node* node = around_.made(value, op);
    for (std::size_t i = 0; node != nullptr && i < (op == Op::kMul ? 2u : 1u); ++i) {
      const auto factor = known_number(around_.graph, node->inputs[1 - i]);
      if (!factor || !same(node->inputs[i], value) || (op == Op::kDiv && *factor == 0)) continue;
      found_.scale *= op == Op::kMul ? *factor : 1 / *factor;
      found_.scaled = true;
      return node->inputs[i];
    }
  }
  return value;
}

// Puts an attention in the place of what was found.
class Build {
 public:
  Build(Builder& builder, const Around& around, const Attention& found)
      : builder_(builder), around_(around), found_(found) {}
  std::optional<ValueId> run(ValueId v, const Shape& result);

 private:
  ValueId keys();
  ValueId unrepeated(ValueId value) const;
  std::optional<ValueId> by_head(ValueId value);
  std::optional<ValueId> mask();
  ValueId reshape(ValueId value, Shape shape) {
    return builder_.must(Op::kReshape, {value}, {{"shape", std::move(shape)}});
  }
  ValueId number(double value) {
    return builder_.must(Op::kScalar, std::vector<ValueId>{}, {{"dtype", DType::kF32}, {"value", Dim::real(value)}});
  }
  const Facts& facts() const { return around_.graph.facts; }
  bool same(const Shape& a, const Shape& b) const { return same_shape(a, b, facts()); }
  const Node* made(ValueId value, Op op) const { return around_.made(value, op); }
  Shape shape(ValueId value) const { return around_.shape(value); }

  Builder& builder_;
  const Around& around_;
  const Attention& found_;
  Shape heads_;  // batch and heads
};

// k from its transpose. Exporters turn the last two axes at once, or between two reshapes that join and part the
// others.
ValueId Build::keys() {
  const ValueId turned = found_.k_transposed;
  const std::size_t rank = shape(turned).size();
  if (const Node* transpose = made(turned, Op::kTranspose)) {
    Ints perm = transpose->attrs.ints("perm");
    std::swap(perm[rank - 1], perm[rank - 2]);
    if (std::is_sorted(perm.begin(), perm.end())) return transpose->inputs[0];
    return builder_.must(Op::kTranspose, {transpose->inputs[0]}, {{"perm", perm}});
  }
  Shape wanted = shape(turned);
  std::swap(wanted[rank - 1], wanted[rank - 2]);
  const Node* parted = made(turned, Op::kReshape);
  const Node* transpose = parted == nullptr ? nullptr : made(parted->inputs[0], Op::kTranspose);
  if (transpose != nullptr && transpose->attrs.ints("perm") == Ints{0, 2, 1}) {
    const Shape joined = shape(transpose->inputs[0]);
    if (same({joined.end() - 2, joined.end()}, {wanted.end() - 2, wanted.end()})) {
      const Node* join = made(transpose->inputs[0], Op::kReshape);
      if (join != nullptr && same(shape(join->inputs[0]), wanted)) return join->inputs[0];
      return reshape(transpose->inputs[0], wanted);
    }
  }
  Ints perm;
  for (std::size_t axis = 0; axis < rank; ++axis) perm.push_back(static_cast<std::int64_t>(axis));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return builder_.must(Op::kTranspose, {turned}, {{"perm", perm}});
}

// x[B, G, T, D] of the value [B, H, T, D] that repeats it for groups of heads; else the value.
ValueId Build::unrepeated(ValueId value) const {
  const Node* joined = made(value, Op::kReshape);
  const Node* expand = joined == nullptr ? nullptr : made(joined->inputs[0], Op::kExpand);
  const Node* parted = expand == nullptr ? nullptr : made(expand->inputs[0], Op::kReshape);
  if (parted == nullptr) return value;
  const Shape x = shape(parted->inputs[0]), repeated = shape(joined->inputs[0]), whole = shape(value);
  if (x.size() != 4 || repeated.size() != 5 || !x[1].constant() || *x[1].constant() < 1) return value;
  const bool repeats = same(shape(expand->inputs[0]), {x[0], x[1], Dim(1), x[2], x[3]}) &&
                       same(repeated, {x[0], x[1], repeated[2], x[2], x[3]}) &&
                       same(whole, {x[0], x[1] * repeated[2], x[2], x[3]});
  return repeats ? parted->inputs[0] : value;
}

// The value with batch and heads as its first two axes.
std::optional<ValueId> Build::by_head(ValueId value) {
  const Shape own = shape(value);
  if (own.size() == 4) return same({own[0], own[1]}, heads_) ? std::optional(value) : std::nullopt;
  if (own.size() != 3 || !same({own[0]}, {heads_[0] * heads_[1]})) return std::nullopt;
  const Shape wanted{heads_[0], heads_[1], own[1], own[2]};
  const Node* join = made(value, Op::kReshape);
  if (join != nullptr && same(shape(join->inputs[0]), wanted)) return join->inputs[0];
  return reshape(value, wanted);
}

std::optional<ValueId> Build::mask() {
  std::optional<ValueId> sum;
  for (const Mask& term : found_.masks) {
    ValueId value = 0;
    if (term.value) {
      value = *term.value;
    } else {
      const ValueId zero = number(0), hides = number(term.hides);
      value = builder_.must(Op::kSelect, {term.condition, term.inverted ? hides : zero, term.inverted ? zero : hides});
    }
    sum = sum ? builder_.must(Op::kAdd, {*sum, value}) : value;
  }
  if (!sum || found_.scores.size() == 4 || shape(*sum).size() < 3) return sum;
  const Shape own = shape(*sum);  // of rank 3, where all is one head
  return reshape(*sum, {own[0], Dim(1), own[1], own[2]});
}

std::optional<ValueId> Build::run(ValueId v, const Shape& result) {
  const Shape& scores = found_.scores;
  heads_ = scores.size() == 4 ? Shape{scores[0], scores[1]} : Shape{scores[0], Dim(1)};
  for (const Mask& term : found_.masks) {
    if (term.rank != scores.size()) return std::nullopt;
    if (shape(term.value ? *term.value : term.condition).size() > scores.size()) return std::nullopt;
  }
  if (shape(found_.k_transposed).size() < 3) return std::nullopt;
  const auto q = by_head(found_.q), k = by_head(keys()), values = by_head(v);
  if (!q || !k || !values) return std::nullopt;
  std::vector<ValueId> inputs{*q, unrepeated(*k), unrepeated(*values)};
  if (!same({shape(inputs[1])[1]}, {shape(inputs[2])[1]})) inputs = {*q, *k, *values};
  if (const auto added = mask()) inputs.push_back(*added);
  const ValueId out = builder_.must(Op::kAttention, std::move(inputs),
                                    {{"scale", Dim::real(found_.scale)}, {"empty_is_nan", found_.empty_is_nan}});
  return result.size() == 4 ? out : reshape(out, result);
}

}  // namespace

bool recognise_attention(Graph& graph) {
  const std::vector<std::uint32_t> uses = count_uses(graph);
  const Around around(graph, uses);
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    const Node& node = graph.node(id);
    if (node.op != Op::kMatMul || graph.type(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
    const Shape result = graph.type(node.outputs[0]).shape;
    if (result.size() != 3 && result.size() != 4) return std::nullopt;
    const ValueId v = node.inputs[1];
    const auto found = Match(around).run(node);
    return found ? Build(builder, around, *found).run(v, result) : std::nullopt;
  });
}

}  // namespace tilewright::passes
