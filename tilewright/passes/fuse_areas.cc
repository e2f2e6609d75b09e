// Area growing: walks the nodes in order, gives each fusable node an area and merges it with the areas of its
// producers, and with reductions over the same values, where the rules allow it and no cycle arises. Every area becomes
// one `fused` node. Where only undecided sizes kept areas apart, a second walk merges those that are one if the sizes
// agree: they are reported as speculative areas. Sizes may be symbols or numbers: with numbers all is decided.
#include <algorithm>

#include "tilewright/passes/fuse_rules.h"
#include "tilewright/passes/fused_region.h"
#include "tilewright/passes/late_symbols.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/users.h"

namespace tilewright::passes {
namespace {

// Streams, slots and strip programs stay small.
constexpr std::size_t kMaxAreaNodes = 96;
constexpr std::size_t kMaxOperations = 200;  // strip operations and literals, estimated
constexpr std::size_t kMaxStreams = 40;      // inputs, outputs, literals, values per row
constexpr std::size_t kMaxRowSteps = 6;      // each reads whole rows once more
constexpr std::size_t kMaxRecomputed = 4;
constexpr std::size_t kMaxAssumed = 8;  // pairs of sizes that a call compares

constexpr std::string_view kUndecided = "sizes must be equal, which only a call knows";
constexpr std::string_view kSpeculated = "one kernel in calls where the sizes are equal";

enum class Extent : std::uint8_t { kNothing, kDecided, kSpeculative };

class Fuser {
 public:
  Fuser(Graph& graph, Extent extent, FuseReport* report)
      : graph_(graph),
        extent_(extent),
        report_(report),
        users_(graph),
        area_of_(graph.num_nodes(), -1),
        position_(graph.num_nodes(), 0),
        seen_(graph.num_nodes(), 0),
        counted_(graph.num_values(), 0),
        is_output_(graph.num_values(), 0) {
    for (ValueId output : graph.outputs()) is_output_[output] = 1;
    find_late_readers();
    for (std::size_t i = 0; i < graph.order().size(); ++i) position_[graph.order()[i]] = i;
  }

  bool run() {
    shapes_.resize(graph_.num_nodes());
    for (NodeId id : graph_.order()) shapes_[id] = classify(graph_, graph_.node(id));
    const bool any = std::any_of(shapes_.begin(), shapes_.end(), [](const AreaShape& shape) {
      return shape.kind != AreaKind::kNone && shape.kind != AreaKind::kFree;
    });
    if (!any) return outline_sources(graph_);
    for (NodeId id : graph_.order()) {
      current_ = position_[id];
      grow(id);
    }
    if (extent_ == Extent::kSpeculative && !undecided_.empty()) speculate();
    std::vector<OutlinedArea> outlined;
    std::vector<JoinedAreas> joined;
    for (Area& area : areas_) {
      if (!area.nodes.empty()) outline(area, outlined, joined);
    }
    std::vector<SpeculativeArea> speculative;
    if (!outlined.empty()) speculative = outline_areas(graph_, outlined, joined);
    if (report_ != nullptr) std::move(speculative.begin(), speculative.end(), std::back_inserter(report_->speculative));
    return outline_sources(graph_) || !outlined.empty();
  }

 private:
  struct Area {
    AreaShape shape;
    std::vector<NodeId> nodes;                 // empty: merged into another area
    std::vector<std::pair<Dim, Dim>> assumed;  // sizes that must be equal
    std::size_t operations = 0;
    std::size_t row_steps = 0;
  };

  // Areas that stayed apart for their sizes alone.
  struct Undecided {
    NodeId producer, consumer;
    std::size_t reported;  // its refusal in the report
  };

  void outline(Area& area, std::vector<OutlinedArea>& areas, std::vector<JoinedAreas>& joined) const {
    const auto earlier = [&](NodeId a, NodeId b) { return position_[a] < position_[b]; };
    std::sort(area.nodes.begin(), area.nodes.end(), earlier);
    if (area.assumed.empty()) {
      areas.push_back({std::move(area.nodes), area.shape.kind});
      return;
    }
    JoinedAreas one;
    for (const auto& [a, b] : area.assumed) one.equal.insert(one.equal.end(), {a, b});
    std::vector<int> parts;
    for (NodeId id : area.nodes) {
      const int part = decided_area_of_[id];
      auto found = std::find(parts.begin(), parts.end(), part);
      if (found == parts.end()) {
        one.parts.push_back(areas.size());
        areas.push_back({{}, decided_kinds_[static_cast<std::size_t>(part)]});
        found = parts.insert(found, part);
      }
      areas[one.parts[static_cast<std::size_t>(found - parts.begin())]].nodes.push_back(id);
    }
    one.whole = {std::move(area.nodes), area.shape.kind};
    joined.push_back(std::move(one));
  }

