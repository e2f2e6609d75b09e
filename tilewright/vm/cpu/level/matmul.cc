// The matmul instruction: one task is a tile of the result. Operands in the compute type are read in place (a with any
// strides, b with unit inner stride or packed); others are copied to private scratch a block at a time. The finished
// block goes through the epilogue phases while it is in cache. Sums run in the order of k, whatever the tiles. HOT: no
// allocation, no call but kernels, copies and phases.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/matmul_kernel.h"
#include "tilewright/vm/cpu/level/pack_copy.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// Private scratch: the block of c, then copied rows of a, then a copied panel of b.
constexpr std::int64_t kBlockBytes = 3 << 19;
constexpr std::int64_t kRowsBytes = 3 << 19;
constexpr std::int64_t kCopyDepth = 1024;  // longest k block where operands are copied
constexpr std::int64_t kBlockColumns = 4096;
static_assert(kBlockBytes + kRowsBytes + kCopyDepth * kMaxVecs * kVectorBytes <= kPrivateBytes);

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
  return {address, head.dtype(), rank == 0 ? 0 : head.strides()[rank - 1], head.inner_stride};
}

// One task, or a part of it that fits private scratch.
struct Block {
  std::int64_t m, rows, n, columns;
};

template <typename T>
class TileRun {
 public:
  TileRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  void run();

 private:
  void compute(const Block& block);
  void add_depth(const Block& block, T* c, std::int64_t c_row, std::int64_t first, std::int64_t depth);
  void finish(const Block& block, T* c, std::int64_t c_row);
  void multiply(const Block& block, PanelArgs<T> args, std::int64_t first);
  void copy_panel(std::int64_t column, std::int64_t columns, std::int64_t first, std::int64_t depth);

  static constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  const isa::Inst& inst_;
  const TaskContext& context_;
  const isa::Task& task_;
  const isa::MatMulFields& f_;
  std::int64_t index_[isa::kMaxRank] = {};
  Matrix a_, b_, c_;
  bool copy_a_, copy_b_, direct_c_, has_phases_;
  std::int64_t depth_;  // of a k block
  char* block_memory_;
  T* row_memory_;
  T* panel_memory_;
};

template <typename T>
TileRun<T>::TileRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : inst_(inst), context_(context), task_(task), f_(inst.fields<isa::MatMulFields>()) {
  const int rank = inst.rank();
  for (int d = 0; d + 1 < rank; ++d) index_[d] = task.index[d];
  a_ = place(inst.stream<isa::MatMulFields>(0), rank, context, index_);
  b_ = place(inst.stream<isa::MatMulFields>(1), rank, context, index_);
  has_phases_ = inst.phases<isa::MatMulFields>() != inst.end();
  const isa::StreamHead& c = inst.stream<isa::MatMulFields>(2);
  c_ = has_phases_ ? Matrix{nullptr, c.dtype(), 0, 0} : place(c, rank, context, index_);
  copy_a_ = !is_native<T>(a_.dtype);
  copy_b_ = !is_native<T>(b_.dtype) || (f_.panel == 0 ? b_.inner_stride != kBytes : f_.panel != kPanel<T>);
  direct_c_ = !has_phases_ && is_native<T>(c_.dtype) && c_.inner_stride == kBytes;
  depth_ = f_.k_block < 1 ? f_.k : f_.k_block;
  if ((copy_a_ || f_.panel != kPanel<T>)&&depth_ > kCopyDepth) depth_ = kCopyDepth;
  block_memory_ = reinterpret_cast<char*>(context.private_scratch);
  row_memory_ = reinterpret_cast<T*>(block_memory_ + kBlockBytes);
  panel_memory_ = reinterpret_cast<T*>(block_memory_ + kBlockBytes + kRowsBytes);
}

template <typename T>
void TileRun<T>::run() {
  const std::int64_t width = task_.inner_end - task_.inner_begin;
  const std::int64_t most_columns = direct_c_ || width <= kBlockColumns ? width : kBlockColumns / kPanel<T> * kPanel<T>;
  std::int64_t most_rows = task_.row_end - task_.row_begin;
  const auto limit_rows = [&](std::int64_t bytes, std::int64_t row) {
    const std::int64_t rows = bytes / (row * kBytes) / kRows * kRows;
    if (rows < most_rows) most_rows = rows;
  };
  if (!direct_c_) limit_rows(kBlockBytes, most_columns + kLanes<T>);
  if (copy_a_) limit_rows(kRowsBytes, kCopyDepth);
  for (std::int64_t n = task_.inner_begin; n < task_.inner_end; n += most_columns) {
    for (std::int64_t m = task_.row_begin; m < task_.row_end; m += most_rows) {
      compute({m, isa::least(most_rows, task_.row_end - m), n, isa::least(most_columns, task_.inner_end - n)});
    }
  }
}

