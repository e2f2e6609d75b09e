// Computes once what several nodes compute: nodes of equal op, inputs and attributes are one. Never random numbers,
// effects, late sizes (each binds a symbol of its own) or nodes with regions.
#include <cstring>
#include <unordered_map>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

constexpr std::int64_t kMostBytes = 4096;  // of constants that are compared

std::size_t mix(std::size_t hash, std::size_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

bool is_comparable(const Tensor& tensor) {
  return tensor.bytes() <= kMostBytes && tensor.is_contiguous();
}

std::size_t hash_of(const AttrValue& value) {
  const auto all = [](const auto& list) {
    std::size_t hash = list.size();
    for (const auto& one : list) hash = mix(hash, std::hash<std::decay_t<decltype(one)>>()(one));
    return hash;
  };
  return std::visit(
      [&]<typename T>(const T& one) -> std::size_t {
        if constexpr (std::is_same_v<T, Ints> || std::is_same_v<T, Dims>) {
          return all(one);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          std::size_t hash = mix(all(std::vector<std::int64_t>(one.sizes().begin(), one.sizes().end())),
                                 static_cast<std::size_t>(one.dtype()));
          if (!is_comparable(one)) return mix(hash, std::hash<void*>()(one.data()));
          return mix(hash, std::hash<std::string_view>()(
                               {one.template data_as<char>(), static_cast<std::size_t>(one.bytes())}));
        } else if constexpr (std::is_same_v<T, DType>) {
          return static_cast<std::size_t>(one);
        } else {
          return std::hash<T>()(one);
        }
      },
      value);
}

bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<typename T>(const T& one) {
        const T& other = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>) {
          if (one.dtype() != other.dtype() ||
              !std::equal(one.sizes().begin(), one.sizes().end(), other.sizes().begin(), other.sizes().end()))
            return false;
          if (one.data() == other.data())
            return std::equal(one.strides().begin(), one.strides().end(), other.strides().begin());
          return is_comparable(one) && is_comparable(other) &&
                 std::memcmp(one.data(), other.data(), static_cast<std::size_t>(one.bytes())) == 0;
        } else if constexpr (std::is_same_v<T, double>) {
          return std::memcmp(&one, &other, sizeof(double)) == 0;
        } else {
          return one == other;
        }
      },
      a);
}

bool equal(const Node& a, const Node& b) {
  const auto &x = a.attrs.entries(), &y = b.attrs.entries();
  return a.op == b.op && a.inputs == b.inputs &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const auto& p, const auto& q) { return p.name == q.name && equal(p.value, q.value); });
}

std::size_t hash_of(const Node& node) {
  std::size_t hash = static_cast<std::size_t>(node.op);
  for (ValueId input : node.inputs) hash = mix(hash, input);
  for (const Attrs::Entry& entry : node.attrs.entries()) hash = mix(hash, hash_of(entry.value));
  return hash;
}

bool may_be_shared(const Node& node) {
  switch (info(node.op).op_class) {
    case OpClass::kRandom:
    case OpClass::kLate:
    case OpClass::kControl:
    case OpClass::kEffect:
      return false;
    default:
      return node.regions.empty();
  }
}

}  // namespace

bool common_subexpressions(Graph& graph) {
  Replacements replacements(graph);
  std::unordered_multimap<std::size_t, NodeId> seen;
  std::vector<NodeId> repeated;
  for (NodeId id : graph.order()) {
    Node& node = graph.node(id);
    if (node.dead) continue;
    replacements.update(node);
    if (!may_be_shared(node)) continue;
    const std::size_t hash = hash_of(node);
    const auto [begin, end] = seen.equal_range(hash);
    auto found = begin;
    while (found != end && !equal(graph.node(found->second), node)) ++found;
    if (found == end) {
      seen.emplace(hash, id);
      continue;
    }
    const Node& first = graph.node(found->second);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) replacements.replace(node.outputs[i], first.outputs[i]);
    repeated.push_back(id);
  }
  replacements.apply();
  for (NodeId id : repeated) graph.erase(id);
  graph.compact();
  return !repeated.empty();
}

}  // namespace tilewright::passes
