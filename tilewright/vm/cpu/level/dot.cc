// The dot instruction: one task is a tile of the result. Rows of a are copied to private scratch as the words of the
// kernels; b is packed, or packed here a panel at a time. With A the zero point of a row (of a as stored) and B that of
// a column (of b as stored):
//   sum (a - A)(b - B) = sum a b - A * sum b - B * sum a + k A B
// All of it wraps, so the order does not matter; the corrections are what the sums start from. Sums of bf16 run in the
// order of k, whatever the tiles. HOT: no allocation, no call but kernels, copies and phases.
#include "tilewright/isa/panels.h"
#include "tilewright/vm/cpu/level/dot_copy.h"
#include "tilewright/vm/cpu/level/dot_kernel.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// Private scratch: the block of c, then copied rows of a, a packed panel of b and its sums, then numbers per row.
constexpr std::int64_t kBlockBytes = 3 << 19;
constexpr std::int64_t kRowsBytes = 3 << 19;
constexpr std::int64_t kMostGroups = 4096;        // of a k block
constexpr std::int64_t kMostPackedGroups = 1024;  // where b is packed here
constexpr std::int64_t kMostRows = 4096;
constexpr std::int64_t kBlockColumns = 4032;
constexpr std::int64_t kWidth = kPanel<float>;
static_assert(kBlockBytes + kRowsBytes + (kMostPackedGroups + 3) * kWidth * 4 + 2 * kMostRows * 4 <= kPrivateBytes);
static_assert(kBlockColumns % kWidth == 0 && kMostGroups * 4 * 4 * kRows <= kRowsBytes);

// A matrix in memory; strides in bytes.
struct Matrix {
  char* address;
  DType dtype;
  std::int64_t row_stride, inner_stride;
};

Matrix place(const isa::StreamHead& head, int rank, const TaskContext& context, const std::int64_t* index) {
  std::byte* base = head.space() == isa::Space::kBuffer ? context.buffers[head.buffer()] : context.scratch;
  char* address = reinterpret_cast<char*>(base) + head.offset;
  for (int d = 0; d + 1 < rank; ++d) address += index[d] * head.strides()[d];
  return {address, head.dtype(), head.strides()[rank - 1], head.inner_stride};
}

// Zero points of rows or columns, as they meet the stored elements.
class Zeros {
 public:
  Zeros(const isa::StreamHead& head, int rank, const TaskContext& context, const std::int64_t* index, bool columns)
      : dtype_(head.dtype()) {
    if (head.space() == isa::Space::kLiteral) {
      one_ = static_cast<unsigned char>(head.offset);
      from_ = nullptr;
    } else {
      const Matrix matrix = place(head, rank, context, index);
      from_ = matrix.address;
      step_ = columns ? matrix.inner_stride : matrix.row_stride;
    }
    // a as stored is u8: i8 plus 128. b as stored is i8: u8 minus 128.
    shift_ = columns ? (dtype_ == DType::kU8 ? 128u : 0u) : (dtype_ == DType::kI8 ? 0u - 128u : 0u);
  }
  std::uint32_t at(std::int64_t i) const {
    const unsigned char byte = from_ == nullptr ? one_ : static_cast<unsigned char>(from_[i * step_]);
    const std::int32_t value = dtype_ == DType::kI8 ? static_cast<signed char>(byte) : byte;
    return static_cast<std::uint32_t>(value) - shift_;
  }
  bool is_one() const { return from_ == nullptr || step_ == 0; }

 private:
  DType dtype_;
  const char* from_ = nullptr;
  std::int64_t step_ = 0;
  unsigned char one_ = 0;
  std::uint32_t shift_ = 0;
};

// One task, or a part of it that fits private scratch.
struct Block {
  std::int64_t m, rows, n, columns;
};

template <DotKind Kind>
class DotRun {
 public:
  using Sum = DotSum<Kind>;
  DotRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  void run();

 private:
  void compute(const Block& block);
  void copy_rows(const Block& block, std::int64_t first, std::int64_t depth);
  void add_panel(const Block& block, std::int64_t n, Sum* c, std::int64_t c_row, std::int64_t first,
                 std::int64_t depth);
  const std::uint32_t* panel_at(std::int64_t column, std::int64_t columns, std::int64_t first, std::int64_t depth);
  bool correct(const Block& block, std::int64_t n, std::int64_t columns, Sum* c, std::int64_t c_row, std::int64_t first,
               std::int64_t depth);
  void finish(const Block& block, Sum* c, std::int64_t c_row);

  static constexpr int kParts = kDotParts<Kind>;
  static constexpr std::int64_t kGroup = Kind == DotKind::kHalves ? 2 : 4;
  const isa::Inst& inst_;
  const TaskContext& context_;
  const isa::Task& task_;
  const isa::DotFields& f_;
  std::int64_t index_[isa::kMaxRank] = {};
  Matrix a_, b_, c_{};
  Zeros a_zero_, b_zero_;
  bool has_phases_, direct_c_, packed_, has_corrections_ = false;
  std::int64_t depth_;       // of a k block, elements
  std::int64_t groups_ = 0;  // of the k block at hand
  char* block_memory_;
  std::uint32_t* row_memory_;
  std::uint32_t* panel_memory_;
  std::uint32_t* column_sums_;  // of the panel at hand
  std::uint32_t* column_zeros_;
  std::uint32_t* row_sums_;  // of the k block at hand
  std::uint32_t* row_zeros_;
};