  // Merges the areas of pairs that were undecided, as if sizes agreed.
  void speculate() {
    decided_area_of_ = area_of_;
    for (const Area& area : areas_) decided_kinds_.push_back(area.shape.kind);
    assumes_ = true;
    current_ = graph_.order().size();
    for (const Undecided& pair : undecided_) {
      const int producer = area_of_[pair.producer], consumer = area_of_[pair.consumer];
      if (producer == consumer) continue;
      const std::string_view reason = try_merge(static_cast<std::size_t>(producer), static_cast<std::size_t>(consumer));
      if (report_ != nullptr) report_->refused[pair.reported].reason = reason.empty() ? kSpeculated : reason;
    }
  }

  void find_late_readers() {
    const auto late = late_dependencies(graph_);
    if (late.empty()) return;
    late_readers_.resize(graph_.num_nodes());
    for (NodeId id : graph_.order()) {
      for (NodeId binder : late[id]) late_readers_[binder].push_back(id);
    }
  }

  // Nodes that read values of the node or use symbols that it binds. A visit that gives true ends the walk.
  bool any_reader(NodeId id, const auto& visit) const {
    for (ValueId value : graph_.node(id).outputs) {
      if (std::any_of(users_[value].begin(), users_[value].end(), visit)) return true;
    }
    if (late_readers_.empty()) return false;
    return std::any_of(late_readers_[id].begin(), late_readers_[id].end(), visit);
  }

  // The value behind the expands, which areas copy.
  ValueId source(ValueId value) const {
    for (NodeId id = graph_.value(value).producer; id != kNoNode && graph_.node(id).op == Op::kExpand;
         id = graph_.value(value).producer) {
      value = graph_.node(id).inputs[0];
    }
    return value;
  }

  int area_of_value(ValueId value) const {
    const NodeId id = graph_.value(source(value)).producer;
    return id == kNoNode ? -1 : area_of_[id];
  }

  static bool is_norm(Op op) { return op == Op::kLayerNorm || op == Op::kRmsNorm; }

  std::size_t operations(const Node& node) const {
    std::size_t count = 1;
    for (ValueId input : node.inputs) {
      const NodeId id = graph_.value(source(input)).producer;
      if (id != kNoNode && shapes_[id].kind == AreaKind::kFree) ++count;
    }
    const DType dtype = graph_.type(node.outputs[0]).dtype;
    return byte_size(dtype) < 4 ? count + 2 : count;
  }

  void grow(NodeId id) {
    const Node& node = graph_.node(id);
    AreaShape shape = shapes_[id];
    if (shape.kind == AreaKind::kNone || shape.kind == AreaKind::kFree) return;
    const std::size_t own = areas_.size();
    area_of_[id] = static_cast<int>(own);
    const bool output_edge = shape.edge_cast && !has_user_of_width(node, shape.width);
    if (output_edge) shape.width = 0;
    areas_.push_back({shape, {id}, {}, operations(node), shape.kind == AreaKind::kRows ? 1u : 0u});
    if (shape.edge_cast && !output_edge) return;  // its loads convert: nothing of its producers may join
    if (shape.kind == AreaKind::kMatMul) return;
    const std::size_t fusable = is_norm(node.op) ? 1 : node.inputs.size();
    for (std::size_t i = 0; i < fusable; ++i) merge(area_of_value(node.inputs[i]), own);
    if (output_edge) settle_output_edge(id);
    if (shape.kind == AreaKind::kRows || shape.kind == AreaKind::kColumns) merge_siblings(node.inputs[0], own);
  }

