// The conv instruction. A task makes a block of output channels x positions. Windows of one element with step 1 are a
// matrix product: x is the matrix, and the weights are read where they lie. Planes of one channel have a way of their
// own (conv_depthwise.cc). Others read a slab (conv_direct.cc), if it fits private scratch; if not, the windows of one
// panel of positions become a matrix [channels and taps][positions] there, a block of terms at a time. The sums run in
// the order of channels and taps, after the bias. HOT: no allocation, no call but kernels and copies.
#include "tilewright/vm/cpu/level/conv_depthwise.h"
#include "tilewright/vm/cpu/level/conv_direct.h"
#include "tilewright/vm/cpu/level/conv_operands.h"
#include "tilewright/vm/cpu/level/matmul_kernel.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kTerms = 512;  // terms of the sums per block: with 48 positions 96 KiB of f32
template <typename T>
inline constexpr std::int64_t kMostColumns = kMaxVecs* kLanes<T>;  // positions of one call of the kernels
static_assert(kTerms * kMaxVecs * kVectorBytes <= kPrivateBytes);

template <typename T>
class ConvRun : ConvOperands {
 public:
  ConvRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  bool is_matrix() const;
  void run(bool matrix);

 private:
  struct Run {                  // positions of a panel in one row of the output
    std::int64_t first, count;  // columns of the panel
    std::int64_t at[3];         // output coordinates of the first
  };
  int cut_runs(std::int64_t position, std::int64_t columns, Run* runs) const;
  void start_sums(std::int64_t position, std::int64_t columns);
  void fill_panel(const Run* runs, int count, std::int64_t first, std::int64_t terms, std::int64_t columns);
  void fill_run(T* to, const Run& run, std::int64_t channel, std::int64_t tap) const;
  void multiply_panel_at(std::int64_t position, std::int64_t columns, std::int64_t first, std::int64_t terms,
                         const T* b, std::int64_t b_step);

  static constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  const isa::Inst& inst_;
  std::int64_t terms_;
  T* panel_;
};

