// The block_dot instruction: f32 rows times a 4-bit weight with a scale per block of k. One task is a tile of the
// result. Rows of a are copied to private scratch as f32; the kernels turn eight 4-bit numbers of a word into floats in
// registers, so the weight is read once, at half a byte an element. Each block is summed by itself, even and odd k
// apart (two chains hide the latency of one row), then scaled and added in the order of the blocks, for every number of
// rows alike: the bits of a row do not depend on its neighbours. HOT: no allocation, no call but kernels, copies and
// phases.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/matmul_vector.h"
#include "tilewright/vm/cpu/level/pack_copy.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kWidth = kPanel<float>;
#if defined(TW_LEVEL_AVX512)
constexpr int kBlockRows = 4;
#else
constexpr int kBlockRows = 2;
#endif

// Private scratch: the block of c, copied rows of a, sums of a.
constexpr std::int64_t kBlockBytes = 3 << 19;
constexpr std::int64_t kRowsBytes = 3 << 19;
constexpr std::int64_t kSumsBytes = kRowsBytes / 16;  // blocks have 16 elements at least
constexpr std::int64_t kMostDepth = 1 << 16;          // elements of k at a time
constexpr std::int64_t kBlockColumns = 4032;
static_assert(kBlockBytes + kRowsBytes + kSumsBytes <= kPrivateBytes);
static_assert(kBlockColumns % kWidth == 0 && kMostDepth * 4 * kBlockRows <= kRowsBytes);

struct BlockArgs {
  const float* a;
  std::int64_t a_row;
  const float* a_sums;  // per row and block, or null
  std::int64_t sums_row;
  const std::uint32_t* q;
  const float* scales;
  const float* zeros;  // null: 8
  float* c;
  std::int64_t c_row;
  std::int64_t blocks, words;  // words per block and column
  int columns;
  bool accumulate, prefetch;
};

// Number j of each word, minus 8, as a float.
[[gnu::always_inline]] inline f32x weight_of(u32x words, int j, [[maybe_unused]] f32x table) {
#if defined(TW_LEVEL_AVX512)
  return (f32x)_mm512_permutexvar_ps((__m512i)(words >> (4 * j)), (__m512)table);  // reads the low four bits
#else
  return to_f32((i32x)((words >> (4 * j)) & 15u)) - f32(8);
#endif
}

[[gnu::always_inline]] inline f32x weight_table() {
#if defined(TW_LEVEL_AVX512)
  return (f32x)_mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return f32x{};
#endif
}

template <int Rows, int Vecs>
[[gnu::always_inline]] inline void add_words(const float* a, std::int64_t a_row, const std::uint32_t* q, f32x table,
                                             f32x (&sums)[2][Rows][Vecs]) {
  u32x words[Vecs];
#pragma GCC unroll 4
  for (int v = 0; v < Vecs; ++v) words[v] = load<std::uint32_t>(q + v * kLanes<float>);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) {
      const f32x weight = weight_of(words[v], j, table);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        sums[j & 1][r][v] = multiply_add<float>(splat<float>(a[r * a_row + j]), weight, sums[j & 1][r][v]);
      }
    }
  }
}

// c (+)= scale * sum, minus what the zero point takes from every element.
template <int Rows, int Vecs>
[[gnu::always_inline]] inline void finish_block(const BlockArgs& args, std::int64_t block,
                                                const f32x (&sums)[2][Rows][Vecs]) {
  const PartMask<float> part(args.columns - (Vecs - 1) * kLanes<float>);
#pragma GCC unroll 4
  for (int v = 0; v < Vecs; ++v) {
    const std::int64_t at = block * kWidth + v * kLanes<float>;
    const f32x scale = load<float>(args.scales + at);
    const f32x zero = args.zeros == nullptr ? f32x{} : scale * (f32(8) - load<float>(args.zeros + at));
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      float* c = args.c + r * args.c_row + v * kLanes<float>;
      f32x total{};
      if (block != 0 || args.accumulate) total = v + 1 < Vecs ? load<float>(c) : load_part(c, part);
      total = multiply_add<float>(scale, sums[0][r][v] + sums[1][r][v], total);
      if (args.zeros != nullptr) {
        total = multiply_add<float>(zero, splat<float>(args.a_sums[r * args.sums_row + block]), total);
      }
      if (v + 1 < Vecs) {
        store<float>(c, total);
      } else {
        store_part(c, part, total);
      }
    }
  }
}

template <int Rows, int Vecs>
void block_kernel(const BlockArgs& args) {
  const f32x table = weight_table();
  const float* a = args.a;
  const std::uint32_t* q = args.q;
  for (std::int64_t block = 0; block < args.blocks; ++block) {
    f32x sums[2][Rows][Vecs];
#pragma GCC unroll 32
    for (int i = 0; i < 2 * Rows * Vecs; ++i) sums[i / (Rows * Vecs)][i / Vecs % Rows][i % Vecs] = f32x{};
    for (std::int64_t word = args.words; word > 0; --word) {
      if (args.prefetch) {
#pragma GCC unroll 4
        for (int bytes = 0; bytes < Vecs * kVectorBytes; bytes += 64) {
          __builtin_prefetch(reinterpret_cast<const char*>(q + 24 * kWidth) + bytes, 0, 3);
        }
      }
      add_words<Rows, Vecs>(a, args.a_row, q, table, sums);
      a += 8;
      q += kWidth;
    }
    finish_block<Rows, Vecs>(args, block, sums);
  }
}

