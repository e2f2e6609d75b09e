// The rules of matmul, dot, block_dot, pack and attention: which streams are which operand, their dtypes and their
// ranges.
#include "tilewright/isa/panels.h"
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

// The result of a product in stream 2: dims are its batch dims and m.
bool check_result(Verifier& v, DType dtype, std::int64_t m, std::int64_t n) {
  const int batch = v.at.rank - 1;
  const int before = v.touched.count;
  if (!check_operand(v, 2, dtype, batch, {m, batch}, {n, -1}, byte_size(dtype))) return false;
  if (v.touched.count > before) v.touched.set_domain(v.at.rank, n);
  return check_unit(v, 2) && check_writable(v, 2);
}

// Panels of width `panel` that hold k x n elements.
bool check_panels(Verifier& v, int stream, DType dtype, int batch, std::int64_t k, std::int64_t n, std::int64_t panel) {
  std::int64_t bytes = 0;
  if (!count_panel_bytes(dtype, k, n, panel, bytes)) return v.reject("stream {}: addresses beyond 64 bits", stream);
  constexpr Axis kNone{1, -1};
  return check_operand(v, stream, dtype, batch, kNone, kNone, bytes);
}

bool is_f32_or_narrower(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool is_byte(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8;
}

// What matmul and dot share of their fields.
bool check_tiles(Verifier& v, const Inst& inst, std::int64_t m_tile, std::int64_t n_tile, std::int64_t k_block,
                 std::int64_t k, std::int64_t panel) {
  if (!check_positive(v, "m_tile", m_tile) || !check_positive(v, "n_tile", n_tile) ||
      !check_positive(v, "k_block", k_block)) {
    return false;
  }
  if (k < 0 || panel < 0) return v.reject("k {}, panel {}", k, panel);
  if (panel > 0 && n_tile < inst.inner() && n_tile % panel != 0) {
    return v.reject("n_tile {} is neither a multiple of the panel {} nor all of {}", n_tile, panel, inst.inner());
  }
  return true;
}

// The epilogue: one strip phase that reads the computed block, which is stream 2.
bool check_epilogue(Verifier& v, const Inst& inst, std::int64_t m, std::int64_t m_tile, std::int64_t n_tile,
                    DType tile) {
  const std::int64_t n = inst.inner();
  if (v.stream(2).space() != Space::kTile) return v.reject("stream 2 is not the tile that the epilogue reads");
  if (least(n_tile, n) > kMaxTileRowBytes / 4) {
    return v.reject("{} columns for the epilogue, at most {} are allowed", least(n_tile, n), kMaxTileRowBytes / 4);
  }
  PhaseRules rules;
  rules.tile_readable = true;
  rules.tile = tile;
  const PhaseHead* phase = read_phase(v.at.phases(), v.at.end());
  PhaseUse use;
  if (!check_plain_strip(v, phase, rules, use)) return false;
  if (after(phase) != v.at.end()) return v.reject("words after the last phase");
  return check_streams(v, use.elements, {v.at.rank, n, least(m_tile, m), least(n_tile, n)});
}

// A zero point of dot: one literal, or a stream over the batch dims and one axis.
bool check_zero(Verifier& v, int stream, DType dtype, int batch, Axis axis, bool zeros) {
  const StreamHead& head = v.stream(stream);
  if (head.space() != Space::kLiteral) {
    if (!zeros) return v.reject("stream {}: {} has no zero points", stream, to_string(dtype));
    return check_operand(v, stream, dtype, batch, axis, {1, -1}, byte_size(dtype));
  }
  const Word limit = zeros ? 255 : 0;
  if (head.dtype() == dtype && static_cast<Word>(head.offset) <= limit) return true;
  return v.reject("stream {}: the literal {:#x} is no zero point of {}", stream, static_cast<Word>(head.offset),
                  to_string(dtype));
}

}  // namespace

