// Area growing: walks the nodes in order, gives each fusable node an area and merges it with the areas of its producers
// where the rules allow it and no cycle arises. Every area becomes one `fused` node.
#include <algorithm>

#include "tilewright/passes/fuse_rules.h"
#include "tilewright/passes/fused_region.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

constexpr std::size_t kMaxAreaNodes = 96;   // streams, slots and strip programs stay small
constexpr std::size_t kMaxAreaInputs = 24;
constexpr std::size_t kMaxRecomputed = 4;

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), users_(graph.users()), area_of_(graph.num_nodes(), -1) {}

  bool run() {
    position_.assign(graph_.num_nodes(), 0);
    for (std::size_t i = 0; i < graph_.order().size(); ++i) position_[graph_.order()[i]] = i;
    for (NodeId id : graph_.order()) {
      current_ = position_[id];
      grow(id);
    }
    bool changed = false;
    for (Area& area : areas_) {
      if (area.nodes.empty()) continue;
      std::sort(area.nodes.begin(), area.nodes.end(), [&](NodeId a, NodeId b) { return position_[a] < position_[b]; });
      outline_area(graph_, area.nodes, area.shape.kind);
      changed = true;
    }
    changed |= outline_sources(graph_);
    if (changed) sort_topologically(graph_);
    return changed;
  }

 private:
  struct Area {
    AreaShape shape;
    std::vector<NodeId> nodes;  // empty: merged into another area
    std::size_t inputs = 0;     // upper bound of external values
  };

  // The node that computes `value`, looking through the free nodes that areas copy; kNoNode: an input.
  NodeId producer(ValueId value) const {
    NodeId id = graph_.value(value).producer;
    while (id != kNoNode && graph_.node(id).op == Op::kExpand) id = graph_.value(graph_.node(id).inputs[0]).producer;
    return id;
  }

  void grow(NodeId id) {
    const Node& node = graph_.node(id);
    AreaShape shape = classify(graph_, node);
    if (shape.kind == AreaKind::kNone || shape.kind == AreaKind::kFree) return;
    area_of_[id] = static_cast<int>(areas_.size());
    const bool output_edge = shape.edge_cast && !has_user_of_width(node, shape.width);
    if (output_edge) shape.width = 0;
    areas_.push_back({shape, {id}, node.inputs.size()});
    if (shape.edge_cast && !output_edge) return;  // its loads convert: nothing of its producers may join
    if (shape.kind == AreaKind::kMatMul) return;
    const std::size_t fusable = node.op == Op::kLayerNorm || node.op == Op::kRmsNorm ? 1 : node.inputs.size();
    for (std::size_t i = 0; i < fusable; ++i) {
      const NodeId from = producer(node.inputs[i]);
      if (from == kNoNode || area_of_[from] < 0 || area_of_[from] == area_of_[id]) continue;
      try_merge(static_cast<std::size_t>(area_of_[from]), static_cast<std::size_t>(area_of_[id]));
    }
    if (output_edge) settle_output_edge(id);
  }

  bool has_user_of_width(const Node& node, int width) const {
    for (NodeId user : users_[node.outputs[0]]) {
      const AreaShape shape = classify(graph_, graph_.node(user));
      if (shape.kind != AreaKind::kNone && (shape.width == width || shape.kind == AreaKind::kFree)) return true;
    }
    return false;
  }

  // A cast that did not find its producer's area loads and converts instead.
  void settle_output_edge(NodeId id) {
    Area& area = areas_[static_cast<std::size_t>(area_of_[id])];
    if (area.nodes.size() == 1) area.shape.width = classify(graph_, graph_.node(id)).width;
  }

  bool try_merge(std::size_t producer, std::size_t consumer) {
    AreaShape merged;
    bool recomputes = false;
    Area& from = areas_[producer];
    Area& to = areas_[consumer];
    if (from.nodes.size() + to.nodes.size() > kMaxAreaNodes || from.inputs + to.inputs > kMaxAreaInputs) return false;
    if (has_edge_cast_result(to, from)) return false;
    if (!may_merge(from.shape, to.shape, graph_.facts, merged, recomputes)) return false;
    const bool needed_elsewhere = recomputes || merged.kind == AreaKind::kColumns;
    if (needed_elsewhere && has_other_users(producer, consumer)) return false;
    if (recomputes && !is_cheap(from)) return false;
    if (feeds_matmul(from, to) || feeds_matmul(to, from)) return false;
    if (reaches_around(producer, consumer) || reaches_around(consumer, producer)) return false;
    for (NodeId node : from.nodes) area_of_[node] = static_cast<int>(consumer);
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    to.inputs += from.inputs;
    to.shape = std::move(merged);
    from.nodes.clear();
    return true;
  }

  // Only stores convert between widths on the way out, so nothing in the area may read such a value.
  bool has_edge_cast_result(const Area& reader, const Area& from) const {
    for (NodeId id : from.nodes) {
      const AreaShape shape = classify(graph_, graph_.node(id));
      if (!shape.edge_cast || shape.width == from.shape.width) continue;
      for (NodeId user : users_[graph_.node(id).outputs[0]]) {
        if (std::find(reader.nodes.begin(), reader.nodes.end(), user) != reader.nodes.end()) return true;
      }
    }
    return false;
  }

  // A matmul reads memory: nothing that it reads may be computed in its area.
  bool feeds_matmul(const Area& from, const Area& to) const {
    for (NodeId id : to.nodes) {
      if (graph_.node(id).op != Op::kMatMul) continue;
      for (ValueId input : graph_.node(id).inputs) {
        if (std::find(from.nodes.begin(), from.nodes.end(), producer(input)) != from.nodes.end()) return true;
      }
    }
    return false;
  }

  bool is_output(ValueId value) const {
    return std::find(graph_.outputs().begin(), graph_.outputs().end(), value) != graph_.outputs().end();
  }

  bool has_other_users(std::size_t producer, std::size_t consumer) const {
    for (NodeId id : areas_[producer].nodes) {
      for (ValueId value : graph_.node(id).outputs) {
        if (is_output(value)) return true;
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
      if (graph_.node(user).op == Op::kExpand && !is_output(graph_.node(user).outputs[0])) {
        const std::vector<NodeId> behind = real_users(graph_.node(user).outputs[0]);
        found.insert(found.end(), behind.begin(), behind.end());
      } else {
        found.push_back(user);
      }
    }
    return found;
  }

  bool is_cheap(const Area& area) const {
    if (area.nodes.size() > kMaxRecomputed) return false;
    return std::all_of(area.nodes.begin(), area.nodes.end(), [&](NodeId id) {
      const Op op = graph_.node(id).op;
      return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kNeg || op == Op::kCast || op == Op::kMax ||
             op == Op::kMin || op == Op::kSelect || op == Op::kAbs || op == Op::kLogicalNot || op == Op::kBitNot ||
             (op >= Op::kBitAnd && op <= Op::kGe);
    });
  }

  // Whether a path leads from area a to area b through nodes outside both: merging would make a cycle. An area on the way
  // is entered and left as a whole.
  bool reaches_around(std::size_t a, std::size_t b) const {
    std::vector<NodeId> stack;
    std::vector<char> seen(graph_.num_nodes(), 0);
    const auto push = [&](NodeId id) {
      if (seen[id] == 0 && position_[id] <= current_) {
        seen[id] = 1;
        stack.push_back(id);
      }
    };
    for (NodeId id : areas_[a].nodes) {
      for (NodeId user : users_of(id)) {
        if (area_of_[user] != static_cast<int>(a) && area_of_[user] != static_cast<int>(b)) push(user);
      }
    }
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (area_of_[id] >= 0) {
        for (NodeId sibling : areas_[static_cast<std::size_t>(area_of_[id])].nodes) push(sibling);
      }
      for (NodeId user : users_of(id)) {
        if (area_of_[user] == static_cast<int>(b)) return true;
        push(user);
      }
    }
    return false;
  }

  std::vector<NodeId> users_of(NodeId id) const {
    std::vector<NodeId> users;
    for (ValueId value : graph_.node(id).outputs) users.insert(users.end(), users_[value].begin(), users_[value].end());
    return users;
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<int> area_of_;
  std::vector<std::size_t> position_;
  std::size_t current_ = 0;  // position of the node that grows
  std::vector<Area> areas_;
};

}  // namespace

bool fuse_areas(Graph& graph) { return Fuser(graph).run(); }

}  // namespace tilewright::passes
