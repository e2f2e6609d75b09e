// cumsum, cumprod, cummax, cummin, argmax, argmin, sort, topk and nonzero: instructions that work along one axis, which
// becomes the inner dim; the other axes are its rows. Any strides.
#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/loop_nest.h"
#include "tilewright/compiler/tiling.h"
#include "tilewright/isa/tasks.h"

namespace tilewright::compiler {
namespace {

constexpr std::int64_t kRowsTogether = 64;  // rows that lie side by side advance together

// The rows of a kernel: outer dims, then the axis.
struct Lines {
  LoopNest nest;
  std::int64_t inner = 0;
  std::int64_t row_tile = 1, tasks = 0;
  int rank() const { return nest.rank - 1; }
};

// Views of equal sizes but for the axis; view 0 is x. `cost` is that of an element, 1 for a copy.
Lines lines_of(std::span<const View> views, int axis, std::int64_t cost, const BackendTraits& traits) {
  Lines lines;
  LoopNest& nest = lines.nest;
  nest.rank = views[0].rank;
  nest.sizes = views[0].sizes;
  for (const View& view : views) nest.add(view);
  lines.inner = nest.sizes[at(axis)];
  nest.move(axis, nest.rank - 1);
  nest.collapse(0, nest.rank - 1);
  const int rank = lines.rank();
  const std::int64_t rows = rank > 0 ? nest.sizes[at(rank - 1)] : 1;
  const std::int64_t chunk = task_elements(nest.count(0, nest.rank), cost, traits);
  lines.row_tile =
      std::clamp<std::int64_t>(chunk / std::max<std::int64_t>(lines.inner, 1), 1, std::max<std::int64_t>(rows, 1));
  const std::int64_t along = nest.strides[0][at(rank)], across = rank > 0 ? nest.strides[0][at(rank - 1)] : 0;
  if (rank > 0 && std::abs(across) < std::abs(along)) lines.row_tile = round_up(lines.row_tile, kRowsTogether);
  lines.tasks = nest.count(0, std::max(rank - 1, 0)) * (rank > 0 ? (rows + lines.row_tile - 1) / lines.row_tile : 1);
  return lines;
}

void write(const Lines& lines, std::span<const View> views, Emitter& out) {
  const int rank = lines.rank();
  for (int axis = 0; axis < rank; ++axis) out.dim(lines.nest.sizes[at(axis)]);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto& strides = lines.nest.strides[i];
    out.stream(isa::Space::kBuffer, views[i].dtype, views[i].buffer, views[i].offset, strides[at(rank)],
               {strides.data(), at(rank)});
  }
}

View reversed(const View& view, int axis) {
  const std::int64_t size = view.sizes[at(axis)];
  return slice_axis(view, axis, size - 1, size, -1);
}

// The result of an argmax with the axis that it lacks, or has with size 1.
View with_axis(const View& view, int axis, bool kept) {
  if (kept) return view;
  View out = view;
  out.rank = static_cast<std::int8_t>(view.rank + 1);
  for (int i = view.rank; i > axis; --i) {
    out.sizes[at(i)] = out.sizes[at(i - 1)];
    out.strides[at(i)] = out.strides[at(i - 1)];
  }
  out.sizes[at(axis)] = 1;
  out.strides[at(axis)] = 0;
  return out;
}

Status emit_sorted(const Kernel& kernel, std::int64_t count, bool descending, Emitter& out) {
  const auto axis = static_cast<int>(kernel.attrs->integer("axis"));
  const View& x = kernel.inputs[0];
  if (kernel.outputs[0].count() == 0) return {};
  std::array<View, 4> views{x, kernel.outputs[0], kernel.outputs[1], {}};
  int num_views = 3;
  if (x.sizes[at(axis)] > isa::kMaxScratchSort) {
    // One axis more for the bytes of an element's entries, so that the strides are those of memory.
    View work = x;
    work.dtype = DType::kU8;
    std::int64_t stride = 32 * x.sizes[at(axis)];
    for (int i = x.rank - 1; i >= 0; --i) {
      if (i == axis) continue;
      work.strides[at(i)] = stride;
      stride *= x.sizes[at(i)];
    }
    work.strides[at(axis)] = 1;
    work.buffer = kernel.temp.arena;
    work.offset = kernel.temp.allocate(kernel.temp.state, stride);
    views[at(num_views++)] = work;
  }
  const std::span<const View> used(views.data(), at(num_views));
  const Lines lines = lines_of(used, axis, 32, *kernel.traits);
  out.begin(isa::Opcode::kSort, lines.rank(), lines.tasks, lines.inner);
  out.field(count);
  out.field(descending ? 1 : 0);
  out.field(lines.row_tile);
  write(lines, used, out);
  out.end();
  return {};
}

}  // namespace