template <typename T>
void TileRun<T>::compute(const Block& block) {
  T* c = reinterpret_cast<T*>(block_memory_);
  std::int64_t c_row = (block.columns + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  if (direct_c_) {
    c = reinterpret_cast<T*>(c_.address + block.m * c_.row_stride + block.n * kBytes);
    c_row = c_.row_stride / kBytes;
  }
  std::int64_t first = 0;
  do {  // once with depth 0 where k is 0: the sums are 0 then
    const std::int64_t depth = isa::least(depth_, f_.k - first);
    add_depth(block, c, c_row, first, depth);
    first += depth_;
  } while (first < f_.k);
  if (!direct_c_) finish(block, c, c_row);
}

// c (+)= a[rows, first .. first + depth) * b[first .. first + depth, columns]
template <typename T>
void TileRun<T>::add_depth(const Block& block, T* c, std::int64_t c_row, std::int64_t first, std::int64_t depth) {
  PanelArgs<T> args{};
  args.c = c;
  args.c_row = c_row;
  args.k = depth;
  args.accumulate = first != 0;
  const char* a = a_.address + block.m * a_.row_stride + first * a_.inner_stride;
  if (copy_a_) {
    for (std::int64_t r = 0; r < block.rows; ++r) {
      widen_row<T>(row_memory_ + r * depth, a + r * a_.row_stride, a_.dtype, a_.inner_stride, depth);
    }
    args.a = row_memory_;
    args.a_row = depth;
    args.a_step = 1;
  } else {
    args.a = reinterpret_cast<const T*>(a);
    args.a_row = a_.row_stride / kBytes;
    args.a_step = a_.inner_stride / kBytes;
  }
  multiply(block, args, first);
}

template <typename T>
void TileRun<T>::multiply(const Block& block, PanelArgs<T> args, std::int64_t first) {
  T* const c = args.c;
  bool fetched = false;  // the panel, by the calls of the one before
  for (std::int64_t n = 0; n < block.columns;) {
    const bool wide = !copy_b_ && wants_wide(block.rows) && block.columns - n >= kWidePanels * kPanel<T>;
    const std::int64_t left = block.columns - n;
    const std::int64_t columns = wide            ? kWidePanels * kPanel<T>
                                 : f_.panel != 0 ? isa::least(left, kPanel<T>)
                                                 : even_columns<T>(left);
    const std::int64_t column = block.n + n;
    args.c = c + n;
    args.columns = static_cast<int>(columns);
    if (copy_b_ || (f_.panel == 0 && overruns<T>(columns))) {
      copy_panel(column, columns, first, args.k);
      args.b = panel_memory_;
      args.b_step = whole_vectors<T>(columns);
      args.prefetch = 0;
      args.next = nullptr;
    } else if (f_.panel != 0) {
      args.b = reinterpret_cast<const T*>(b_.address) + (column / kPanel<T> * f_.k + first) * kPanel<T>;
      args.b_step = kPanel<T>;
      args.prefetch = fetched ? 0 : 48 * kPanel<T>;
      args.next = left > columns ? args.b + f_.k * kPanel<T> : nullptr;
    } else {
      args.b = reinterpret_cast<const T*>(b_.address + first * b_.row_stride) + column;
      args.b_step = b_.row_stride / kBytes;
      args.prefetch = fetched ? 0 : 8 * args.b_step;
      args.next = left > columns ? args.b + columns : nullptr;
    }
    if (wide) {
      multiply_wide<T>(args, f_.panel != 0 ? f_.k * kPanel<T> : kPanel<T>, block.rows);
    } else {
      multiply_panel<T>(args, block.rows);
    }
    fetched = args.next != nullptr && !wide && block.rows > 2 * kRows;
    n += columns;
  }
}

// Brings columns of b that the kernels cannot read where they lie to private scratch, as one panel.
template <typename T>
void TileRun<T>::copy_panel(std::int64_t column, std::int64_t columns, std::int64_t first, std::int64_t depth) {
  const std::int64_t width = whole_vectors<T>(columns);
  if (f_.panel == 0) {
    return pack_panel<T>(panel_memory_, width, b_.address + column * b_.inner_stride + first * b_.row_stride, b_.dtype,
                         b_.row_stride, b_.inner_stride, depth, columns);
  }
  // Packed for other kernels, or in a narrower type: the columns may cross the borders of its panels.
  const std::int64_t size = byte_size(b_.dtype);
  for (std::int64_t n = 0; n < columns;) {
    const std::int64_t panel = (column + n) / f_.panel, inside = (column + n) % f_.panel;
    const std::int64_t run = isa::least(f_.panel - inside, columns - n);
    const char* from = b_.address + ((panel * f_.k + first) * f_.panel + inside) * size;
    for (std::int64_t k = 0; k < depth; ++k) {
      widen_row<T>(panel_memory_ + k * width + n, from + k * f_.panel * size, b_.dtype, size, run);
    }
    n += run;
  }
}

template <typename T>
void TileRun<T>::finish(const Block& block, T* c, std::int64_t c_row) {
  const isa::Word* phases = inst_.phases<isa::MatMulFields>();
  if (has_phases_) {
    if (inst_.rank() > 0) index_[inst_.rank() - 1] = block.m;
    const std::int64_t tile_row = block.m - task_.row_begin;
    run_phases(phases, inst_.end(), stream_set<isa::MatMulFields>(inst_), context_, index_, tile_row, block.rows,
               block.n, block.columns, {reinterpret_cast<char*>(c - tile_row * c_row), c_row * kBytes});
    return;
  }
  for (std::int64_t r = 0; r < block.rows; ++r) {
    narrow_row<T>(c_.address + (block.m + r) * c_.row_stride + block.n * c_.inner_stride, c_.dtype, c_.inner_stride,
                  c + r * c_row, block.columns);
  }
}

template <typename T>
void run_tile(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  TileRun<T>(inst, context, task).run();
}

}  // namespace

void exec_MatMul(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::MatMulFields>()), number);
  switch (inst.stream<isa::MatMulFields>(0).dtype()) {
    case DType::kF64:
      return run_tile<double>(inst, context, task);
    case DType::kI64:
      return run_tile<std::uint64_t>(inst, context, task);
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kI32:
    case DType::kBool:
      return run_tile<std::uint32_t>(inst, context, task);
    default:
      return run_tile<float>(inst, context, task);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
