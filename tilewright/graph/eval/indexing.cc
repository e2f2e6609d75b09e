// Ops that read or write at positions given by index tensors. Negative indices count from the end; one out of range is
// an error that names it. Writes happen in the order of the index, so that the last of equal positions wins.
#include <algorithm>

#include "tilewright/graph/eval/families.h"

namespace tilewright {

Result<std::int64_t> checked_index(std::int64_t index, std::int64_t size, std::size_t axis) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  return fail(ErrorKind::kIndexOutOfRange, "index {} is out of range for axis {} of size {}", index, axis, size);
}

namespace {

using Positions = Elements<std::int64_t>;  // of elements of x, in row-major order

Result<Positions> checked_indices(const Tensor& index, std::int64_t size, std::size_t axis) {
  Positions out = load<std::int64_t>(index);
  for (std::int64_t& entry : out) {
    TW_ASSIGN(entry, checked_index(entry, size, axis));
  }
  return out;
}

Tensor read(const Tensor& x, Ints sizes, const Positions& positions) {
  std::size_t next = 0;
  return copy_elements(x, std::move(sizes), [&](const Ints&) { return positions[next++]; });
}

Results gather(const Tensor& x, const Tensor& index, std::size_t axis) {
  TW_ASSIGN(const Positions entries, checked_indices(index, x.sizes()[axis], axis));
  Ints sizes(x.sizes().begin(), x.sizes().begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(sizes.end(), index.sizes().begin(), index.sizes().end());
  sizes.insert(sizes.end(), x.sizes().begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.sizes().end());
  Tensor out = copy_elements(x, sizes, [&](const Ints& at) {
    const auto first = at.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto last = first + static_cast<std::ptrdiff_t>(index.rank());
    const Ints in_index(first, last);
    Ints source(at.begin(), first);
    source.push_back(entries[static_cast<std::size_t>(position(in_index, index.sizes()))]);
    source.insert(source.end(), last, at.end());
    return position(source, x.sizes());
  });
  return std::vector<Tensor>{std::move(out)};
}

// For every index of `index`: the position in x with the entry in place of the coordinate of `axis`.
Result<Positions> along_axis(const Tensor& x, const Tensor& index, std::size_t axis) {
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != axis && index.sizes()[i] > x.sizes()[i]) {
      return fail(ErrorKind::kShapeMismatch, "the index is longer than x along axis {}: {} and {}", i, index.sizes()[i],
                  x.sizes()[i]);
    }
  }
  TW_ASSIGN(const Positions entries, checked_indices(index, x.sizes()[axis], axis));
  Positions out;
  for_each_index(index.sizes(), [&](const Ints& at) {
    Ints source = at;
    source[axis] = entries[out.size()];
    out.push_back(position(source, x.sizes()));
  });
  return out;
}

struct Indexed {
  Ints sizes;           // of what indexing reads
  Positions positions;  // of each of its elements in x
};

// numpy's rule: index tensors broadcast together; their axes replace the indexed ones if these are adjacent, else go in
// front.
Result<Indexed> indexed(const Tensor& x, std::span<const Tensor> indices, const Ints& axes) {
  TW_ASSIGN(const Ints shared, broadcast_sizes(indices));
  std::vector<Positions> entries;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    TW_ASSIGN(const Tensor expanded, expand(indices[i], shared));
    TW_ASSIGN(Positions checked, checked_indices(expanded, x.sizes()[axis], axis));
    entries.push_back(std::move(checked));
  }
  const bool adjacent = axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
  const std::size_t place = adjacent ? static_cast<std::size_t>(axes.front()) : 0;
  Ints kept;
  Ints sizes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end()) continue;
    kept.push_back(static_cast<std::int64_t>(axis));
    sizes.push_back(x.sizes()[axis]);
  }
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(place), shared.begin(), shared.end());
  Indexed out{sizes, {}};
  for_each_index(sizes, [&](const Ints& at) {
    Ints source(x.rank());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      source[static_cast<std::size_t>(kept[i])] = at[i < place ? i : i + shared.size()];
    }
    const std::span<const std::int64_t> in_index = std::span(at).subspan(place, shared.size());
    const auto entry = static_cast<std::size_t>(position(in_index, shared));
    for (std::size_t i = 0; i < axes.size(); ++i) source[static_cast<std::size_t>(axes[i])] = entries[i][entry];
    out.positions.push_back(position(source, x.sizes()));
  });
  return out;
}