bool verify_MatMul(Verifier& v, const Inst& inst, const MatMulFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams < 3) return v.reject("{} streams, a, b and c are needed", v.at.streams);
  if (!check_tiles(v, inst, f.m_tile, f.n_tile, f.k_block, f.k, f.panel)) return false;
  const Tiling tiling = tiling_of(inst, f);
  if (!check_tasks(v, tiling)) return false;
  const int batch = v.at.rank - 1;
  const std::int64_t m = tiling.rows;
  const std::int64_t n = inst.inner();
  const bool plain = v.at.phases() == v.at.end();
  const DType dtype = plain && f.panel == 0 ? v.stream(2).dtype() : DType::kF32;
  // Sums in f32 read narrower floats, too.
  const auto operand_dtype = [&](int stream) {
    const DType own = v.stream(stream).dtype();
    return dtype == DType::kF32 && is_f32_or_narrower(own) ? own : dtype;
  };
  const DType left = operand_dtype(0), right = operand_dtype(1);
  if (!check_operand(v, 0, left, batch, {m, batch}, {f.k, -1}, byte_size(left))) return false;
  const bool b_good = f.panel > 0 ? check_panels(v, 1, DType::kF32, batch, f.k, n, f.panel)
                                  : check_operand(v, 1, right, batch, {f.k, batch}, {n, -1}, byte_size(right));
  if (!b_good) return false;
  if (!plain) return check_epilogue(v, inst, m, f.m_tile, f.n_tile, DType::kF32);
  return check_result(v, dtype, m, n);
}

bool verify_Dot(Verifier& v, const Inst& inst, const DotFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams < 5) return v.reject("{} streams, a, b, c, a_zero and b_zero are needed", v.at.streams);
  if (!check_tiles(v, inst, f.m_tile, f.n_tile, f.k_block, f.k, f.panel)) return false;
  if (f.k_block < f.k && f.k_block % 4 != 0) {
    return v.reject("k_block {} is neither a multiple of 4 nor all of {}", f.k_block, f.k);
  }
  const Tiling tiling = tiling_of(inst, f);
  if (!check_tasks(v, tiling)) return false;
  const int batch = v.at.rank - 1;
  const std::int64_t m = tiling.rows, n = inst.inner();
  const DType left = v.stream(0).dtype(), right = v.stream(1).dtype();
  const bool bytes = is_byte(left) && is_byte(right);
  if (!bytes && (left != DType::kBF16 || right != DType::kBF16)) {
    return v.reject("{} times {}, bytes or bf16 are needed", to_string(left), to_string(right));
  }
  if (!check_operand(v, 0, left, batch, {m, batch}, {f.k, -1}, byte_size(left))) return false;
  const bool b_good = f.panel > 0 ? check_panels(v, 1, right, batch, f.k, n, f.panel)
                                  : check_operand(v, 1, right, batch, {f.k, batch}, {n, -1}, byte_size(right));
  if (!b_good) return false;
  if (!check_zero(v, 3, left, batch, {m, batch}, bytes) || !check_zero(v, 4, right, batch, {n, -1}, bytes))
    return false;
  const DType sums = bytes ? DType::kI32 : DType::kF32;
  if (v.at.phases() != v.at.end()) return check_epilogue(v, inst, m, f.m_tile, f.n_tile, sums);
  return check_result(v, sums, m, n);
}

