// A block of rows of the output reads lines of x with its pads, so that every tap is one offset for all positions. A
// step of the window above 1 splits the lines by the remainder of their columns. Sums of a few rows and vectors stay in
// registers, in the order of the taps after the bias. HOT: no allocation, no call but kernels.
#include "tilewright/vm/cpu/level/conv_depthwise.h"

#include "tilewright/vm/cpu/level/conv_operands.h"
#include "tilewright/vm/cpu/level/matmul_vector.h"
#include "tilewright/vm/cpu/level/split.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kMostOutputs = 2;  // of a channel: more share an element of x that is loaded once
constexpr std::int64_t kMostTaps = 1024, kMostStep = 16;
constexpr std::int64_t kMostLine = 128 << 10;     // elements
constexpr std::int64_t kBlockElements = 6 << 10;  // of the lines of a block, unless one row of the output needs more
constexpr std::int64_t kLinesBytes = 3 << 20;     // in private scratch, then a line that is being split
constexpr std::int64_t kTapsAt = kLinesBytes + kMostLine * 4 + 4096;
static_assert(kTapsAt + kMostTaps * 8 <= kPrivateBytes);

struct DepthwiseArgs {
  const float* x;            // of the first position
  std::int64_t x_row;        // elements from row to row of the output
  const std::int32_t* taps;  // offsets of the taps
  const float* w;
  std::int64_t count;
  float* to;
  std::int64_t to_row;
  float bias;
  int last;  // elements of the last vector
};

template <int Rows, int Vecs>
void depthwise_kernel(const DepthwiseArgs& args) {
  Vec<float> sums[Rows][Vecs];
  const std::int64_t x_row = args.x_row, to_row = args.to_row;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) sums[r][v] = splat<float>(args.bias);
  }
  const float* const x = args.x;
  for (std::int64_t t = 0; t < args.count; ++t) {
    const Vec<float> w = splat<float>(args.w[t]);
    const float* const from = x + args.taps[t];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v)
        sums[r][v] = multiply_add<float>(w, load<float>(from + r * x_row + v * kLanes<float>), sums[r][v]);
    }
  }
  const PartMask<float> part(args.last);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v + 1 < Vecs; ++v) store<float>(args.to + r * to_row + v * kLanes<float>, sums[r][v]);
    store_part<float>(args.to + r * to_row + (Vecs - 1) * kLanes<float>, part, sums[r][Vecs - 1]);
  }
}

using DepthwiseKernel = void (*)(const DepthwiseArgs& args);
constexpr std::int64_t kMostSums = 8;  // of a kernel: enough to hide the latency of an addition
struct DepthwiseTable {
  DepthwiseKernel by_shape[kMostSums * kMostSums];
};
template <int Rows, int Vecs>
constexpr DepthwiseKernel kernel_of_shape() {
  if constexpr (Rows * Vecs <= kMostSums + 1) {
    return depthwise_kernel<Rows, Vecs>;
  } else {
    return nullptr;
  }
}
template <int... Index>
constexpr DepthwiseTable make_kernels(std::integer_sequence<int, Index...>) {
  return {{kernel_of_shape<Index / kMostSums + 1, Index % kMostSums + 1>()...}};
}
constexpr DepthwiseTable kTable = make_kernels(std::make_integer_sequence<int, kMostSums * kMostSums>{});

