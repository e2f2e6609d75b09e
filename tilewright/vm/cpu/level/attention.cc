// The attention instruction: one task is a tile of queries of one head. Blocks of rows meet blocks of keys: scores by
// the matmul kernels with k transposed into panels, an online softmax, values by the kernels again. The block of keys
// is the instruction's, and every sum runs in the order of the depth or the keys, so the bits of a row do not depend on
// the other rows of its tile. Several row blocks share the packed keys where they fit private scratch. HOT: no
// allocation, no call but kernels, copies and row functions.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/attention_softmax.h"
#include "tilewright/vm/cpu/level/matmul_kernel.h"
#include "tilewright/vm/cpu/level/pack_copy.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kWidth = kPanel<float>;
constexpr std::int64_t kRowBlock = 72;      // rows per block where they share packed keys
constexpr std::int64_t kMaxRowBlock = 288;  // more rows where every block packs its keys anew
constexpr std::int64_t kMaxKeyTile = 960;   // whole panels on every level
constexpr std::int64_t kScorePad = 16;      // floats between rows of scores: rows a power of two apart evict each other
constexpr std::int64_t kMaxDepth = 1024;    // of packed keys and of copied queries, in one piece
constexpr std::int64_t kFewRows = 8;        // so few rows read v where it lies
constexpr std::int64_t kMaxValues = 16384;  // columns of the result at a time where it is narrowed

// Private scratch.
constexpr std::int64_t kScoreBytes = 1 << 20;
constexpr std::int64_t kPackedBytes = 2 << 20;  // keys and values
constexpr std::int64_t kQueryBytes = 512 << 10;
constexpr std::int64_t kOutBytes = 256 << 10;
constexpr std::int64_t kBiasBytes = 4 << 10;
constexpr std::int64_t kStateBytes = 4 << 10;
constexpr std::int64_t kPanelBytes = kMaxKeyTile * kMaxVecs * kVectorBytes;
static_assert(kScoreBytes + kPackedBytes + kQueryBytes + kOutBytes + kBiasBytes + kStateBytes + kPanelBytes <=
              kPrivateBytes);
static_assert(kMaxRowBlock * static_cast<std::int64_t>(sizeof(SoftmaxRow)) <= kStateBytes);
static_assert(kMaxDepth * kWidth * 4 <= kPackedBytes && kMaxKeyTile * 4 <= kBiasBytes && kMaxKeyTile % kWidth == 0);

struct Rows {
  char* address;
  DType dtype;
  std::int64_t stride;  // bytes
  char* row(std::int64_t i) const { return address + i * stride; }
  const float* floats(std::int64_t i) const { return reinterpret_cast<const float*>(row(i)); }
};

class AttentionRun {
 public:
  AttentionRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  void run();

 private:
  void run_rows(std::int64_t row, std::int64_t rows);
  void pack_shared(std::int64_t keys);
  void score(std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t keys);
  void widen_queries(std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t depth);
  void multiply_values(std::int64_t rows, std::int64_t key, std::int64_t keys, float* out, std::int64_t out_row);
  const float* bias(std::int64_t row, std::int64_t key, std::int64_t keys);
  std::int64_t attended(std::int64_t row) const { return f_.causal != 0 ? isa::least(f_.keys, row + 1) : f_.keys; }

  const isa::AttentionFields& f_;
  const isa::Task& task_;
  Rows q_, k_, v_, out_;
  std::int64_t q_size_, v_size_, out_size_;
  const isa::StreamHead* mask_ = nullptr;
  char* mask_address_ = nullptr;
  float scale_;
  std::int64_t key_tile_, score_row_, row_block_;
  bool packed_, copy_out_;
  std::int64_t shared_keys_ = 0;  // packed for the whole task
  std::int64_t first_value_ = 0, values_;
  std::int64_t bias_row_ = -1, bias_key_ = -1;  // what bias_memory_ holds
  float *scores_, *keys_, *packed_values_ = nullptr, *queries_, *out_memory_, *bias_memory_, *panel_;
  SoftmaxRow* states_;
};

char* place(const isa::StreamHead& head, const TaskContext& context, std::int64_t batch, std::int64_t head_index) {
  return reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset + batch * head.strides()[0] +
         head_index * head.strides()[1];
}