bool verify_BlockDot(Verifier& v, const Inst& inst, const BlockDotFields& f) {
  constexpr Word kEight = 0x41000000;  // as f32
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams < 5) return v.reject("{} streams, a, q, c, scales and zeros are needed", v.at.streams);
  if (!check_positive(v, "panel", f.panel) || !check_tiles(v, inst, f.m_tile, f.n_tile, 1, f.k, f.panel)) return false;
  if (f.block < 16 || f.block > 4096 || (f.block & (f.block - 1)) != 0) {
    return v.reject("block {} is no power of two from 16 to 4096", f.block);
  }
  const Tiling tiling = tiling_of(inst, f);
  if (!check_tasks(v, tiling)) return false;
  const int batch = v.at.rank - 1;
  const std::int64_t m = tiling.rows, n = inst.inner(), blocks = tiles_of(f.k, f.block);
  const DType left = v.stream(0).dtype();
  if (!is_f32_or_narrower(left)) return v.reject("stream 0: {}, f32, f16 or bf16 is needed", to_string(left));
  if (!check_operand(v, 0, left, batch, {m, batch}, {f.k, -1}, byte_size(left))) return false;
  std::int64_t words = 0;
  if (__builtin_mul_overflow(blocks, f.block / 8, &words)) return v.reject("k {} is beyond 64 bits", f.k);
  if (!check_panels(v, 1, DType::kF32, 0, words, n, f.panel)) return false;
  if (!check_panels(v, 3, DType::kF32, 0, blocks, n, f.panel)) return false;
  const StreamHead& zeros = v.stream(4);
  if (zeros.space() == Space::kLiteral) {
    if (zeros.dtype() != DType::kF32 || static_cast<Word>(zeros.offset) != kEight) {
      return v.reject("stream 4: zeros are panels or the literal 8");
    }
  } else if (!check_panels(v, 4, DType::kF32, 0, blocks, n, f.panel)) {
    return false;
  }
  if (v.at.phases() != v.at.end()) return check_epilogue(v, inst, m, f.m_tile, f.n_tile, DType::kF32);
  return check_result(v, DType::kF32, m, n);
}

bool verify_Pack(Verifier& v, const Inst& inst, const PackFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams != 2 || v.at.phases() != v.at.end()) return v.reject("it has 2 streams and no phase");
  if (!check_positive(v, "panel", f.panel) || !check_tasks(v, tiling_of(inst, f))) return false;
  const int batch = v.at.rank - 1;
  const std::int64_t k = v.at.dims()[batch];
  const DType dtype = v.stream(1).dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16 && !is_byte(dtype)) {
    return v.reject("panels of {}, f32, bf16, u8 or i8 are needed", to_string(dtype));
  }
  return check_operand(v, 0, dtype, batch, {k, batch}, {inst.inner(), -1}, byte_size(dtype)) &&
         check_panels(v, 1, dtype, batch, k, inst.inner(), f.panel) && check_writable(v, 1);
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
  const auto is_flag = [](std::int64_t value) { return value == 0 || value == 1; };
  if (f.keys < 0 || f.depth < 0 || !is_flag(f.causal) || !is_flag(f.empty_is_nan)) {
    return v.reject("keys {}, depth {}, causal {}, empty_is_nan {}", f.keys, f.depth, f.causal, f.empty_is_nan);
  }
  if (dims[1] % f.kv_heads != 0) return v.reject("{} heads for {} kv heads", dims[1], f.kv_heads);
  // The heads of q are one more batch dim; k and v have fewer of them, so their keys and heads are walked together.
  for (int stream = 0; stream < 4; ++stream) {
    if (!is_f32_or_narrower(v.stream(stream).dtype())) {
      return v.reject("stream {}: {}, f32, f16 or bf16 is needed", stream, to_string(v.stream(stream).dtype()));
    }
  }
  const auto check_rows = [&](int stream, std::int64_t size) {
    const DType dtype = v.stream(stream).dtype();
    return check_operand(v, stream, dtype, 2, {dims[2], 2}, {size, -1}, byte_size(dtype));
  };
  if (!check_rows(0, f.depth) || !check_rows(3, inst.inner()) || !check_writable(v, 3)) return false;
  for (const int stream : {1, 2}) {
    const StreamHead& head = v.stream(stream);
    if (head.space() != Space::kBuffer) return v.reject("stream {} is not in a buffer", stream);
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
    if (!check_range(v, stream, low, high, byte_size(head.dtype()))) return false;
  }
  for (int stream = 0; stream < 4; ++stream) {
    if (!check_unit(v, stream)) return false;
  }
  if (v.at.streams == 4) return true;
  const DType mask = v.stream(4).dtype();
  const DType dtype = mask == DType::kBool || is_f32_or_narrower(mask) ? mask : DType::kF32;
  return check_operand(v, 4, dtype, 2, {dims[2], 2}, {f.keys, -1}, byte_size(dtype));
}

}  // namespace tilewright::isa
