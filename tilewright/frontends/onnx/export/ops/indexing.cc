// Reading and writing at positions. ONNX has numpy's rule for one indexed axis (Gather); for several the indexed axes
// are moved to the front, where GatherND and ScatterND want them.
#include <algorithm>

#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

Out as_index(ExportNode& n, Out index) {
  return index.dtype == DType::kI32 || index.dtype == DType::kI64 ? index : n.cast(index, DType::kI64);
}

struct Plan {
  Ints front;  // axes of x, the indexed ones first
  Ints back;   // from what is read to the axes of the result
  std::size_t positions_rank = 0;
  bool adjacent = true;
};

Plan plan(const ExportNode& n, std::size_t first_index) {
  const Ints& axes = n.attrs().ints("axes");
  Plan out;
  out.front = axes;
  for (std::int64_t axis = 0; axis < n.rank(0); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) out.front.push_back(axis);
  }
  for (std::size_t i = first_index; i < n.num_inputs(); ++i) {
    out.positions_rank = std::max(out.positions_rank, n.shape(i).size());
  }
  for (std::size_t i = 1; i < axes.size(); ++i) out.adjacent = out.adjacent && axes[i] == axes[i - 1] + 1;
  const auto shared = static_cast<std::int64_t>(out.positions_rank), rest = n.rank(0) - std::ssize(axes);
  const std::int64_t place = out.adjacent ? axes[0] : 0;
  for (std::int64_t i = 0; i < place; ++i) out.back.push_back(shared + i);
  for (std::int64_t i = 0; i < shared; ++i) out.back.push_back(i);
  for (std::int64_t i = place; i < rest; ++i) out.back.push_back(shared + i);
  return out;
}

Ints inverse(const Ints& perm) {
  Ints out(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    out[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  }
  return out;
}

// The sizes that the indices broadcast to.
Shape positions_shape(const ExportNode& n, std::size_t first_index, std::size_t rank) {
  Shape out(rank, Dim(1));
  for (std::size_t i = first_index; i < n.num_inputs(); ++i) {
    const Shape& shape = n.shape(i);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Dim& dim = out[rank - shape.size() + axis];
      if (dim.constant() == 1) {
        dim = shape[axis];
      } else if (shape[axis].constant() != 1 && dim != shape[axis]) {
        dim = broadcast(dim, shape[axis]);
      }
    }
  }
  return out;
}

// i64[positions.., number of axes]
Out tuples(ExportNode& n, std::size_t first_index, const Shape& shape) {
  Outs parts;
  for (std::size_t i = first_index; i < n.num_inputs(); ++i) {
    const Out index = n.expand(n.cast(n.input(i), DType::kI64), n.shape(i), shape);
    parts.push_back(n.unsqueeze(index, {std::ssize(shape)}));
  }
  return n.concat(parts, std::ssize(shape));
}

// updates added up, and divided by how many there were and the element itself.
Out scatter_mean(ExportNode& n, Out x, Out index, Out updates, std::int64_t axis) {
  const DType wide = is_float(x.dtype) ? x.dtype == DType::kF64 ? DType::kF64 : DType::kF32 : DType::kI64;
  const auto added = [&](Out to, Out values) {
    return n.make("ScatterElements", {to, index, values}, {{"axis", axis}, {"reduction", std::string_view("add")}});
  };
  const Out sum = added(n.cast(x, wide), n.cast(updates, wide));
  const auto ones = [&](Out like) {
    const Out shape = n.make("Shape", {like}, {}, DType::kI64);
    return n.make("Expand", {n.like(sum, 1), shape}, {}, wide);
  };
  const Out count = added(ones(x), ones(updates));
  if (is_float(x.dtype)) return n.cast(n.div(sum, count), x.dtype);
  return n.cast(n.div(n.sub(sum, n.make("Mod", {sum, count})), count), x.dtype);
}

}  // namespace

Outs export_gather(ExportNode& n) {
  return {n.make("Gather", {n.input(0), as_index(n, n.input(1))}, {{"axis", n.integer("axis")}})};
}

Outs export_gather_elements(ExportNode& n) {
  return {n.make("GatherElements", {n.input(0), as_index(n, n.input(1))}, {{"axis", n.integer("axis")}})};
}

Outs export_index(ExportNode& n) {
  const Ints& axes = n.attrs().ints("axes");
  if (axes.size() == 1) return {n.make("Gather", {n.input(0), as_index(n, n.input(1))}, {{"axis", axes[0]}})};
  const Plan p = plan(n, 1);
  const Out index = tuples(n, 1, positions_shape(n, 1, p.positions_rank));
  return {n.transpose(n.make("GatherND", {n.transpose(n.input(0), p.front), index}), p.back)};
}

Outs export_index_put(ExportNode& n) {
  const bool accumulate = n.attrs().flag("accumulate");
  if (accumulate && n.opset() < 16) return n.fail("ScatterND adds from opset 16 on");
  const Plan p = plan(n, 2);
  const Shape positions = positions_shape(n, 2, p.positions_rank);
  const Out index = tuples(n, 2, positions);
  // Values broadcast to what the index reads, then take the order in which ScatterND has it.
  Shape read(p.back.size());
  for (std::size_t i = 0; i < p.back.size(); ++i) {
    const auto from = static_cast<std::size_t>(p.back[i]);
    const std::size_t num_axes = n.attrs().ints("axes").size();
    read[i] = from < p.positions_rank
                  ? positions[from]
                  : n.shape(0)[static_cast<std::size_t>(p.front[from - p.positions_rank + num_axes])];
  }
  const Out values = n.transpose(n.expand(n.input(1), n.shape(1), read), inverse(p.back));
  const Attributes reduction = accumulate ? Attributes{{"reduction", std::string_view("add")}} : Attributes{};
  const Out moved = n.transpose(n.input(0), p.front);
  return {n.transpose(n.make("ScatterND", {moved, index, values}, reduction), inverse(p.front))};
}

Outs export_scatter_elements(ExportNode& n) {
  const std::string_view reduce = n.attrs().text("reduce");
  const std::int64_t axis = n.integer("axis");
  const Out x = n.input(0), index = as_index(n, n.input(1)), updates = n.input(2);
  const int since = reduce == "none" ? 13 : reduce == "min" || reduce == "max" ? 18 : 16;
  if (n.opset() < since) return n.fail(fmt::format("ScatterElements has '{}' from opset {} on", reduce, since));
  if (reduce == "mean") return {scatter_mean(n, x, index, updates, axis)};
  if (reduce == "none") return {n.make("ScatterElements", {x, index, updates}, {{"axis", axis}})};
  return {n.make("ScatterElements", {x, index, updates}, {{"axis", axis}, {"reduction", reduce}})};
}

}  // namespace tilewright::onnx