class DepthwiseConv : ConvOperands {
 public:
  DepthwiseConv(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  bool fits(std::int64_t positions) const;
  void run();

 private:
  void fill_lines(std::int64_t first, std::int64_t count);
  void fill_line(float* to, const float* row);
  void run_rows(std::int64_t row, std::int64_t first, std::int64_t last);

  const WindowAxis &tall_, &wide_;
  float *lines_, *line_;
  std::int32_t* taps_at_;
  std::int64_t room_, line_room_;  // elements of a remainder of a line, and of a line
  std::int64_t span_;              // columns that are read, pads included
};

DepthwiseConv::DepthwiseConv(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : ConvOperands(inst, context, task), tall_(axes_[1]), wide_(axes_[2]) {
  char* const memory = reinterpret_cast<char*>(context.private_scratch);
  lines_ = reinterpret_cast<float*>(memory);
  line_ = reinterpret_cast<float*>(memory + kLinesBytes);
  taps_at_ = reinterpret_cast<std::int32_t*>(memory + kTapsAt);
  span_ = (wide_.out - 1) * wide_.stride + (wide_.window - 1) * wide_.dilation + 1;
  room_ = (span_ + wide_.stride - 1) / wide_.stride + kLanes<float>;
  line_room_ = room_ * wide_.stride;
}

bool DepthwiseConv::fits(std::int64_t positions) const {
  const WindowAxis& deep = axes_[0];
  if (f_.channels != 1 || task_.inner_begin != 0 || task_.inner_end != positions) return false;
  if (deep.in != 1 || deep.out != 1 || deep.window != 1 || deep.low != 0) return false;
  if (deep.spread != 1 || tall_.spread != 1 || wide_.spread != 1 || wide_.step != 4) return false;
  if (wide_.stride > kMostStep || line_room_ > kMostLine || taps_ > kMostTaps) return false;
  return ((tall_.window - 1) * tall_.dilation + 1) * line_room_ + kMostSums * kLanes<float> <= kLinesBytes / 4;
}

void DepthwiseConv::run() {
  const std::int64_t reach = (tall_.window - 1) * tall_.dilation + 1, all = tall_.out;
  std::int64_t rows = (kBlockElements / line_room_ - reach) / tall_.stride + 1;
  if (rows < 1) rows = 1;
  if (rows > all) rows = all;
  std::int64_t tap = 0;
  for (std::int64_t t2 = 0; t2 < tall_.window; ++t2) {
    for (std::int64_t t3 = 0; t3 < wide_.window; ++t3) {
      const std::int64_t shift = t3 * wide_.dilation;
      const std::int64_t column = wide_.stride == 1 ? shift : shift % wide_.stride * room_ + shift / wide_.stride;
      taps_at_[tap++] = static_cast<std::int32_t>(t2 * tall_.dilation * line_room_ + column);
    }
  }
  for (std::int64_t first = 0; first < all; first += rows) {
    const std::int64_t last = isa::least(first + rows, all);
    fill_lines(first * tall_.stride - tall_.low, (last - first - 1) * tall_.stride + reach);
    for (std::int64_t row = task_.row_begin; row < task_.row_end; ++row) run_rows(row, first, last);
  }
}

// Rows first .. first + count - 1 of x, those outside as zeros.
void DepthwiseConv::fill_lines(std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool inside = first + i >= 0 && first + i < tall_.in;
    fill_line(lines_ + i * line_room_,
              inside ? reinterpret_cast<const float*>(x_ + (first + i) * tall_.step) : nullptr);
  }
}

void DepthwiseConv::fill_line(float* to, const float* row) {
  float* const line = wide_.stride == 1 ? to : line_;
  const Inside part = inside(-wide_.low, 1, wide_.in, span_);
  const auto clear = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kLanes<float>) store<float>(line + i, Vec<float>{});
  };
  if (row == nullptr || part.end == part.begin) {
    clear(0, span_);
  } else {
    const float* const from = row - wide_.low;
    clear(0, part.begin);
    std::int64_t i = part.begin;
    for (; i + kLanes<float> <= part.end; i += kLanes<float>) store<float>(line + i, load<float>(from + i));
    if (i < part.end) {
      const PartMask<float> rest(static_cast<int>(part.end - i));
      store<float>(line + i, load_part<float>(from + i, rest));
    }
    clear(part.end, span_);
  }
  if (wide_.stride == 1) return;
  if (wide_.stride == 2) return split_by_two<float>(to, room_, line, (span_ + 1) / 2);
  for (std::int64_t r = 0; r < wide_.stride; ++r) {
    for (std::int64_t j = 0, i = r; i < span_; ++j, i += wide_.stride) to[r * room_ + j] = line[i];
  }
}

// Rows first .. last - 1 of an output channel.
void DepthwiseConv::run_rows(std::int64_t row, std::int64_t first, std::int64_t last) {
  DepthwiseArgs args{};
  args.x_row = tall_.stride * line_room_;
  args.taps = taps_at_;
  args.w = reinterpret_cast<const float*>(w_ + row * w_row_);
  args.count = taps_;
  args.to_row = wide_.out;
  if (bias_ != nullptr) args.bias = load_element<float>(bias_ + row * bias_row_);
  const std::int64_t vectors = (wide_.out + kLanes<float> - 1) / kLanes<float>;
  const std::int64_t most = last - first == 1 ? kMostSums : vectors == 4 ? 4 : 3;
  for (std::int64_t v = 0, calls = (vectors + most - 1) / most; v < vectors; --calls) {
    const std::int64_t now = (vectors - v + calls - 1) / calls, at_once = isa::least((kMostSums + 1) / now, kMostSums);
    args.last = static_cast<int>(isa::least(wide_.out - (v + now - 1) * kLanes<float>, kLanes<float>));
    for (std::int64_t y = first; y < last;) {
      const std::int64_t steps = (last - y + at_once - 1) / at_once;
      const std::int64_t rows = (last - y + steps - 1) / steps;
      args.x = lines_ + (y - first) * args.x_row + v * kLanes<float>;
      args.to = reinterpret_cast<float*>(to_ + row * to_row_) + y * wide_.out + v * kLanes<float>;
      kTable.by_shape[(rows - 1) * kMostSums + now - 1](args);
      y += rows;
    }
    v += now;
  }
}

}  // namespace

bool convolve_depthwise(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  if (inst.dims<isa::ConvFields>()[2] > kMostOutputs) return false;
  DepthwiseConv run(inst, context, task);
  if (!run.fits(inst.inner())) return false;
  run.run();
  return true;
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