Status emit_scan(const Kernel& kernel, Emitter& out) {
  const auto axis = static_cast<int>(kernel.attrs->integer("axis"));
  const bool extreme = kernel.op == Op::kCumMax || kernel.op == Op::kCumMin;
  const bool product = kernel.op == Op::kCumProd;
  if (kernel.inputs[0].count() == 0) return {};
  std::array<View, 3> views{kernel.inputs[0], kernel.outputs[0], extreme ? kernel.outputs[1] : View{}};
  if (!extreme && kernel.attrs->integer("reverse") != 0) {
    for (std::size_t i : {0, 1}) views[i] = reversed(views[i], axis);
  }
  const std::span<const View> used(views.data(), extreme ? 3 : 2);
  const Lines lines = lines_of(used, axis, 4, *kernel.traits);
  out.begin(isa::Opcode::kScan, lines.rank(), lines.tasks, lines.inner);
  out.field(kernel.op == Op::kCumMax ? 2 : kernel.op == Op::kCumMin ? 3 : product ? 1 : 0);
  out.field(extreme ? 0 : kernel.attrs->integer("exclusive"));
  out.field(lines.row_tile);
  write(lines, used, out);
  out.end();
  return {};
}

Status emit_arg_reduce(const Kernel& kernel, Emitter& out) {
  const auto axis = static_cast<int>(kernel.attrs->integer("axis"));
  const View& x = kernel.inputs[0];
  if (kernel.outputs[0].count() == 0) return {};
  if (x.sizes[at(axis)] == 0) return fail(ErrorKind::kShapeMismatch, "axis {} has no elements", axis);
  const std::array<View, 2> views{x, with_axis(kernel.outputs[0], axis, kernel.attrs->integer("keepdim") != 0)};
  const Lines lines = lines_of(views, axis, 1, *kernel.traits);
  out.begin(isa::Opcode::kArgReduce, lines.rank(), lines.tasks, lines.inner);
  out.field(kernel.op == Op::kArgMin ? 1 : 0);
  out.field(kernel.attrs->integer("last"));
  out.field(lines.row_tile);
  write(lines, views, out);
  out.end();
  return {};
}

Status emit_sort(const Kernel& kernel, Emitter& out) {
  const std::int64_t axis = kernel.attrs->integer("axis");
  return emit_sorted(kernel, kernel.inputs[0].sizes[static_cast<std::size_t>(axis)],
                     kernel.attrs->integer("descending") != 0, out);
}

Status emit_topk(const Kernel& kernel, Emitter& out) {
  const std::int64_t axis = kernel.attrs->integer("axis"), k = kernel.attrs->integer("k");
  const std::int64_t size = kernel.inputs[0].sizes[static_cast<std::size_t>(axis)];
  if (k < 0 || k > size)
    return fail(ErrorKind::kIndexOutOfRange, "k = {} does not lie in axis {} of size {}", k, axis, size);
  return emit_sorted(kernel, k, kernel.attrs->integer("largest") != 0, out);
}

Status emit_nonzero(const Kernel& kernel, Emitter& out) {
  const View& x = kernel.inputs[0];
  const View& result = kernel.outputs[0];
  if (!kernel.counts && result.count() == 0) return {};
  const int rank = std::max(x.rank - 1, 0);
  const std::int64_t bytes = byte_size(x.dtype);
  std::array<std::int64_t, kMaxTensorRank> strides{};
  for (int axis = 0; axis < rank; ++axis) strides[at(axis)] = x.strides[at(axis)] * bytes;
  out.begin(isa::Opcode::kNonZero, rank, 1, x.rank == 0 ? 1 : x.sizes[at(rank)]);
  out.field(kernel.counts ? -1 : result.sizes[0]);
  out.field(kernel.counts ? 0 : result.strides[0] * 8);
  for (int axis = 0; axis < rank; ++axis) out.dim(x.sizes[at(axis)]);
  out.stream(isa::Space::kBuffer, x.dtype, x.buffer, x.offset, x.rank == 0 ? 0 : x.strides[at(rank)] * bytes,
             {strides.data(), at(rank)});
  const std::array<std::int64_t, kMaxTensorRank> none{};
  out.stream(isa::Space::kBuffer, DType::kI64, result.buffer, result.offset, kernel.counts ? 8 : result.strides[1] * 8,
             {none.data(), at(rank)});
  out.end();
  return {};
}

}  // namespace tilewright::compiler