  // Other reductions of the same value.
  void merge_siblings(ValueId value, std::size_t own) {
    const AreaKind kind = areas_[own].shape.kind;
    for (NodeId user : users_[value]) {
      if (position_[user] >= current_ || area_of_[user] < 0) continue;
      if (shapes_[user].kind == kind) merge(area_of_[user], own);
    }
  }

  bool has_user_of_width(const Node& node, int width) const {
    return std::any_of(users_[node.outputs[0]].begin(), users_[node.outputs[0]].end(), [&](NodeId user) {
      const AreaShape& shape = shapes_[user];
      return shape.kind != AreaKind::kNone && (shape.width == width || shape.kind == AreaKind::kFree);
    });
  }

  // A cast that did not find its producer's area loads and converts instead.
  void settle_output_edge(NodeId id) {
    Area& area = areas_[static_cast<std::size_t>(area_of_[id])];
    if (area.nodes.size() == 1) area.shape.width = shapes_[id].width;
  }

  void merge(int producer, std::size_t consumer) {
    if (producer < 0 || producer == static_cast<int>(consumer) || extent_ == Extent::kNothing) return;
    const NodeId last = areas_[static_cast<std::size_t>(producer)].nodes.back();
    const NodeId first = areas_[consumer].nodes.front();
    const std::string_view reason = try_merge(static_cast<std::size_t>(producer), consumer);
    if (reason.empty()) return;
    if (reason == kUndecided) undecided_.push_back({last, first, report_ == nullptr ? 0 : report_->refused.size()});
    if (report_ != nullptr) report_->refused.push_back({name_of(last), name_of(first), reason});
  }

  // Why the areas stay apart; nothing if they are one now.
  std::string_view try_merge(std::size_t producer, std::size_t consumer) {
    Area& from = areas_[producer];
    Area& to = areas_[consumer];
    AreaShape merged;
    std::vector<std::pair<Dim, Dim>> assumed;
    const std::string_view reason = refusal(producer, consumer, merged, assumed);
    if (!reason.empty()) return reason;
    for (const auto& area : {from.assumed, to.assumed}) assumed.insert(assumed.end(), area.begin(), area.end());
    if (assumed.size() > kMaxAssumed) return "too many sizes to compare";
    for (NodeId node : from.nodes) area_of_[node] = static_cast<int>(consumer);
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    to.operations += from.operations;
    to.row_steps += from.row_steps;
    to.shape = std::move(merged);
    to.assumed = std::move(assumed);
    from.nodes.clear();
    from.assumed.clear();
    return {};
  }

  const std::string& name_of(NodeId id) const { return graph_.value(graph_.node(id).outputs[0]).name; }

  // Why the areas cannot be one; nothing if they can.
  std::string_view refusal(std::size_t producer, std::size_t consumer, AreaShape& merged,
                           std::vector<std::pair<Dim, Dim>>& assumed) {
    const Area& from = areas_[producer];
    const Area& to = areas_[consumer];
    bool recomputes = false;
    if (from.shape.width != 0 && to.shape.width != 0 && from.shape.width != to.shape.width)
      return "lanes of 4 and of 8 bytes";
    const SizeFacts sizes{graph_.facts, assumes_ ? &assumed : nullptr};
    if (!may_merge(from.shape, to.shape, sizes, merged, recomputes))
      return is_undecided(from, to) ? kUndecided : "no rule for these kinds and shapes";
    if (assumes_ && (has_edge_cast(from) || has_edge_cast(to))) return "a value changes its width on the way";
    if (is_too_large(producer, consumer)) return "the area would be too large";
    if (has_edge_cast_result(to, from)) return "a value changes its width on the way";
    const bool needed_elsewhere =
        recomputes || (merged.kind == AreaKind::kColumns && from.shape.kind == AreaKind::kMap);
    const bool undecided = recomputes && is_undecided(from, to);
    if (needed_elsewhere && has_other_users(producer, consumer))
      return undecided ? kUndecided : "others read the values too";
    if (recomputes && !is_cheap(from)) return undecided ? kUndecided : "too costly to compute again for each row";
    if (from.shape.kind == AreaKind::kColumns && to.shape.kind == AreaKind::kColumns &&
        (reads(to, producer) || reads(from, consumer)))
      return "one reduction reads the other";
    if (feeds_operand(from, consumer, producer) || feeds_operand(to, consumer, producer))
      return "a matmul reads the values as an operand";
    if (reaches_around(producer, consumer) || reaches_around(consumer, producer))
      return "a value would leave the area and come back";
    return {};
  }