template <DotKind Kind>
DotRun<Kind>::DotRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : inst_(inst),
      context_(context),
      task_(task),
      f_(inst.fields<isa::DotFields>()),
      a_(place(inst.stream<isa::DotFields>(0), inst.rank(), context, task.index)),
      b_(place(inst.stream<isa::DotFields>(1), inst.rank(), context, task.index)),
      a_zero_(inst.stream<isa::DotFields>(3), inst.rank(), context, task.index, false),
      b_zero_(inst.stream<isa::DotFields>(4), inst.rank(), context, task.index, true) {
  for (int d = 0; d + 1 < inst.rank(); ++d) index_[d] = task.index[d];
  has_phases_ = inst.phases<isa::DotFields>() != inst.end();
  if (!has_phases_) c_ = place(inst.stream<isa::DotFields>(2), inst.rank(), context, task.index);
  direct_c_ = !has_phases_;
  packed_ = f_.panel == kWidth;
  if (Kind != DotKind::kHalves) {
    has_corrections_ = !(a_zero_.is_one() && a_zero_.at(0) == 0 && b_zero_.is_one() && b_zero_.at(0) == 0);
  }
  const std::int64_t most = (packed_ ? kMostGroups : kMostPackedGroups) * kGroup;
  depth_ = isa::least(f_.k_block, most);
  block_memory_ = reinterpret_cast<char*>(context.private_scratch);
  row_memory_ = reinterpret_cast<std::uint32_t*>(block_memory_ + kBlockBytes);
  panel_memory_ = reinterpret_cast<std::uint32_t*>(block_memory_ + kBlockBytes + kRowsBytes);
  column_sums_ = panel_memory_ + kMostPackedGroups * kWidth;
  column_zeros_ = column_sums_ + kWidth;
  row_sums_ = column_zeros_ + 2 * kWidth;
  row_zeros_ = row_sums_ + kMostRows;
}

template <DotKind Kind>
void DotRun<Kind>::run() {
  const std::int64_t width = task_.inner_end - task_.inner_begin;
  const std::int64_t most_columns = direct_c_ || width <= kBlockColumns ? width : kBlockColumns;
  std::int64_t most_rows = isa::least(task_.row_end - task_.row_begin, kMostRows);
  const auto limit_rows = [&](std::int64_t bytes, std::int64_t row_bytes) {
    const std::int64_t rows = bytes / row_bytes / kRows * kRows;
    if (rows < most_rows) most_rows = rows;
  };
  if (!direct_c_) limit_rows(kBlockBytes, (most_columns + kLanes<Sum>)*4);
  const std::int64_t depth = isa::least(depth_, f_.k);
  if (depth > 0) limit_rows(kRowsBytes, isa::tiles_of(depth, kGroup) * kParts * 4);
  for (std::int64_t m = task_.row_begin; m < task_.row_end; m += most_rows) {
    for (std::int64_t n = task_.inner_begin; n < task_.inner_end; n += most_columns) {
      compute({m, isa::least(most_rows, task_.row_end - m), n, isa::least(most_columns, task_.inner_end - n)});
    }
  }
}

template <DotKind Kind>
void DotRun<Kind>::compute(const Block& block) {
  Sum* c = reinterpret_cast<Sum*>(block_memory_);
  std::int64_t c_row = (block.columns + kLanes<Sum> - 1) / kLanes<Sum> * kLanes<Sum>;
  if (direct_c_) {
    c = reinterpret_cast<Sum*>(c_.address + block.m * c_.row_stride + block.n * 4);
    c_row = c_.row_stride / 4;
  }
  std::int64_t first = 0;
  do {  // once with depth 0 where k is 0
    const std::int64_t depth = isa::least(depth_, f_.k - first);
    copy_rows(block, first, depth);
    for (std::int64_t n = 0; n < block.columns; n += kWidth) add_panel(block, n, c, c_row, first, depth);
    first += depth_;
  } while (first < f_.k);
  if (!direct_c_) finish(block, c, c_row);
}

template <DotKind Kind>
void DotRun<Kind>::copy_rows(const Block& block, std::int64_t first, std::int64_t depth) {
  groups_ = isa::tiles_of(depth, kGroup);
  const char* a = a_.address + block.m * a_.row_stride + first * a_.inner_stride;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    row_sums_[r] = copy_groups(row_memory_ + r * groups_ * kParts, kParts, a + r * a_.row_stride, a_.dtype,
                               a_.inner_stride, depth);
  }
  if (!has_corrections_) return;
  for (std::int64_t r = 0; r < block.rows; ++r) row_zeros_[r] = a_zero_.at(block.m + r);
}

