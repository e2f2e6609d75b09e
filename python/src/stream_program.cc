// StreamProgram: reading, writing, recording.
#include "src/stream_program.h"

#include <algorithm>

namespace tilewright::python {
namespace {

template <typename Rows>
auto* find(Rows& rows, const StreamLayout& layout) {
  const auto row = std::ranges::find(rows, layout, [](const auto& own) -> const StreamLayout& { return own.first; });
  return row == rows.end() ? nullptr : &*row;
}

// Each scatter passes over the whole, so many of them into much memory cost more than running the program does.
constexpr int kMaxScatters = 8;
constexpr std::int64_t kSmallBytes = 16 * 1024;

}  // namespace

std::int64_t StreamProgram::itemsize(const StreamLayout& layout) const {
  return library_->itemsizes[static_cast<std::size_t>(layout.dtype)];
}

bool StreamProgram::meet(const StreamLayout& a, const StreamLayout& b) const {
  return overlap(a, b, itemsize(a), itemsize(b));
}

bool StreamProgram::overlaps_any(const std::vector<Row>& rows, const StreamLayout& layout) const {
  return std::ranges::any_of(rows, [&](const Row& row) { return meet(row.first, layout); });
}

int StreamProgram::read(std::int64_t storage, const StreamLayout& layout) {
  const auto known = storages_.find(storage);
  if (known == storages_.end()) return add_input(outside_state(storage), storage, layout);
  State& state = known->second;
  if (const Row* row = find(state.current, layout)) return row->second;
  if (const int value = derived(state, layout); value >= 0) return value;
  if (!state.own && !overlaps_any(state.written, layout)) return add_input(state, storage, layout);
  if (!state.own &&
      !std::ranges::any_of(state.current, [&](const Row& row) { return part_of(row.first, layout).has_value(); })) {
    const std::optional<StreamLayout> whole = cover(state, layout);
    if (!whole) return kHazard;
    promote(state, storage, *whole);
    if (const Row* row = find(state.current, layout)) return row->second;
  }
  for (const Row& row : state.current) {
    if (!part_of(row.first, layout)) continue;
    const int value = take(row.second, row.first, layout);
    state.current.emplace_back(layout, value);
    return value;
  }
  return kHazard;
}

StreamProgram::State& StreamProgram::outside_state(std::int64_t storage) {
  order_.push_back(storage);
  return storages_[storage];
}

int StreamProgram::add_input(State& state, std::int64_t storage, const StreamLayout& layout) {
  const int value = static_cast<int>(values_.size());
  values_.push_back(layout);
  state.current.emplace_back(layout, value);
  state.read.emplace_back(layout, static_cast<int>(inputs_.size()));
  inputs_.push_back({storage, layout, value});
  return value;
}

// The value of a view, by the op that made it, from what the viewed tensor holds now; negative: not known.
int StreamProgram::derived(State& state, const StreamLayout& layout) {
  const auto recipe = std::ranges::find(state.recipes, layout, &StreamRecipe::view);
  if (recipe == state.recipes.end()) return kHazard;
  const Row* row = find(state.current, recipe->parent);
  const int parent = row != nullptr ? row->second : derived(state, recipe->parent);
  if (parent < 0) return parent;
  const int refs[] = {parent};
  const int value = add_op(recipe->op, refs, recipe->ints, {}, recipe->results) + static_cast<int>(recipe->index);
  state.current.emplace_back(layout, value);
  return value;
}

int StreamProgram::add_op(const StreamTemplate& op, std::span<const int> refs, std::span<const std::int64_t> ints,
                          std::span<const double> floats, std::span<const StreamLayout> results) {
  const int first = static_cast<int>(values_.size());
  ops_.push_back({op, static_cast<std::uint32_t>(refs_.size()), static_cast<std::uint32_t>(refs.size()),
                  static_cast<std::uint32_t>(ints_.size()), static_cast<std::uint32_t>(ints.size()),
                  static_cast<std::uint32_t>(floats_.size()), static_cast<std::uint32_t>(floats.size()), first,
                  static_cast<int>(results.size())});
  refs_.insert(refs_.end(), refs.begin(), refs.end());
  ints_.insert(ints_.end(), ints.begin(), ints.end());
  floats_.insert(floats_.end(), floats.begin(), floats.end());
  values_.insert(values_.end(), results.begin(), results.end());
  return first;
}

void StreamProgram::add_own(std::int64_t storage, const StreamLayout& layout, int value) {
  State& state = outside_state(storage);
  state.own = true;
  state.base = layout;
  state.current.emplace_back(layout, value);
}

bool StreamProgram::may_scatter(const State& state, const StreamLayout& whole, int count) const {
  return state.num_scatters + count <= kMaxScatters || num_elements(whole) * itemsize(whole) <= kSmallBytes;
}

std::optional<StreamLayout> StreamProgram::cover(const State& state, const StreamLayout& layout) const {
  StreamLayout whole = layout;
  const auto is_other = [&](const Row& row) { return !(row.first == whole) && meet(row.first, whole); };
  const auto holds = [&](const Row& row) { return !is_other(row) || part_of(whole, row.first).has_value(); };
  const auto is_larger = [&](const Row& row) {
    return is_other(row) && part_of(row.first, whole) && !part_of(whole, row.first);
  };
  // What is written is read too.
  for (std::size_t trial = 0; trial <= state.read.size(); ++trial) {
    if (std::ranges::all_of(state.read, holds)) {
      const auto num_parts = std::ranges::count_if(state.written, is_other) + (whole == layout ? 0 : 1);
      if (num_parts == 0 || may_scatter(state, whole, static_cast<int>(num_parts))) return whole;
      return {};
    }
    const auto next = std::ranges::find_if(state.read, is_larger);
    if (next == state.read.end()) return {};
    whole = next->first;
  }
  return {};
}

bool StreamProgram::can_write(std::int64_t storage, const StreamLayout& layout) const {
  const auto known = storages_.find(storage);
  if (known == storages_.end()) return true;
  const State& state = known->second;
  if (!state.own) return cover(state, layout).has_value();
  return layout == state.base || (may_scatter(state, state.base, 1) && part_of(state.base, layout));
}

void StreamProgram::write(std::int64_t storage, const StreamLayout& layout, int value) {
  const auto known = storages_.find(storage);
  State& state = known == storages_.end() ? outside_state(storage) : known->second;
  if (state.own) {
    if (layout == state.base) {
      state.current.assign(1, {layout, value});
    } else {
      scatter_into(state, storage, state.base, layout, value);
    }
    return;
  }
  const StreamLayout whole = *cover(state, layout);
  promote(state, storage, whole);
  if (whole == layout) {
    store(state, storage, layout, value);
  } else {
    scatter_into(state, storage, whole, layout, value);
  }
}

// Makes `whole` the one layout of what it covers that is read and written.
void StreamProgram::promote(State& state, std::int64_t storage, const StreamLayout& whole) {
  const auto is_other = [&](const Row& row) { return !(row.first == whole) && meet(row.first, whole); };
  if (std::ranges::none_of(state.read, is_other)) return;
  const Row* own = find(state.read, whole);
  const Row* now = find(state.current, whole);
  const bool is_new = own == nullptr, is_known = now != nullptr;
  int value = is_known ? now->second : -1;
  const int first = is_new ? add_input(state, storage, whole) : inputs_[static_cast<std::size_t>(own->second)].value;
  if (is_new && is_known) state.current.pop_back();
  std::swap(ops_, first_ops_);
  const std::vector<Op> later = std::exchange(ops_, {});
  for (const Row& row : state.read) {
    if (!is_other(row)) continue;
    StreamInput& input = inputs_[static_cast<std::size_t>(row.second)];
    take(first, whole, row.first, input.value);
    input.storage = 0;
  }
  ops_.insert(ops_.end(), later.begin(), later.end());
  std::swap(ops_, first_ops_);
  std::erase_if(state.read, is_other);
  if (std::ranges::none_of(state.written, is_other)) return;
  if (!is_known) value = first;
  for (const Row& row : state.written) {
    if (is_known || !is_other(row)) continue;
    value = put(value, whole, row.first, row.second);
    ++state.num_scatters;
  }
  std::erase_if(state.written, is_other);
  find(state.current, whole)->second = value;
  state.written.emplace_back(whole, value);
}

// A value for memory that only layouts apart from it, and itself, are known of.
void StreamProgram::store(State& state, std::int64_t storage, const StreamLayout& layout, int value) {
  if (!state.own && find(state.read, layout) == nullptr) add_input(state, storage, layout);
  std::erase_if(state.current, [&](const Row& row) { return meet(row.first, layout); });
  state.current.emplace_back(layout, value);
  if (state.own) return;
  if (Row* row = find(state.written, layout)) {
    row->second = value;
  } else {
    state.written.emplace_back(layout, value);
  }
}

void StreamProgram::scatter_into(State& state, std::int64_t storage, const StreamLayout& whole,
                                 const StreamLayout& part, int value) {
  ++state.num_scatters;
  store(state, storage, whole, put(find(state.current, whole)->second, whole, part, value));
  state.current.emplace_back(part, value);
}

void StreamProgram::add_view(std::int64_t storage, StreamRecipe recipe) {
  const auto known = storages_.find(storage);
  if (known == storages_.end()) return;
  State& state = known->second;
  if (state.own && recipe.view == state.base) return;
  // A view of a view that is the tensor itself tells nothing.
  for (const StreamLayout* source = &recipe.parent; source != nullptr;) {
    if (*source == recipe.view) return;
    const auto next = std::ranges::find(state.recipes, *source, &StreamRecipe::view);
    source = next == state.recipes.end() ? nullptr : &next->parent;
  }
  if (std::ranges::find(state.recipes, recipe.view, &StreamRecipe::view) == state.recipes.end()) {
    state.recipes.push_back(std::move(recipe));
  }
}

bool StreamProgram::is_own(std::int64_t storage) const {
  const auto known = storages_.find(storage);
  return known != storages_.end() && known->second.own;
}

bool StreamProgram::is_pending(std::int64_t storage) const {
  const auto known = storages_.find(storage);
  return known != storages_.end() && (known->second.own || !known->second.written.empty());
}

std::pair<StreamLayout, int> StreamProgram::content(std::int64_t storage) const {
  const State& state = storages_.at(storage);
  return {state.base, find(state.current, state.base)->second};
}

void StreamProgram::close() {
  std::vector<int> numbers(inputs_.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    numbers[i] = static_cast<int>(count);
    if (inputs_[i].storage != 0) inputs_[count++] = inputs_[i];
  }
  inputs_.resize(count);
  for (const std::int64_t key : order_) {
    const State& state = storages_.at(key);
    for (const Row& row : state.written) {
      writes_.emplace_back(numbers[static_cast<std::size_t>(find(state.read, row.first)->second)], row.second);
    }
  }
  ops_.insert(ops_.begin(), first_ops_.begin(), first_ops_.end());
  first_ops_.clear();
}

}  // namespace tilewright::python