  // Whether a call may show that the areas are one.
  bool is_undecided(const Area& from, const Area& to) const {
    if (assumes_) return false;
    std::vector<std::pair<Dim, Dim>> assumed;
    AreaShape merged;
    bool recomputes = false;
    return may_merge(from.shape, to.shape, {graph_.facts, &assumed}, merged, recomputes) && !recomputes;
  }

  bool has_edge_cast(const Area& area) const {
    return std::any_of(area.nodes.begin(), area.nodes.end(), [&](NodeId id) { return shapes_[id].edge_cast; });
  }

  bool is_too_large(std::size_t producer, std::size_t consumer) {
    const Area& from = areas_[producer];
    const Area& to = areas_[consumer];
    const std::size_t nodes = from.nodes.size() + to.nodes.size();
    if (nodes > kMaxAreaNodes || from.operations + to.operations > kMaxOperations) return true;
    if (from.row_steps + to.row_steps > kMaxRowSteps) return true;
    if (nodes <= kMaxStreams / 4) return false;
    ++stamp_;
    return count_streams(from, producer, consumer) + count_streams(to, producer, consumer) > kMaxStreams;
  }

  std::size_t count_streams(const Area& area, std::size_t producer, std::size_t consumer) {
    const auto is_inside = [&](int other) {
      return other == static_cast<int>(producer) || other == static_cast<int>(consumer);
    };
    std::size_t streams = 0;
    for (NodeId id : area.nodes) {
      const Node& node = graph_.node(id);
      for (ValueId input : node.inputs) {
        const ValueId value = source(input);
        if (is_inside(area_of_value(value)) || counted_[value] == stamp_) continue;
        counted_[value] = stamp_;
        ++streams;
      }
      const bool per_row = shapes_[id].kind == AreaKind::kRows || shapes_[id].kind == AreaKind::kColumns;
      if (per_row) streams += 2;
      const ValueId value = node.outputs[0];
      const auto& users = users_[value];
      const bool leaves = is_output_[value] != 0 || std::any_of(users.begin(), users.end(), [&](NodeId user) {
                            return !is_inside(area_of_[user]);
                          });
      if (leaves) ++streams;
    }
    return streams;
  }

  // Only stores convert between widths on the way out, so nothing in the area may read such a value; and what a load
  // has converted is not converted once more by a store.
  bool has_edge_cast_result(const Area& reader, const Area& from) const {
    for (NodeId id : from.nodes) {
      if (!shapes_[id].edge_cast) continue;
      const bool stores_cast = shapes_[reader.nodes.front()].edge_cast;
      if (shapes_[id].width == from.shape.width && !stores_cast) continue;
      for (NodeId user : real_users(graph_.node(id).outputs[0])) {
        if (std::find(reader.nodes.begin(), reader.nodes.end(), user) != reader.nodes.end()) return true;
      }
    }
    return false;
  }

  bool has_other_users(std::size_t producer, std::size_t consumer) const {
    for (NodeId id : areas_[producer].nodes) {
      for (ValueId value : graph_.node(id).outputs) {
        if (is_output_[value] != 0) return true;
        for (NodeId user : real_users(value)) {
          if (area_of_[user] != static_cast<int>(consumer) && area_of_[user] != static_cast<int>(producer)) return true;
        }
      }
    }
    return false;
  }

  // Users, with expands replaced by theirs.
  std::vector<NodeId> real_users(ValueId value) const {
    std::vector<NodeId> found;
    for (NodeId user : users_[value]) {
      if (graph_.node(user).op == Op::kExpand && is_output_[graph_.node(user).outputs[0]] == 0) {
        const std::vector<NodeId> behind = real_users(graph_.node(user).outputs[0]);
        found.insert(found.end(), behind.begin(), behind.end());
      } else {
        found.push_back(user);
      }
    }
    return found;
  }

  bool reads(const Area& area, std::size_t producer) const {
    return std::any_of(area.nodes.begin(), area.nodes.end(), [&](NodeId id) {
      const auto& inputs = graph_.node(id).inputs;
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](ValueId value) { return area_of_value(value) == static_cast<int>(producer); });
    });
  }