using BlockKernel = void (*)(const BlockArgs& args);
template <int Rows>
void multiply_rows(const BlockArgs& args) {
  const int vectors = (args.columns + kLanes<float> - 1) / kLanes<float>;
  if (vectors == 1) return block_kernel<Rows, 1>(args);
  if (vectors == 2) return block_kernel<Rows, 2>(args);
  if constexpr (kVecs > 2) return block_kernel<Rows, 3>(args);
}

void multiply_blocks(BlockArgs args, std::int64_t rows) {
  while (rows > 0) {
    const std::int64_t now = rows < kBlockRows ? rows : kBlockRows;
    if (now == 1) multiply_rows<1>(args);
    if (now == 2) multiply_rows<2>(args);
    if constexpr (kBlockRows > 2) {
      if (now == 3) multiply_rows<3>(args);
      if (now == 4) multiply_rows<4>(args);
    }
    args.a += now * args.a_row;
    if (args.a_sums != nullptr) args.a_sums += now * args.sums_row;
    args.c += now * args.c_row;
    args.prefetch = false;
    rows -= now;
  }
}

char* address_of(const isa::StreamHead& head, const TaskContext& context, const std::int64_t* index, int dims) {
  char* address = reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset;
  for (int d = 0; d < dims; ++d) address += index[d] * head.strides()[d];
  return address;
}

class BlockRun {
 public:
  BlockRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  void run();

 private:
  void compute(std::int64_t m, std::int64_t rows, std::int64_t n, std::int64_t columns);
  void copy_rows(std::int64_t m, std::int64_t rows, std::int64_t first, std::int64_t depth);
  void add_panels(float* c, std::int64_t c_row, std::int64_t rows, std::int64_t n, std::int64_t columns,
                  std::int64_t first, std::int64_t depth);

  void add_foreign(float* c, std::int64_t c_row, std::int64_t rows, std::int64_t n, std::int64_t columns,
                   std::int64_t skipped, std::int64_t blocks);

  const isa::Inst& inst_;
  const TaskContext& context_;
  const isa::Task& task_;
  const isa::BlockDotFields& f_;
  std::int64_t index_[isa::kMaxRank] = {};
  const isa::StreamHead& a_;
  const isa::StreamHead& c_;
  char* a_address_;
  const std::uint32_t* q_;
  const float* scales_;
  const float* zeros_ = nullptr;
  bool has_phases_;
  bool foreign_;  // packed for another machine
  std::int64_t blocks_;
  float *block_memory_, *row_memory_, *sums_;
};

BlockRun::BlockRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : inst_(inst),
      context_(context),
      task_(task),
      f_(inst.fields<isa::BlockDotFields>()),
      a_(inst.stream<isa::BlockDotFields>(0)),
      c_(inst.stream<isa::BlockDotFields>(2)) {
  for (int d = 0; d + 1 < inst.rank(); ++d) index_[d] = task.index[d];
  const auto panels = [&](int s) { return address_of(inst.stream<isa::BlockDotFields>(s), context, index_, 0); };
  a_address_ = address_of(a_, context, index_, inst.rank() - 1);
  q_ = reinterpret_cast<const std::uint32_t*>(panels(1));
  scales_ = reinterpret_cast<const float*>(panels(3));
  if (inst.stream<isa::BlockDotFields>(4).space() == isa::Space::kBuffer) zeros_ = reinterpret_cast<float*>(panels(4));
  has_phases_ = inst.phases<isa::BlockDotFields>() != inst.end();
  foreign_ = f_.panel != kWidth;
  blocks_ = isa::tiles_of(f_.k, f_.block);
  char* memory = reinterpret_cast<char*>(context.private_scratch);
  block_memory_ = reinterpret_cast<float*>(memory);
  row_memory_ = reinterpret_cast<float*>(memory + kBlockBytes);
  sums_ = reinterpret_cast<float*>(memory + kBlockBytes + kRowsBytes);
}

void BlockRun::run() {
  const std::int64_t width = task_.inner_end - task_.inner_begin;
  const std::int64_t most_columns = has_phases_ ? isa::least(width, kBlockColumns) : width;
  std::int64_t most_rows = task_.row_end - task_.row_begin;
  if (has_phases_) most_rows = isa::least(most_rows, kBlockBytes / 4 / (most_columns + kLanes<float>));
  const std::int64_t depth = isa::least(blocks_ * f_.block, kMostDepth);
  if (depth > 0) most_rows = isa::least(most_rows, kRowsBytes / 4 / depth);
  for (std::int64_t m = task_.row_begin; m < task_.row_end; m += most_rows) {
    const std::int64_t rows = isa::least(most_rows, task_.row_end - m);
    for (std::int64_t n = task_.inner_begin; n < task_.inner_end; n += most_columns) {
      compute(m, rows, n, isa::least(most_columns, task_.inner_end - n));
    }
  }
}

