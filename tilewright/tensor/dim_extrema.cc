// Canonical minima, maxima and broadcast sizes of integers: nested ones of a kind are one chain in canonical order,
// with repeats dropped and constants last.
#include <algorithm>

#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

void flatten(DimOp op, Dim dim, std::vector<Dim>& out) {
  if (dim.op() != op || dim.is_float()) return out.push_back(dim);
  for (const Dim operand : dim.operands()) flatten(op, operand, out);
}

bool constants_last(Dim a, Dim b) {
  const bool a_constant = a.op() == DimOp::kConst;
  const bool b_constant = b.op() == DimOp::kConst;
  return a_constant != b_constant ? b_constant : before(a, b);
}

Dim chain(DimOp op, std::span<const Dim> items) {
  Dim out = items[0];
  for (std::size_t i = 1; i < items.size(); ++i) out = DimTable::intern(op, {out, items[i]}, false);
  return out;
}

void sort_and_drop_repeats(std::vector<Dim>& items) {
  std::sort(items.begin(), items.end(), constants_last);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

std::optional<std::int64_t> difference(Dim a, Dim b) {
  return (a - b).constant();
}

// Drops every item that another item makes redundant, where the two differ by a constant.
void drop_dominated(DimOp op, std::vector<Dim>& items) {
  constexpr std::size_t kMostCompared = 16;  // the comparison is quadratic
  if (items.size() > kMostCompared) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t j = items.size(); j-- > 0;) {
      if (i >= items.size() || i == j) continue;
      const std::optional<std::int64_t> more = difference(items[j], items[i]);
      if (!more || (op == DimOp::kMin ? *more < 0 : *more > 0)) continue;
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(j));
      if (j < i) --i;
    }
  }
}

}  // namespace

Dim make_extremum(DimOp op, std::span<const Dim> operands) {
  std::vector<Dim> items;
  for (const Dim operand : operands) flatten(op, operand, items);
  sort_and_drop_repeats(items);
  drop_dominated(op, items);
  return chain(op, items);
}

namespace {

// min(a, c) with a constant c > 0 beside a size a: where the two broadcast, the result is a. They are equal, or a is 1
// and so is the minimum, or the minimum is 1 and gives way.
bool gives_way(Dim minimum, std::span<const Dim> beside) {
  if (minimum.op() != DimOp::kMin) return false;
  const Dim a = minimum.operands()[0], c = minimum.operands()[1];  // constants are last
  return c.op() == DimOp::kConst && *c.constant() > 0 && std::find(beside.begin(), beside.end(), a) != beside.end();
}

}  // namespace

Dim make_broadcast(std::span<const Dim> operands) {
  std::vector<Dim> items;
  for (const Dim operand : operands) flatten(DimOp::kBroadcast, operand, items);
  sort_and_drop_repeats(items);
  std::erase(items, Dim(1));
  std::erase_if(items, [beside = items](Dim item) { return gives_way(item, beside); });
  if (items.empty()) return Dim(1);
  const auto is_constant = [](Dim dim) { return dim.op() == DimOp::kConst; };
  const auto first_constant = std::find_if(items.begin(), items.end(), is_constant);
  // A size other than 1 is the result, whatever the sizes beside it are: each is 1 or equal to it.
  if (first_constant != items.end()) items.erase(items.begin(), first_constant);
  return chain(DimOp::kBroadcast, items);
}

}  // namespace tilewright