  // Whether a matmul of the area has an operand from one of the two areas: operands are tensors in memory.
  bool feeds_operand(const Area& area, std::size_t a, std::size_t b) const {
    if (area.shape.kind != AreaKind::kMatMul) return false;
    return std::any_of(area.nodes.begin(), area.nodes.end(), [&](NodeId id) {
      if (!is_product(graph_.node(id).op)) return false;
      const auto& inputs = graph_.node(id).inputs;
      return std::any_of(inputs.begin(), inputs.end(), [&](ValueId value) {
        const int from = area_of_value(value);
        return from == static_cast<int>(a) || from == static_cast<int>(b);
      });
    });
  }

  bool is_cheap(const Area& area) const {
    if (area.nodes.size() > kMaxRecomputed) return false;
    return std::all_of(area.nodes.begin(), area.nodes.end(), [&](NodeId id) {
      const Op op = graph_.node(id).op;
      return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kNeg || op == Op::kCast ||
             op == Op::kMax || op == Op::kMin || op == Op::kSelect || op == Op::kAbs || op == Op::kLogicalNot ||
             op == Op::kBitNot || (op >= Op::kBitAnd && op <= Op::kGe);
    });
  }

  // Readers of the node, with expands replaced by theirs: the area that reads an expand has a copy of it.
  void for_each_reader(NodeId id, auto&& visit_reader) const {
    any_reader(id, [&](NodeId user) {
      if (graph_.node(user).op == Op::kExpand) {
        for_each_reader(user, visit_reader);
      } else {
        visit_reader(user);
      }
      return false;
    });
  }

  // Whether a path leads from area a to area b through nodes outside both: merging would make a cycle. An area on the
  // way is entered and left as a whole.
  bool reaches_around(std::size_t a, std::size_t b) {
    stack_.clear();
    ++stamp_;
    const auto push = [&](NodeId id) {
      if (seen_[id] == stamp_ || position_[id] > current_) return;
      seen_[id] = stamp_;
      stack_.push_back(id);
    };
    const auto push_outside = [&](NodeId user) {
      if (area_of_[user] != static_cast<int>(a) && area_of_[user] != static_cast<int>(b)) push(user);
    };
    for (NodeId id : areas_[a].nodes) for_each_reader(id, push_outside);
    while (!stack_.empty()) {
      const NodeId id = stack_.back();
      stack_.pop_back();
      if (area_of_[id] >= 0) {
        for (NodeId sibling : areas_[static_cast<std::size_t>(area_of_[id])].nodes) push(sibling);
      }
      const auto is_there = [&](NodeId user) {
        if (area_of_[user] == static_cast<int>(b)) return true;
        push(user);
        return false;
      };
      if (any_reader(id, is_there)) return true;
    }
    return false;
  }

  Graph& graph_;
  const Extent extent_;
  FuseReport* report_;
  const Users users_;
  std::vector<std::vector<NodeId>> late_readers_;  // by node that binds a symbol; empty if none does
  std::vector<AreaShape> shapes_;                  // by node
  std::vector<int> area_of_;
  std::vector<std::size_t> position_;
  std::vector<std::uint32_t> seen_, counted_;  // the last search that met the node, or the value
  std::vector<char> is_output_;
  std::uint32_t stamp_ = 0;
  std::size_t current_ = 0;  // position of the node that grows
  std::vector<NodeId> stack_;
  std::vector<Area> areas_;
  std::vector<Undecided> undecided_;
  bool assumes_ = false;                 // the second walk: undecided sizes count as equal
  std::vector<int> decided_area_of_;     // by node: as the first walk left it
  std::vector<AreaKind> decided_kinds_;  // by area, the same
};

}  // namespace

bool fuse_areas(Graph& graph, FuseReport* report) {
  remove_dead_nodes(graph);
  return Fuser(graph, Extent::kSpeculative, report).run();
}

bool fuse_decided_areas(Graph& graph, FuseReport* report) {
  return Fuser(graph, Extent::kDecided, report).run();
}

bool fuse_nothing(Graph& graph) {
  return Fuser(graph, Extent::kNothing, nullptr).run();
}

}  // namespace tilewright::passes
