// TreeEnsemble: all rows walk all trees side by side, one level at a time. A place is the number of a node, or behind
// the nodes that of a leaf, where a walk stays.
#include <algorithm>
#include <cmath>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

enum Mode { kLe, kLt, kGe, kGt, kEq, kNe, kMember, kModes };
enum Aggregate { kAverage, kSum, kMin, kMax };

struct Trees {
  Ints features, modes, yes, no, roots;  // by node; yes and no are places
  Tensor splits, weights;
  Ints targets;
  std::vector<std::vector<double>> members;  // of nodes of mode kMember
  std::int64_t nodes = 0, depth = 0;
};

// How many nodes a walk from here passes at most; -1 where it comes back to a node.
std::int64_t depth_of(const Trees& t, std::int64_t place, std::vector<std::int64_t>& known) {
  constexpr std::int64_t kBeingWalked = -2;
  std::vector<std::int64_t> stack{place};
  while (!stack.empty()) {
    const std::int64_t at = stack.back();
    if (at >= t.nodes || known[static_cast<std::size_t>(at)] >= 0) {
      stack.pop_back();
      continue;
    }
    std::int64_t& depth = known[static_cast<std::size_t>(at)];
    std::int64_t below = 0;
    bool ready = true;
    for (const Ints* next : {&t.yes, &t.no}) {
      const std::int64_t child = (*next)[static_cast<std::size_t>(at)];
      if (child >= t.nodes) continue;
      const std::int64_t found = known[static_cast<std::size_t>(child)];
      if (found == kBeingWalked) return -1;
      if (found < 0) {
        ready = false;
        stack.push_back(child);
      } else {
        below = std::max(below, found);
      }
    }
    depth = ready ? below + 1 : kBeingWalked;
    if (ready) stack.pop_back();
  }
  return place < t.nodes ? known[static_cast<std::size_t>(place)] : 0;
}

Status read_members(const OnnxNode& n, Trees& t) {
  std::vector<double> given;
  if (n.has_attribute("membership_values")) {
    TW_ASSIGN(const Tensor values, n.tensor("membership_values"));
    for (const Dim value : read_elements(values).elements) given.push_back(value.real_constant().value_or(NAN));
  }
  t.members.resize(static_cast<std::size_t>(t.nodes));
  std::size_t next = 0;
  for (std::size_t node = 0; node < t.members.size(); ++node) {
    if (t.modes[node] != kMember) continue;
    while (next < given.size() && !std::isnan(given[next])) t.members[node].push_back(given[next++]);
    if (next++ >= given.size()) return fail(ErrorKind::kInvalidArgument, "too few membership_values");
  }
  return {};
}