template <typename T>
ConvRun<T>::ConvRun(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : ConvOperands(inst, context, task), inst_(inst) {
  terms_ = f_.channels * taps_;
  panel_ = reinterpret_cast<T*>(context.private_scratch);
}

template <typename T>
bool ConvRun<T>::is_matrix() const {
  bool good = x_channel_ % kBytes == 0 && axes_[2].step == kBytes && taps_ == 1;
  for (const WindowAxis& axis : axes_)
    good = good && axis.stride == 1 && axis.low == 0 && axis.spread == 1 && axis.in == axis.out;
  return good && (axes_[1].in == 1 || axes_[1].step == kBytes * axes_[2].in) &&
         (axes_[0].in == 1 || axes_[0].step == kBytes * axes_[2].in * axes_[1].in);
}

template <typename T>
void ConvRun<T>::run(bool matrix) {
  Run runs[kMostColumns<T>];
  for (std::int64_t position = task_.inner_begin; position < task_.inner_end;) {
    const std::int64_t columns = even_columns<T>(task_.inner_end - position);
    start_sums(position, columns);
    if (matrix && !overruns<T>(columns)) {
      multiply_panel_at(position, columns, 0, terms_, reinterpret_cast<const T*>(x_) + position, x_channel_ / kBytes);
    } else {
      const int count = cut_runs(position, columns, runs);
      for (std::int64_t first = 0; first < terms_; first += kTerms) {
        const std::int64_t terms = isa::least(kTerms, terms_ - first);
        fill_panel(runs, count, first, terms, columns);
        multiply_panel_at(position, columns, first, terms, panel_, kMostColumns<T>);
      }
    }
    position += columns;
  }
}

template <typename T>
int ConvRun<T>::cut_runs(std::int64_t position, std::int64_t columns, Run* runs) const {
  int count = 0;
  for (std::int64_t column = 0; column < columns; ++count) {
    const std::int64_t p = position + column, last = p % f_.out3, plane = p / f_.out3;
    const std::int64_t length = isa::least(f_.out3 - last, columns - column);
    runs[count] = {column, length, {plane / f_.out2, plane % f_.out2, last}};
    column += length;
  }
  return count;
}

template <typename T>
void ConvRun<T>::start_sums(std::int64_t position, std::int64_t columns) {
  for (std::int64_t row = task_.row_begin; row < task_.row_end; ++row) {
    T bias{};
    if (bias_ != nullptr) __builtin_memcpy(&bias, bias_ + row * bias_row_, sizeof bias);
    T* to = reinterpret_cast<T*>(to_ + row * to_row_) + position;
    for (std::int64_t i = 0; i < columns; ++i) to[i] = bias;
  }
}

template <typename T>
void ConvRun<T>::fill_panel(const Run* runs, int count, std::int64_t first, std::int64_t terms, std::int64_t columns) {
  std::int64_t channel = first / taps_, tap = first % taps_;
  for (std::int64_t term = 0; term < terms; ++term) {
    T* to = panel_ + term * kMostColumns<T>;
    for (int i = 0; i < count; ++i) fill_run(to + runs[i].first, runs[i], channel, tap);
    for (std::int64_t i = columns; i < (columns + kLanes<T> - 1) / kLanes<T> * kLanes<T>; ++i) to[i] = T{};
    if (++tap == taps_) {
      tap = 0;
      ++channel;
    }
  }
}

template <typename T>
void ConvRun<T>::fill_run(T* to, const Run& run, std::int64_t channel, std::int64_t tap) const {
  const std::int64_t t3 = tap % f_.window3, t2 = tap / f_.window3 % f_.window2, t1 = tap / f_.window3 / f_.window2;
  const std::int64_t a = coordinate(axes_[0], run.at[0], t1), b = coordinate(axes_[1], run.at[1], t2);
  if (a < 0 || b < 0) {
    for (std::int64_t i = 0; i < run.count; ++i) to[i] = T{};
    return;
  }
  const WindowAxis& axis = axes_[2];
  const char* from = x_ + channel * x_channel_ + a * axes_[0].step + b * axes_[1].step;
  if (axis.spread != 1) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t c = coordinate(axis, run.at[2] + i, t3);
      to[i] = c < 0 ? T{} : load_element<T>(from + c * axis.step);
    }
    return;
  }
  const std::int64_t start = run.at[2] * axis.stride - axis.low + t3 * axis.dilation;
  const Inside part = inside(start, axis.stride, axis.in, run.count);
  for (std::int64_t i = 0; i < part.begin; ++i) to[i] = T{};
  const std::int64_t step = axis.stride * axis.step;
  from += start * axis.step;
  std::int64_t i = part.begin;
  if (step == kBytes) {
    for (; i + kLanes<T> <= part.end; i += kLanes<T>) store<T>(to + i, load<T>(from + i * kBytes));
  }
  for (; i < part.end; ++i) to[i] = load_element<T>(from + i * step);
  for (; i < run.count; ++i) to[i] = T{};
}

template <typename T>
void ConvRun<T>::multiply_panel_at(std::int64_t position, std::int64_t columns, std::int64_t first, std::int64_t terms,
                                   const T* b, std::int64_t b_step) {
  PanelArgs<T> args{};
  args.a = reinterpret_cast<const T*>(w_ + task_.row_begin * w_row_) + first;
  args.a_row = w_row_ / kBytes;
  args.a_step = 1;
  args.b = b;
  args.b_step = b_step;
  args.c = reinterpret_cast<T*>(to_ + task_.row_begin * to_row_) + position;
  args.c_row = to_row_ / kBytes;
  args.k = terms;
  args.columns = static_cast<int>(columns);
  args.accumulate = true;
  multiply_panel<T>(args, task_.row_end - task_.row_begin);
}

template <typename T>
void run_conv(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  if constexpr (__is_same(T, float)) {
    if (convolve_depthwise(inst, context, task)) return;
  }
  ConvRun<T> run(inst, context, task);
  const bool matrix = run.is_matrix();
  if (matrix || !convolve_slabs<T>(inst, context, task)) run.run(matrix);
}

}  // namespace

void exec_Conv(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::ConvFields>()), number);
  switch (inst.stream<isa::ConvFields>(0).dtype()) {
    case DType::kF32:
      return run_conv<float>(inst, context, task);
    case DType::kF64:
      return run_conv<double>(inst, context, task);
    case DType::kI32:
      return run_conv<std::uint32_t>(inst, context, task);
    default:
      return run_conv<std::uint64_t>(inst, context, task);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