void BlockRun::compute(std::int64_t m, std::int64_t rows, std::int64_t n, std::int64_t columns) {
  float* c = block_memory_;
  std::int64_t c_row = (columns + kLanes<float> - 1) / kLanes<float> * kLanes<float>;
  if (!has_phases_) {
    char* to = address_of(c_, context_, index_, inst_.rank() - 1);
    c_row = c_.strides()[inst_.rank() - 1] / 4;
    c = reinterpret_cast<float*>(to) + m * c_row + n;
  }
  const std::int64_t all = blocks_ * f_.block;
  for (std::int64_t first = 0; first < all; first += kMostDepth) {
    const std::int64_t depth = isa::least(kMostDepth, all - first);
    copy_rows(m, rows, first, depth);
    add_panels(c, c_row, rows, n, columns, first, depth);
  }
  for (std::int64_t r = 0; all == 0 && r < rows; ++r) {
    for (std::int64_t i = 0; i < columns; ++i) c[r * c_row + i] = 0;
  }
  if (!has_phases_) return;
  index_[inst_.rank() - 1] = m;
  const std::int64_t tile_row = m - task_.row_begin;
  run_phases(inst_.phases<isa::BlockDotFields>(), inst_.end(), stream_set<isa::BlockDotFields>(inst_), context_, index_,
             tile_row, rows, n, columns, {reinterpret_cast<char*>(c - tile_row * c_row), c_row * 4});
}

// Rows of a from k = first on, with zeros where k ends inside of a block, and the sums of their blocks.
void BlockRun::copy_rows(std::int64_t m, std::int64_t rows, std::int64_t first, std::int64_t depth) {
  const std::int64_t row_stride = a_.strides()[inst_.rank() - 1];
  const std::int64_t real = isa::least(depth, f_.k - first), blocks = depth / f_.block;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* to = row_memory_ + r * depth;
    widen_row<float>(to, a_address_ + (m + r) * row_stride + first * a_.inner_stride, a_.dtype(), a_.inner_stride,
                     real);
    for (std::int64_t k = real; k < depth; ++k) to[k] = 0;
    if (zeros_ == nullptr) continue;
    for (std::int64_t block = 0; block < blocks; ++block) {
      float sum = 0;
      for (std::int64_t k = 0; k < f_.block; ++k) sum += to[block * f_.block + k];
      sums_[r * blocks + block] = sum;
    }
  }
}

void BlockRun::add_panels(float* c, std::int64_t c_row, std::int64_t rows, std::int64_t n, std::int64_t columns,
                          std::int64_t first, std::int64_t depth) {
  const std::int64_t words = f_.block / 8, skipped = first / f_.block, blocks = depth / f_.block;
  if (foreign_) return add_foreign(c, c_row, rows, n, columns, skipped, blocks);
  for (std::int64_t i = 0; i < columns; i += kWidth) {
    const std::int64_t panel = (n + i) / kWidth;
    BlockArgs args{};
    args.a = row_memory_;
    args.a_row = depth;
    args.a_sums = zeros_ == nullptr ? nullptr : sums_;
    args.sums_row = blocks;
    args.q = q_ + (panel * blocks_ + skipped) * words * kWidth;
    args.scales = scales_ + (panel * blocks_ + skipped) * kWidth;
    args.zeros = zeros_ == nullptr ? nullptr : zeros_ + (panel * blocks_ + skipped) * kWidth;
    args.c = c + i;
    args.c_row = c_row;
    args.blocks = blocks;
    args.words = words;
    args.columns = static_cast<int>(isa::least(columns - i, kWidth));
    args.accumulate = first != 0;
    args.prefetch = true;
    multiply_blocks(args, rows);
  }
}

// Panels of another width, an element at a time.
void BlockRun::add_foreign(float* c, std::int64_t c_row, std::int64_t rows, std::int64_t n, std::int64_t columns,
                           std::int64_t skipped, std::int64_t blocks) {
  const std::int64_t words = f_.block / 8, width = f_.panel;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t panel = (n + i) / width, column = (n + i) % width;
      float total = skipped == 0 ? 0 : c[r * c_row + i];
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t at = panel * blocks_ + skipped + block;
        const float* a = row_memory_ + (r * blocks + block) * f_.block;
        float sums[2] = {};
        for (std::int64_t k = 0; k < f_.block; ++k) {
          const std::uint32_t word = q_[(at * words + k / 8) * width + column];
          const auto weight = static_cast<float>(word >> k % 8 * 4 & 15u) - 8;
          sums[k & 1] = __builtin_fmaf(a[k], weight, sums[k & 1]);
        }
        const float scale = scales_[at * width + column];
        total = __builtin_fmaf(scale, sums[0] + sums[1], total);
        if (zeros_ == nullptr) continue;
        total = __builtin_fmaf(scale * (8 - zeros_[at * width + column]), sums_[r * blocks + block], total);
      }
      c[r * c_row + i] = total;
    }
  }
}

}  // namespace

void exec_BlockDot(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::BlockDotFields>()), number);
  BlockRun(inst, context, task).run();
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