AttentionRun::AttentionRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : f_(inst.fields<isa::AttentionFields>()), task_(task), values_(inst.inner()) {
  const std::int64_t batch = task.index[0], head = task.index[1];
  const std::int64_t kv_head = head * f_.kv_heads / inst.dims<isa::AttentionFields>()[1];
  const auto rows = [&](int s, std::int64_t at_head) {
    const isa::StreamHead& stream = inst.stream<isa::AttentionFields>(s);
    return Rows{place(stream, context, batch, at_head), stream.dtype(), stream.strides()[2]};
  };
  q_ = rows(0, head);
  k_ = rows(1, kv_head);
  v_ = rows(2, kv_head);
  out_ = rows(3, head);
  if (inst.num_streams() > 4) {
    mask_ = &inst.stream<isa::AttentionFields>(4);
    mask_address_ = place(*mask_, context, batch, head);
  }
  q_size_ = byte_size(q_.dtype);
  v_size_ = byte_size(v_.dtype);
  out_size_ = byte_size(out_.dtype);
  copy_out_ = out_.dtype != DType::kF32;
  scale_ = static_cast<float>(__builtin_bit_cast(double, f_.scale));
  key_tile_ = isa::least((f_.key_tile + kWidth - 1) / kWidth * kWidth, kMaxKeyTile);
  score_row_ = key_tile_ + kScorePad;
  const std::int64_t row_floats = f_.depth + values_ + 2 * kWidth;
  packed_ = task.row_end - task.row_begin > kRowBlock && f_.depth <= kMaxDepth &&
            f_.keys + kWidth <= kPackedBytes / 4 / row_floats;
  row_block_ = packed_ ? kRowBlock : isa::least(kMaxRowBlock, kScoreBytes / 4 / score_row_);
  row_block_ = isa::least(row_block_, kQueryBytes / 4 / (isa::least(f_.depth, kMaxDepth) + 1));
  if (copy_out_) row_block_ = isa::least(row_block_, kOutBytes / 4 / (isa::least(values_, kMaxValues) + 1));
  char* memory = reinterpret_cast<char*>(context.private_scratch);
  const auto take = [&memory](std::int64_t bytes) { return reinterpret_cast<float*>((memory += bytes) - bytes); };
  scores_ = take(kScoreBytes);
  keys_ = take(kPackedBytes);
  queries_ = take(kQueryBytes);
  out_memory_ = take(kOutBytes);
  bias_memory_ = take(kBiasBytes);
  panel_ = take(kPanelBytes);
  states_ = reinterpret_cast<SoftmaxRow*>(take(kStateBytes));
}

void AttentionRun::run() {
  const std::int64_t all = values_, most = copy_out_ ? kMaxValues : all;
  if (packed_) pack_shared(attended(task_.row_end - 1));
  for (std::int64_t first = 0; first < all; first += most) {
    first_value_ = first;
    values_ = isa::least(most, all - first);
    for (std::int64_t row = task_.row_begin; row < task_.row_end; row += row_block_) {
      run_rows(row, isa::least(row_block_, task_.row_end - row));
    }
  }
}

void AttentionRun::run_rows(std::int64_t row, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) states_[r] = SoftmaxRow{};
  float* const out = copy_out_ ? out_memory_ : reinterpret_cast<float*>(out_.row(row)) + first_value_;
  const std::int64_t out_row = copy_out_ ? values_ : out_.stride / 4;
  if (f_.depth <= kMaxDepth) widen_queries(row, rows, 0, f_.depth);
  const std::int64_t last_key = attended(row + rows - 1);
  for (std::int64_t key = 0; key < last_key; key += key_tile_) {
    const std::int64_t keys = isa::least(key_tile_, last_key - key);
    score(row, rows, key, keys);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t visible = attended(row + r) - key;
      const std::int64_t count = visible < 0 ? 0 : isa::least(visible, keys);
      const float keep =
          softmax_step(scores_ + r * score_row_, count, keys, scale_, bias(row + r, key, count), states_[r]);
      if (key != 0 && keep != 1) scale_row(out + r * out_row, values_, keep);
    }
    multiply_values(rows, key, keys, out, out_row);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const line = out + r * out_row;
    if (last_key == 0) {
      for (std::int64_t i = 0; i < values_; ++i) line[i] = 0;
    }
    const bool is_zero = f_.empty_is_nan == 0 || attended(row + r) == 0;
    divide_row(line, values_, states_[r].sum == 0 && is_zero ? 1 : states_[r].sum);
    if (copy_out_)
      narrow_row<float>(out_.row(row + r) + first_value_ * out_size_, out_.dtype, out_size_, line, values_);
  }
}

// The mask of a row as terms to add, or null. A mask that is the same for all rows is converted once.
const float* AttentionRun::bias(std::int64_t row, std::int64_t key, std::int64_t keys) {
  if (mask_ == nullptr) return nullptr;
  const std::int64_t row_stride = mask_->strides()[2], step = mask_->inner_stride;
  const char* from = mask_address_ + row * row_stride + key * step;
  const bool is_bool = mask_->dtype() == DType::kBool;
  if (mask_->dtype() == DType::kF32 && step == 4) return reinterpret_cast<const float*>(from);
  if (row_stride == 0 && f_.causal == 0 && bias_row_ >= 0 && bias_key_ == key) return bias_memory_;
  bias_row_ = row;
  bias_key_ = key;
  if (is_bool) {
    for (std::int64_t i = 0; i < keys; ++i) bias_memory_[i] = from[i * step] != 0 ? 0.0f : -__builtin_inff();
  } else {
    widen_row<float>(bias_memory_, from, mask_->dtype(), step, keys);
  }
  return bias_memory_;
}

