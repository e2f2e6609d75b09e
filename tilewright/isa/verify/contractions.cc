// The rules of matmul, pack and attention: which streams are which operand, their dtypes and their ranges.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

// One dim of an operand: its size, and which stride of the stream walks it (-1: the inner stride).
struct Axis {
  std::int64_t count;
  int stride;
};

// Checks an operand in a buffer over the batch dims dims[0..batch) and two axes of its own.
bool check_operand(Verifier& v, int stream, DType dtype, int batch, Axis first, Axis second, std::int64_t size) {
  const StreamHead& head = v.stream(stream);
  if (head.space() != Space::kBuffer || head.dtype() != dtype)
    return v.reject("stream {} is not {} in a buffer", stream, to_string(dtype));
  std::int64_t low = head.offset;
  std::int64_t high = head.offset;
  bool fits = true;
  for (const Axis& axis : {first, second}) {
    if (axis.count == 0) return true;
    fits = fits && extend(axis.count, axis.stride < 0 ? head.inner_stride : head.strides()[axis.stride], low, high);
  }
  for (int d = 0; d < batch; ++d) {
    if (v.at.dims()[d] == 0) return true;
    fits = fits && extend(v.at.dims()[d], head.strides()[d], low, high);
  }
  if (!fits) return v.reject("stream {}: addresses beyond 64 bits", stream);
  return check_range(v, stream, low, high, size);
}

bool check_unit(Verifier& v, int stream) {
  return v.stream(stream).inner_stride == byte_size(v.stream(stream).dtype()) ||
         v.reject("stream {}: inner stride {}, unit is needed", stream, v.stream(stream).inner_stride);
}

// Panels of width `panel` that hold k x n floats.
bool check_panels(Verifier& v, int stream, int batch, std::int64_t k, std::int64_t n, std::int64_t panel) {
  std::int64_t bytes = 0;
  bool overflow = __builtin_mul_overflow(tiles_of(n, panel), panel, &bytes);
  overflow |= __builtin_mul_overflow(bytes, k, &bytes);
  overflow |= __builtin_mul_overflow(bytes, std::int64_t{4}, &bytes);
  if (overflow) return v.reject("stream {}: addresses beyond 64 bits", stream);
  constexpr Axis kNone{1, -1};
  return check_operand(v, stream, DType::kF32, batch, kNone, kNone, bytes);
}

}  // namespace

bool verify_MatMul(Verifier& v, const Inst& inst, const MatMulFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams < 3) return v.reject("{} streams, a, b and c are needed", v.at.streams);
  if (!check_positive(v, "m_tile", f.m_tile) || !check_positive(v, "n_tile", f.n_tile) ||
      !check_positive(v, "k_block", f.k_block)) {
    return false;
  }
  if (f.k < 0 || f.panel < 0) return v.reject("k {}, panel {}", f.k, f.panel);
  if (f.panel > 0 && f.n_tile < inst.inner() && f.n_tile % f.panel != 0) {
    return v.reject("n_tile {} is neither a multiple of the panel {} nor all of {}", f.n_tile, f.panel, inst.inner());
  }
  const Tiling tiling = tiling_of(inst, f);
  if (!check_tasks(v, tiling)) return false;
  const int batch = v.at.rank - 1;
  const std::int64_t m = tiling.rows;
  const std::int64_t n = inst.inner();
  const bool plain = v.at.phases() == v.at.end();
  const DType dtype = plain && f.panel == 0 ? v.stream(2).dtype() : DType::kF32;
  const std::int64_t size = byte_size(dtype);
  if (!check_operand(v, 0, dtype, batch, {m, batch}, {f.k, -1}, size)) return false;
  const bool b_good = f.panel > 0 ? check_panels(v, 1, batch, f.k, n, f.panel)
                                  : check_operand(v, 1, dtype, batch, {f.k, batch}, {n, -1}, size);
  if (!b_good) return false;
  if (plain) {
    return check_operand(v, 2, dtype, batch, {m, batch}, {n, -1}, size) && check_unit(v, 2) && check_writable(v, 2);
  }
  if (v.stream(2).space() != Space::kTile) return v.reject("stream 2 is not the tile that the epilogue reads");
  if (least(f.n_tile, n) > kMaxTileRowBytes / 4) {
    return v.reject("{} columns for the epilogue, at most {} are allowed", least(f.n_tile, n), kMaxTileRowBytes / 4);
  }
  PhaseRules rules;
  rules.tile_readable = true;
  const PhaseHead* phase = read_phase(v.at.phases(), v.at.end());
  PhaseUse use;
  if (!check_plain_strip(v, phase, rules, use)) return false;
  if (after(phase) != v.at.end()) return v.reject("words after the last phase");
  return check_streams(v, use.elements, {v.at.rank, n, least(f.m_tile, m), least(f.n_tile, n)});
}

