// matmul of dtypes whose products are no f32 tile (f64, integers, bool), which the fuser leaves alone.
#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/loop_nest.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

constexpr std::int64_t kBlock = 384;  // terms of a sum per block
constexpr std::int64_t kColumns = 192;

// An operand without its last two axes, as broadcast to the batch, plus one axis of size 1.
View batch_of(const View& view) {
  View out = view;
  out.rank = static_cast<std::int8_t>(view.rank - 1);
  out.sizes[at(out.rank - 1)] = 1;
  return out;
}

}  // namespace

Status emit_matmul(const Kernel& kernel, Emitter& out) {
  const View& a = kernel.inputs[0];
  const View& b = kernel.inputs[1];
  const View& result = kernel.outputs[0];
  if (result.count() == 0) return {};
  const std::int64_t bytes = byte_size(result.dtype);
  const std::int64_t m = result.sizes[at(result.rank - 2)], n = result.sizes[at(result.rank - 1)],
                     k = a.sizes[at(a.rank - 1)];
  if (b.sizes[at(b.rank - 2)] != k) {
    return fail(ErrorKind::kShapeMismatch, "inner dimensions differ: {} and {}", k, b.sizes[at(b.rank - 2)]);
  }
  const bool direct = result.strides[at(result.rank - 1)] == 1 || n == 1;
  const View to = direct ? result : temp_like(result, result.dtype, kernel);
  LoopNest nest;
  nest.rank = result.rank - 1;
  nest.sizes = result.sizes;
  nest.sizes[at(nest.rank - 1)] = 1;
  for (const View* view : {&a, &b, &to}) nest.add(batch_of(*view));
  nest.collapse(0, nest.rank - 1);
  const int rank = nest.rank;
  nest.sizes[at(rank - 1)] = m;
  nest.strides[0][at(rank - 1)] = a.strides[at(a.rank - 2)] * bytes;
  nest.strides[1][at(rank - 1)] = b.strides[at(b.rank - 2)] * bytes;
  nest.strides[2][at(rank - 1)] = to.strides[at(to.rank - 2)] * bytes;
  const std::int64_t n_tile = std::min(n, round_up(kColumns, kernel.traits->matmul_panel));
  const std::int64_t rows =
      task_elements(nest.count(0, rank) * n, std::max<std::int64_t>(k / 8, 1), *kernel.traits) / n_tile;
  const std::int64_t m_tile =
      std::clamp<std::int64_t>(round_up(std::max<std::int64_t>(rows, 1), kernel.traits->matmul_rows), 1, m);
  out.begin(isa::Opcode::kMatMul, rank,
            nest.count(0, rank - 1) * ((m + m_tile - 1) / m_tile) * ((n + n_tile - 1) / n_tile), n);
  for (std::int64_t field : {k, m_tile, n_tile, kBlock, std::int64_t{0}}) out.field(field);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
  const auto stream = [&](const View& view, int number, std::int64_t inner) {
    const auto& strides = nest.strides[at(number)];
    out.stream(isa::Space::kBuffer, view.dtype, view.buffer, view.offset, inner, {strides.data(), at(rank)});
  };
  stream(a, 0, a.strides[at(a.rank - 1)] * bytes);
  stream(b, 1, b.strides[at(b.rank - 1)] * bytes);
  stream(to, 2, bytes);
  out.end();
  return direct ? Status() : emit_copy(to, result, *kernel.traits, out);
}

}  // namespace tilewright::compiler