Result<Trees> read_trees(const OnnxNode& n) {
  Trees t;
  const auto list = [&](std::string_view name) { return n.integers_of(name).value_or(Ints()); };
  t.features = list("nodes_featureids");
  t.nodes = std::ssize(t.features);
  t.yes = list("nodes_truenodeids");
  t.no = list("nodes_falsenodeids");
  t.roots = list("tree_roots");
  t.targets = list("leaf_targetids");
  TW_ASSIGN(t.splits, n.tensor("nodes_splits"));
  TW_ASSIGN(t.weights, n.tensor("leaf_weights"));
  TW_ASSIGN(const Tensor modes, n.tensor("nodes_modes"));
  for (const Dim mode : read_elements(modes).elements) t.modes.push_back(mode.constant().value_or(-1));
  const Ints yes_leaf = list("nodes_trueleafs"), no_leaf = list("nodes_falseleafs");
  const auto leaves = std::ssize(t.targets);
  const Ints* columns[] = {&t.yes, &t.no, &yes_leaf, &no_leaf, &t.modes};
  for (const Ints* column : columns) {
    if (std::ssize(*column) != t.nodes) return fail(ErrorKind::kInvalidArgument, "the lists of nodes differ in length");
  }
  if (t.splits.count() != t.nodes || t.weights.count() != leaves || t.roots.empty()) {
    return fail(ErrorKind::kInvalidArgument, "{} nodes, {} splits, {} leaves, {} weights, {} roots", t.nodes,
                t.splits.count(), leaves, t.weights.count(), t.roots.size());
  }
  for (std::size_t i = 0; i < t.features.size(); ++i) {
    const std::pair<Ints*, std::int64_t> ways[] = {{&t.yes, yes_leaf[i]}, {&t.no, no_leaf[i]}};
    for (const auto& [places, is_leaf] : ways) {
      std::int64_t& place = (*places)[i];
      if (place < 0 || place >= (is_leaf != 0 ? leaves : t.nodes) || t.modes[i] < 0 || t.modes[i] >= kModes) {
        return fail(ErrorKind::kInvalidArgument, "node {} leads to {} or has mode {}", i, place, t.modes[i]);
      }
      if (is_leaf != 0) place += t.nodes;
    }
  }
  std::vector<std::int64_t> known(t.features.size(), -1);
  for (const std::int64_t root : t.roots) {
    const std::int64_t depth = root < 0 || root >= t.nodes ? -1 : depth_of(t, root, known);
    if (depth < 0) return fail(ErrorKind::kInvalidArgument, "the tree at root {} is none", root);
    t.depth = std::max(t.depth, depth);
  }
  TW_TRY(read_members(n, t));
  return t;
}

Maybe constant_row(OnnxNode& n, const Ints& values) {
  return n.constant_tensor(Tensor::from<std::int64_t>({std::ssize(values)}, std::span<const std::int64_t>(values)));
}

Maybe rows_at(OnnxNode& n, const Maybe& table, const Maybe& place) {
  return n.op(Op::kGather, {table, place}, {{"axis", std::int64_t{0}}});
}

// Whether a feature is among the members of the node that it is compared at.
Maybe is_member(OnnxNode& n, const Trees& t, const Maybe& feature, const Maybe& place) {
  std::size_t most = 1;
  for (const auto& members : t.members) most = std::max(most, members.size());
  std::vector<double> padded;
  for (const auto& members : t.members) {
    padded.insert(padded.end(), members.begin(), members.end());
    padded.resize(padded.size() + most - members.size(), NAN);
  }
  const Tensor table =
      Tensor::from<double>({t.nodes, static_cast<std::int64_t>(most)}, std::span<const double>(padded));
  TW_ASSIGN(const ValueId value, Maybe(feature));
  const DType dtype = n.type_of(value).dtype;
  const Maybe members = rows_at(n, n.cast(n.constant_tensor(table), dtype), place);
  return n.reduce(Op::kReduceAny, n.op(Op::kEq, {n.unsqueeze(feature, {2}), members}), {2}, false);
}

// bool[rows, trees]: whether a walk takes the way of "yes" at its node.
Maybe decided(OnnxNode& n, const Trees& t, const Maybe& feature, const Maybe& split, const Maybe& place) {
  static constexpr Op kCompare[] = {Op::kLe, Op::kLt, Op::kGe, Op::kGt, Op::kEq, Op::kNe};
  const Maybe mode = rows_at(n, constant_row(n, t.modes), place);
  Maybe out = n.op(kCompare[kLe], {feature, split});
  for (std::int64_t i = kLt; i < kModes; ++i) {
    if (std::ranges::find(t.modes, i) == t.modes.end()) continue;
    const Maybe hit = i == kMember ? is_member(n, t, feature, place) : n.op(kCompare[i], {feature, split});
    out = n.op(Op::kSelect, {n.op(Op::kEq, {mode, n.number(DType::kI64, Dim(i))}), hit, out});
  }
  const auto tracks = n.integers_of("nodes_missing_value_tracks_true");
  if (!tracks || std::ssize(*tracks) != t.nodes) return out;
  const Maybe taken = n.op(Op::kNe, {rows_at(n, constant_row(n, *tracks), place), n.number(DType::kI64, Dim(0))});
  return n.op(Op::kBitOr, {out, n.op(Op::kBitAnd, {taken, n.op(Op::kIsNan, {feature})})});
}