// Keys and values that the task needs, as panels: keys [panel][depth][width], values [columns][key][width].
void AttentionRun::pack_shared(std::int64_t keys) {
  for (std::int64_t key = 0; key < keys; key += kWidth) {
    const std::int64_t columns = isa::least(kWidth, keys - key);
    pack_panel<float>(keys_ + key * f_.depth, whole_vectors<float>(columns), k_.row(key), k_.dtype, byte_size(k_.dtype),
                      k_.stride, f_.depth, columns);
  }
  shared_keys_ = keys;
  packed_values_ = keys_ + whole_vectors<float>(keys) * f_.depth;
  for (std::int64_t n = 0; n < values_;) {
    const std::int64_t columns = even_columns<float>(values_ - n);
    pack_panel<float>(packed_values_ + n * keys, whole_vectors<float>(columns), v_.row(0) + n * v_size_, v_.dtype,
                      v_.stride, v_size_, keys, columns);
    n += columns;
  }
}

// Queries lie far apart in a projection of all heads: side by side they stay in L1.
void AttentionRun::widen_queries(std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t depth) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t byte = 0; byte < depth * q_size_; byte += 64)
      __builtin_prefetch(q_.row(row + r + 8) + first * q_size_ + byte);
    widen_row<float>(queries_ + r * depth, q_.row(row + r) + first * q_size_, q_.dtype, q_size_, depth);
  }
}

// scores = q k^T of rows and keys, not scaled.
void AttentionRun::score(std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t keys) {
  PanelArgs<float> args{};
  args.c_row = score_row_;
  args.a = queries_;
  args.a_step = 1;
  std::int64_t first = 0;
  do {
    const std::int64_t depth = packed_ ? f_.depth : isa::least(kMaxDepth, f_.depth - first);
    if (f_.depth > kMaxDepth) widen_queries(row, rows, first, depth);
    args.a_row = depth;
    args.k = depth;
    args.accumulate = first != 0;
    for (std::int64_t n = 0; n < keys; n += kWidth) {
      // The width of a shared panel follows from all keys of the task, so it may be more than this block needs.
      const std::int64_t columns = isa::least(kWidth, (packed_ ? shared_keys_ - key : keys) - n);
      args.columns = static_cast<int>(whole_vectors<float>(columns));
      args.b = keys_ + (packed_ ? (key + n) * f_.depth : 0);
      args.b_step = args.columns;
      if (!packed_) {
        const std::int64_t size = byte_size(k_.dtype);
        pack_panel<float>(keys_, args.columns, k_.row(key + n) + first * size, k_.dtype, size, k_.stride, depth,
                          columns);
      }
      args.c = scores_ + n;
      multiply_panel<float>(args, rows);
    }
    first += depth;
  } while (first < f_.depth);
}

// out (+)= weights * v; the first block of keys writes.
void AttentionRun::multiply_values(std::int64_t rows, std::int64_t key, std::int64_t keys, float* out,
                                   std::int64_t out_row) {
  PanelArgs<float> args{};
  args.a = scores_;
  args.a_row = score_row_;
  args.a_step = 1;
  args.c_row = out_row;
  args.k = keys;
  args.accumulate = key != 0;
  for (std::int64_t n = 0; n < values_;) {
    const std::int64_t columns = even_columns<float>(values_ - n);
    const char* from = v_.row(key) + (first_value_ + n) * v_size_;
    args.columns = static_cast<int>(columns);
    args.c = out + n;
    if (packed_) {
      args.b_step = whole_vectors<float>(columns);
      args.b = packed_values_ + n * shared_keys_ + key * args.b_step;
    } else if (rows > kFewRows || v_.dtype != DType::kF32 || overruns<float>(columns)) {
      args.b_step = whole_vectors<float>(columns);
      pack_panel<float>(panel_, args.b_step, from, v_.dtype, v_.stride, v_size_, keys, columns);
      args.b = panel_;
    } else {
      args.b = reinterpret_cast<const float*>(from);
      args.b_step = v_.stride / 4;
    }
    multiply_panel<float>(args, rows);
    n += columns;
  }
}

}  // namespace

void exec_Attention(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::AttentionFields>()), number);
  if (task.row_end > task.row_begin && inst.inner() > 0) AttentionRun(inst, context, task).run();
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
