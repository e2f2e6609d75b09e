#include "tilewright/tensor/dim_table.h"

#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <unordered_set>

namespace tilewright {
namespace {

struct NodeHash {
  std::size_t operator()(const DimNode* node) const {
    std::size_t hash = static_cast<std::size_t>(node->op) + (node->is_float ? 64u : 0u);
    const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); };
    mix(static_cast<std::size_t>(node->integer));
    mix(std::bit_cast<std::uint64_t>(node->real));
    if (!node->name.empty()) mix(std::hash<std::string>{}(node->name));
    for (const Dim operand : node->operands) mix(static_cast<std::size_t>(operand.id()));
    return hash;
  }
};

struct NodeEqual {
  bool operator()(const DimNode* a, const DimNode* b) const {
    return a->op == b->op && a->is_float == b->is_float && a->integer == b->integer &&
           std::bit_cast<std::uint64_t>(a->real) == std::bit_cast<std::uint64_t>(b->real) && a->name == b->name &&
           a->operands == b->operands;
  }
};

struct Storage {
  std::mutex mutex;
  std::deque<DimNode> nodes;  // addresses are stable
  std::unordered_set<const DimNode*, NodeHash, NodeEqual> set;
};

Storage& storage() {
  static Storage* const kStorage = new Storage;  // lives as long as the process: Dims outlive every static
  return *kStorage;
}

template <typename T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

}  // namespace

Dim DimTable::intern(DimNode node) {
  Storage& table = storage();
  const std::lock_guard lock(table.mutex);
  if (const auto found = table.set.find(&node); found != table.set.end()) return Dim(*found);
  node.id = table.nodes.size();
  const DimNode* stored = &table.nodes.emplace_back(std::move(node));
  table.set.insert(stored);
  return Dim(stored);
}

Dim DimTable::intern(DimOp op, std::vector<Dim> operands, bool is_float) {
  DimNode node{op, is_float, 0, 0, {}, std::move(operands), 0};
  return intern(std::move(node));
}

int compare(Dim a, Dim b) {
  if (a == b) return 0;
  if (a.op() != b.op()) return three_way(a.op(), b.op());
  if (a.op() == DimOp::kConst) return three_way(DimTable::integer(a), DimTable::integer(b));
  if (a.op() == DimOp::kFloatConst) {
    return three_way(std::bit_cast<std::int64_t>(DimTable::real(a)), std::bit_cast<std::int64_t>(DimTable::real(b)));
  }
  if (const int order = a.name().compare(b.name()); order != 0) return order;
  if (const int order = three_way(a.operands().size(), b.operands().size()); order != 0) return order;
  for (std::size_t i = 0; i < a.operands().size(); ++i) {
    if (const int order = compare(a.operands()[i], b.operands()[i]); order != 0) return order;
  }
  return three_way(a.is_float(), b.is_float());
}

Dim Dim::integer(std::int64_t value) {
  constexpr std::int64_t kLow = -64;
  constexpr std::size_t kCached = 1088;
  static const std::vector<const DimNode*>* const kSmall = [] {
    auto* small = new std::vector<const DimNode*>;
    for (std::size_t i = 0; i < kCached; ++i) {
      small->push_back(
          DimTable::intern({DimOp::kConst, false, kLow + static_cast<std::int64_t>(i), 0, {}, {}, 0}).node_);
    }
    return small;
  }();
  if (value >= kLow && value < kLow + static_cast<std::int64_t>(kCached)) {
    return Dim((*kSmall)[static_cast<std::size_t>(value - kLow)]);
  }
  return DimTable::intern({DimOp::kConst, false, value, 0, {}, {}, 0});
}

Dim Dim::symbol(std::string_view name) {
  return DimTable::intern({DimOp::kSymbol, false, 0, 0, std::string(name), {}, 0});
}

Dim Dim::float_symbol(std::string_view name) {
  return DimTable::intern({DimOp::kFloatSymbol, true, 0, 0, std::string(name), {}, 0});
}

Dim Dim::real(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // one nan
  return DimTable::intern({DimOp::kFloatConst, true, 0, value, {}, {}, 0});
}

}  // namespace tilewright