template <DotKind Kind>
void DotRun<Kind>::add_panel(const Block& block, std::int64_t n, Sum* c, std::int64_t c_row, std::int64_t first,
                             std::int64_t depth) {
  const std::int64_t columns = isa::least(block.columns - n, kWidth);
  DotArgs<Kind> args{};
  args.a = row_memory_;
  args.a_row = groups_ * kParts;
  args.b = panel_at(block.n + n, columns, first, depth);
  args.c = c + n;
  args.c_row = c_row;
  args.groups = groups_;
  args.columns = static_cast<int>(columns);
  args.accumulate = first != 0;
  args.prefetch = packed_;
  if (has_corrections_ && correct(block, block.n + n, columns, c + n, c_row, first, depth)) args.accumulate = true;
  multiply_groups<Kind>(args, block.rows);
}

// The groups of a panel, packed here where they are not yet; column_sums_ are those of the k block, or of all k at the
// first block and 0 at the others.
template <DotKind Kind>
const std::uint32_t* DotRun<Kind>::panel_at(std::int64_t column, std::int64_t columns, std::int64_t first,
                                            std::int64_t depth) {
  if (packed_) {
    const char* panel = b_.address + column / kWidth * isa::panel_bytes(b_.dtype, f_.k, kWidth);
    const auto* words = reinterpret_cast<const std::uint32_t*>(panel);
    const std::uint32_t* sums = words + isa::tiles_of(f_.k, kGroup) * kWidth;
    if (has_corrections_) {
      for (std::int64_t i = 0; i < kWidth; ++i) column_sums_[i] = first == 0 ? sums[i] : 0;
    }
    return words + first / kGroup * kWidth;
  }
  if (f_.panel == 0) {
    pack_groups(panel_memory_, kWidth, b_.address + column * b_.inner_stride + first * b_.row_stride, b_.dtype,
                b_.row_stride, b_.inner_stride, depth, columns, has_corrections_ ? column_sums_ : nullptr);
    return panel_memory_;
  }
  // Packed for other kernels: the columns may cross the borders of its panels.
  for (std::int64_t i = 0; i < kWidth; ++i) {
    const std::int64_t from = column + i;
    const bool exists = i < columns;
    const auto* panel = reinterpret_cast<const std::uint32_t*>(
        b_.address + from / f_.panel * isa::panel_bytes(b_.dtype, f_.k, f_.panel));
    for (std::int64_t g = 0; g < groups_; ++g) {
      panel_memory_[g * kWidth + i] = exists ? panel[(first / kGroup + g) * f_.panel + from % f_.panel] : 0;
    }
    if (!has_corrections_) continue;
    const std::int64_t sums = isa::tiles_of(f_.k, kGroup) * f_.panel;
    column_sums_[i] = exists && first == 0 ? panel[sums + from % f_.panel] : 0;
  }
  return panel_memory_;
}

// Adds (sets, at the first block) what the zero points contribute to a panel of c; false where that is nothing.
template <DotKind Kind>
bool DotRun<Kind>::correct(const Block& block, std::int64_t n, std::int64_t columns, Sum* c, std::int64_t c_row,
                           std::int64_t first, std::int64_t depth) {
  if constexpr (Kind != DotKind::kHalves) {
    for (std::int64_t i = 0; i < columns; ++i) column_zeros_[i] = b_zero_.at(n + i);
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const std::uint32_t zero = row_zeros_[r];
      const std::uint32_t factor = static_cast<std::uint32_t>(depth) * zero - row_sums_[r];
      Sum* to = c + r * c_row;
      if (first == 0) {
        for (std::int64_t i = 0; i < columns; ++i) to[i] = factor * column_zeros_[i] - zero * column_sums_[i];
      } else {
        for (std::int64_t i = 0; i < columns; ++i) to[i] += factor * column_zeros_[i] - zero * column_sums_[i];
      }
    }
  }
  return true;
}

template <DotKind Kind>
void DotRun<Kind>::finish(const Block& block, Sum* c, std::int64_t c_row) {
  index_[inst_.rank() - 1] = block.m;
  const std::int64_t tile_row = block.m - task_.row_begin;
  run_phases(inst_.phases<isa::DotFields>(), inst_.end(), stream_set<isa::DotFields>(inst_), context_, index_, tile_row,
             block.rows, block.n, block.columns, {reinterpret_cast<char*>(c - tile_row * c_row), c_row * 4});
}

}  // namespace

void exec_Dot(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::DotFields>()), number);
  if (inst.stream<isa::DotFields>(0).dtype() == DType::kBF16) {
    return DotRun<DotKind::kHalves>(inst, context, task).run();
  }
#if defined(TW_LEVEL_AVX512)
  DotRun<DotKind::kBytes>(inst, context, task).run();
#else
  DotRun<DotKind::kBytesInParts>(inst, context, task).run();
#endif
}

#if defined(TW_LEVEL_AVX2)
void exec_DotOfVnni(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  if (inst.stream<isa::DotFields>(0).dtype() == DType::kBF16) return exec_Dot(inst, context, number);
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::DotFields>()), number);
  DotRun<DotKind::kBytes>(inst, context, task).run();
}
#endif

}  // namespace tilewright::vm::cpu::TW_LEVEL