// x with updates combined into the elements at `positions`, in order.
template <typename T>
Tensor combine(const Tensor& x, const Positions& positions, const Tensor& updates, std::string_view reduce) {
  Elements<T> out = load<T>(x);
  const Elements<T> values = load<T>(updates);
  std::vector<std::int64_t> counts(out.size(), 1);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto at = static_cast<std::size_t>(positions[i]);
    ++counts[at];
    T& target = out[at];
    const T value = values[i];
    if (reduce == "none") target = value;
    if (reduce == "add" || reduce == "mean") target = plus(target, value);
    if (reduce == "mul") target = times(target, value);
    if (reduce == "min") target = is_nan(target) || target < value ? target : value;
    if (reduce == "max") target = is_nan(target) || target > value ? target : value;
  }
  for (std::size_t i = 0; reduce == "mean" && i < out.size(); ++i) {
    if constexpr (std::is_same_v<T, double>) {
      out[i] /= static_cast<double>(counts[i]);
    } else {
      out[i] = integer_binary(Op::kFloorDiv, x.dtype(), out[i], counts[i]);
    }
  }
  return store(x.dtype(), sizes_of(x), out);
}

Tensor scatter(const Tensor& x, const Positions& positions, const Tensor& updates, std::string_view reduce) {
  if (reduce != "none") {
    return visit_lane(x.dtype(), [&]<typename T>() { return combine<T>(x, positions, updates, reduce); });
  }
  const Tensor out = clone(x);
  const Tensor values = updates.contiguous();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    copy_element(values, static_cast<std::int64_t>(i), out, positions[i]);
  }
  return out;
}

Results scatter_elements(const EvalCall& call) {
  const Tensor& index = call.in[1];
  const Tensor& updates = call.in[2];
  TW_ASSIGN(const Positions positions, along_axis(call.in[0], index, call.axis()));
  if (sizes_of(updates) != sizes_of(index)) {
    return fail(ErrorKind::kShapeMismatch, "index and updates differ in shape: {} and {} elements", index.count(),
                updates.count());
  }
  return std::vector<Tensor>{scatter(call.in[0], positions, updates, call.attrs.text("reduce"))};
}

Results index_put(const EvalCall& call) {
  TW_ASSIGN(const Indexed target, indexed(call.in[0], call.in.subspan(2), call.attrs.ints("axes")));
  TW_ASSIGN(const Tensor values, expand(call.in[1], target.sizes));
  const std::string_view reduce = call.attrs.flag("accumulate") ? "add" : "none";
  return std::vector<Tensor>{scatter(call.in[0], target.positions, values, reduce)};
}

Results update_slice(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const Tensor& updates = call.in[1];
  const Ints& step = call.attrs.ints("step");
  TW_ASSIGN(const Ints start, call.sizes("start"));
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t count = updates.sizes()[axis];
    const std::int64_t room = x.sizes()[axis] - 1;  // the last position
    const bool inside = start[axis] >= 0 && start[axis] <= room && count - 1 <= (room - start[axis]) / step[axis];
    if (start[axis] < 0 || (count > 0 && !inside)) {
      return fail(ErrorKind::kIndexOutOfRange, "an update of {} from {} does not lie in axis {} of size {}", count,
                  start[axis], axis, x.sizes()[axis]);
    }
  }
  Positions positions;
  for_each_index(updates.sizes(), [&](const Ints& index) {
    Ints target = index;
    for (std::size_t axis = 0; axis < target.size(); ++axis) target[axis] = start[axis] + index[axis] * step[axis];
    positions.push_back(position(target, x.sizes()));
  });
  return std::vector<Tensor>{scatter(x, positions, updates, "none")};
}

}  // namespace

Results eval_indexing(const EvalCall& call) {
  const Tensor& x = call.in[0];
  switch (call.op) {
    case Op::kGather:
      return gather(x, call.in[1], call.axis());
    case Op::kGatherElements: {
      TW_ASSIGN(const Positions positions, along_axis(x, call.in[1], call.axis()));
      return std::vector<Tensor>{read(x, sizes_of(call.in[1]), positions)};
    }
    case Op::kIndex: {
      TW_ASSIGN(const Indexed source, indexed(x, call.in.subspan(1), call.attrs.ints("axes")));
      return std::vector<Tensor>{read(x, source.sizes, source.positions)};
    }
    case Op::kIndexPut:
      return index_put(call);
    case Op::kScatterElements:
      return scatter_elements(call);
    case Op::kUpdateSlice:
      return update_slice(call);
    default:
      break;
  }
  TW_CHECK(false, info(call.op).text);
  return std::vector<Tensor>{};
}

}  // namespace tilewright