// [rows, trees] of places -> [rows, targets]
Maybe summed(OnnxNode& n, const Trees& t, const Maybe& leaf, DType dtype) {
  const std::int64_t how = n.integer("aggregate_function", kSum);
  const Maybe weight = n.unsqueeze(rows_at(n, n.cast(n.constant_tensor(t.weights), dtype), leaf), {2});
  const Maybe target = n.unsqueeze(rows_at(n, constant_row(n, t.targets), leaf), {2});
  const Maybe column = n.op(Op::kIota, {},
                            {{"dtype", DType::kI64},
                             {"shape", Shape{Dim(1), Dim(1), Dim(n.integer("n_targets", 1))}},
                             {"axis", std::int64_t{2}}});
  const Maybe hit = n.op(Op::kEq, {target, column});
  const double none = how == kMin ? HUGE_VAL : how == kMax ? -HUGE_VAL : 0.0;
  const Maybe each = n.op(Op::kSelect, {hit, weight, n.number_like(weight, none)});
  const Op reduction = how == kMin ? Op::kReduceMin : how == kMax ? Op::kReduceMax : Op::kReduceSum;
  const Maybe total = n.reduce(reduction, each, {1}, false);
  if (how == kAverage) return n.op(Op::kDiv, {total, n.number_like(total, static_cast<double>(t.roots.size()))});
  if (how == kSum) return total;
  return n.op(Op::kSelect, {n.reduce(Op::kReduceAny, hit, {1}, false), total, n.number_like(total, 0.0)});
}

}  // namespace

Maybe import_tree_ensemble(OnnxNode& n) {
  TW_ASSIGN(const Trees t, read_trees(n));
  TW_ASSIGN(const TensorType x, n.type(0));
  const std::int64_t transform = n.integer("post_transform", 0);
  if (x.shape.size() != 2 || !is_float(x.dtype))
    return fail(ErrorKind::kShapeMismatch, "x must be floats [N, F]: {}", x);
  if (transform > 2) return fail(ErrorKind::kUnsupported, "post_transform {}", transform);
  const DType dtype = t.splits.dtype();
  const Maybe data = n.cast(n.input(0), dtype);
  const auto trees = std::ssize(t.roots);
  Maybe place = n.expand(n.reshape(constant_row(n, t.roots), {Dim(1), Dim(trees)}), {x.shape[0], Dim(trees)});
  const Maybe last = n.number(DType::kI64, Dim(t.nodes - 1));
  for (std::int64_t level = 0; level < t.depth; ++level) {
    const Maybe node = n.op(Op::kMin, {place, last});  // of a leaf, any
    const Maybe column = rows_at(n, constant_row(n, t.features), node);
    const Maybe feature = n.op(Op::kGatherElements, {data, column}, {{"axis", std::int64_t{1}}});
    const Maybe split = rows_at(n, n.constant_tensor(t.splits), node);
    const Maybe next = n.op(Op::kSelect, {decided(n, t, feature, split, node), rows_at(n, constant_row(n, t.yes), node),
                                          rows_at(n, constant_row(n, t.no), node)});
    place = n.op(Op::kSelect, {n.op(Op::kGt, {place, last}), place, next});
  }
  const Maybe leaf = n.op(Op::kSub, {place, n.number(DType::kI64, Dim(t.nodes))});
  const Maybe y = summed(n, t, leaf, dtype);
  if (transform == 1) return n.op(Op::kSoftmax, {y}, {{"axis", std::int64_t{1}}});
  return transform == 2 ? n.op(Op::kSigmoid, {y}) : y;
}

}  // namespace tilewright::onnx