bool verify_Pack(Verifier& v, const Inst& inst, const PackFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams != 2 || v.at.phases() != v.at.end()) return v.reject("it has 2 streams and no phase");
  if (!check_positive(v, "panel", f.panel) || !check_tasks(v, tiling_of(inst, f))) return false;
  const int batch = v.at.rank - 1;
  const std::int64_t k = v.at.dims()[batch];
  return check_operand(v, 0, DType::kF32, batch, {k, batch}, {inst.inner(), -1}, 4) &&
         check_panels(v, 1, batch, k, inst.inner(), f.panel) && check_writable(v, 1);
}

bool verify_Attention(Verifier& v, const Inst& inst, const AttentionFields& f) {
  if (v.at.rank != 3) return v.reject("rank {}, dims are batch, heads and queries", v.at.rank);
  if (v.at.streams != 4 && v.at.streams != 5)
    return v.reject("{} streams, it has q, k, v, out and perhaps mask", v.at.streams);
  if (v.at.phases() != v.at.end()) return v.reject("it has no phase");
  if (!check_positive(v, "query_tile", f.query_tile) || !check_positive(v, "key_tile", f.key_tile)) return false;
  if (!check_positive(v, "kv_heads", f.kv_heads) || !check_tasks(v, tiling_of(inst, f))) return false;
  const std::int64_t* dims = v.at.dims();
  if (f.keys > kMaxAttentionKeys) return v.reject("{} keys, at most {} are allowed", f.keys, kMaxAttentionKeys);
  if (f.keys < 0 || f.depth < 0 || f.causal < 0 || f.causal > 1) {
    return v.reject("keys {}, depth {}, causal {}", f.keys, f.depth, f.causal);
  }
  if (dims[1] % f.kv_heads != 0) return v.reject("{} heads for {} kv heads", dims[1], f.kv_heads);
  // The heads of q are one more batch dim; k and v have fewer of them, so their keys and heads are walked together.
  if (!check_operand(v, 0, DType::kF32, 2, {dims[2], 2}, {f.depth, -1}, 4)) return false;
  if (!check_operand(v, 3, DType::kF32, 2, {dims[2], 2}, {inst.inner(), -1}, 4) || !check_writable(v, 3)) return false;
  for (const int stream : {1, 2}) {
    const StreamHead& head = v.stream(stream);
    if (head.space() != Space::kBuffer || head.dtype() != DType::kF32)
      return v.reject("stream {} is not f32 in a buffer", stream);
    const std::int64_t counts[] = {dims[0], dims[1] == 0 ? 0 : f.kv_heads, f.keys,
                                   stream == 1 ? f.depth : inst.inner()};
    std::int64_t low = head.offset;
    std::int64_t high = head.offset;
    bool fits = true;
    bool empty = false;
    for (int i = 0; i < 4; ++i) {
      empty |= counts[i] == 0;
      fits = fits && extend(counts[i], i == 3 ? head.inner_stride : head.strides()[i], low, high);
    }
    if (empty) continue;
    if (!fits) return v.reject("stream {}: addresses beyond 64 bits", stream);
    if (!check_range(v, stream, low, high, 4)) return false;
  }
  for (int stream = 0; stream < 4; ++stream) {
    if (!check_unit(v, stream)) return false;
  }
  if (v.at.streams == 4) return true;
  const DType dtype = v.stream(4).dtype() == DType::kBool ? DType::kBool : DType::kF32;
  return check_operand(v, 4, dtype, 2, {dims[2], 2}, {f.keys, -1}, byte_size(dtype));
}

}  // namespace tilewright::isa
