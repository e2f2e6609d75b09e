#include <bit>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/kernels.h"

namespace tilewright::compiler {
namespace {

constexpr std::int64_t kQueryTile = 72;
constexpr std::int64_t kKeyTile = 384;
constexpr std::int64_t kAllKeys = 512;  // up to this many keys one step sees them all

std::array<std::int64_t, 3> byte_strides(const View& view) {
  const std::int64_t bytes = byte_size(view.dtype);
  std::array<std::int64_t, 3> strides{};
  for (int axis = 0; axis < 3; ++axis) {
    strides[at(axis)] = view.sizes[at(axis)] == 1 ? 0 : view.strides[at(axis)] * bytes;
  }
  return strides;
}

std::uint16_t operand(const View& view, Emitter& out) {
  return out.stream(isa::Space::kBuffer, view.dtype, view.buffer, view.offset, byte_size(view.dtype),
                    byte_strides(view));
}

// Tasks of a whole head pack its keys and values once. They do where they keep all threads at work to the end.
bool whole_heads_fill(std::int64_t heads, std::int64_t threads) {
  const std::int64_t rounds = (heads + threads - 1) / threads;
  return heads * 20 >= rounds * threads * 19 && heads >= 4 * threads;
}

}  // namespace

Status emit_attention(const Kernel& kernel, Emitter& out) {
  const View& q = kernel.inputs[0];
  const View& k = kernel.inputs[1];
  const View& v = kernel.inputs[2];
  const View& result = kernel.outputs[0];
  const std::int64_t batch = q.sizes[0], heads = q.sizes[1], queries = q.sizes[2], depth = q.sizes[3];
  const std::int64_t keys = k.sizes[2], value_size = v.sizes[3];
  if (result.count() == 0) return {};
  std::int64_t query_tile = std::min(queries, kQueryTile);
  const std::int64_t threads = kernel.traits->threads;
  if (whole_heads_fill(batch * heads, threads)) query_tile = queries;
  const std::int64_t key_tile = std::max<std::int64_t>(keys <= kAllKeys ? keys : kKeyTile, 1);
  if (threads > 1 && batch * heads < threads * 2) {
    const std::int64_t cuts = (threads * 2 + batch * heads - 1) / (batch * heads);
    query_tile = std::clamp<std::int64_t>((queries + cuts - 1) / cuts, std::min<std::int64_t>(queries, 8), query_tile);
  }
  out.begin(isa::Opcode::kAttention, 3, batch * heads * ((queries + query_tile - 1) / query_tile), value_size);
  out.field(k.sizes[1]);
  out.field(keys);
  out.field(depth);
  out.field(kernel.attrs->integer("causal"));
  out.field(kernel.attrs->integer("empty_is_nan"));
  out.field(static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(kernel.attrs->real("scale"))));
  out.field(query_tile);
  out.field(key_tile);
  for (std::int64_t dim : {batch, heads, queries}) out.dim(dim);
  operand(q, out);
  operand(k, out);
  operand(v, out);
  operand(result, out);
  if (kernel.inputs.size() > 3) {
    const View& mask = kernel.inputs[3];
    std::array<std::int64_t, 3> strides{};
    std::int64_t inner = 0;
    const std::int64_t bytes = byte_size(mask.dtype);
    for (int axis = 0; axis < mask.rank; ++axis) {
      const int domain = axis + 4 - mask.rank;
      const std::int64_t stride = mask.sizes[at(axis)] == 1 ? 0 : mask.strides[at(axis)] * bytes;
      (domain == 3 ? inner : strides[at(domain)]) = stride;
    }
    out.stream(isa::Space::kBuffer, mask.dtype, mask.buffer, mask.offset, inner, strides);
  }
  out.end();
  return {};
}

}  // namespace tilewright::compiler
