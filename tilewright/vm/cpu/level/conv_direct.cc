// Convolutions over a slab of x: a task is cut into blocks of whole rows of positions (or of a part of one row) whose
// sums stay in private scratch while channels are added a block at a time, so that the slab, the weights of the block
// and the sums share the second-level cache. HOT: no allocation, no call but kernels and copies.
#include "tilewright/vm/cpu/level/conv_direct.h"

#include "tilewright/vm/cpu/level/conv_operands.h"
#include "tilewright/vm/cpu/level/conv_slab.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kSumBytes = 256 << 10;   // of a block, unless one vector of positions has more
constexpr std::int64_t kSlabBytes = 256 << 10;  // of a block of channels, unless one channel has more
constexpr std::int64_t kMostSlab = 1 << 20;
constexpr std::int64_t kWeightBytes = 256 << 10;  // of a block of channels
constexpr std::int64_t kMostTerms = 16384;
constexpr std::int64_t kMostRows = 1024;  // output channels of a block
constexpr std::int64_t kMostPositions = 4096;
constexpr std::int64_t kPad = kMostConvVecs * kVectorBytes;  // kernels read and write whole vectors
constexpr std::int64_t kTermsAt = kMostSlab + kPad, kSumsAt = kTermsAt + kMostTerms * 8;
static_assert(kSumsAt + kSumBytes + kMostRows * 2 * kMostConvVecs * kVectorBytes + kPad <= kPrivateBytes);

template <typename T>
class DirectConv : ConvOperands {
 public:
  DirectConv(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);
  bool fits() const;
  void run();

 private:
  struct Block {
    Slab slab;
    std::int64_t row_begin, row_end;  // output channels
  };
  void run_lines(std::int64_t plane, std::int64_t line, std::int64_t line_end, std::int64_t first, std::int64_t last);
  void run_part(const ConvAxis (&part)[3]);
  void run_block(const Block& block);
  void add_channels(const Block& block, std::int64_t channel, std::int64_t channels);
  void write(const Block& block) const;

  std::int64_t rows_of_block() const { return isa::least(task_.row_end - task_.row_begin, kMostRows); }
  std::int64_t positions_of_block() const {
    const std::int64_t most = kSumBytes / (rows_of_block() * kBytes) / kLanes<T> * kLanes<T>;
    return isa::least(most < kLanes<T> ? kLanes<T> : most, kMostPositions);
  }

  static constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  T* slab_;
  ConvTerm* terms_;
  T* sums_;
  std::int64_t sums_row_ = 0;
};

template <typename T>
DirectConv<T>::DirectConv(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
    : ConvOperands(inst, context, task) {
  char* const memory = reinterpret_cast<char*>(context.private_scratch);
  slab_ = reinterpret_cast<T*>(memory);
  terms_ = reinterpret_cast<ConvTerm*>(memory + kTermsAt);
  sums_ = reinterpret_cast<T*>(memory + kSumsAt);
}

// One channel of one row of the fewest positions that a block has.
template <typename T>
bool DirectConv<T>::fits() const {
  double bytes = static_cast<double>(kBytes), terms = 1;
  for (int i = 0; i < 3; ++i) {
    const WindowAxis& a = axes_[i];
    const double count = i == 2 ? static_cast<double>(isa::least(a.out, kLanes<T>)) : 1;
    const double span = static_cast<double>((a.window - 1) * a.dilation / a.spread + 2);
    bytes *= i == 0 ? static_cast<double>(a.window) : (count + 1) * static_cast<double>(a.stride) + span;
    terms *= static_cast<double>(a.window);
  }
  return bytes <= static_cast<double>(kMostSlab) && terms <= static_cast<double>(kMostTerms);
}

// The positions of the task as rows of the output: a part of a row, whole rows, a part of a row.
template <typename T>
void DirectConv<T>::run() {
  const std::int64_t width = axes_[2].out, height = axes_[1].out;
  for (std::int64_t p = task_.inner_begin; p < task_.inner_end;) {
    const std::int64_t line = p / width, column = p % width, left = task_.inner_end - p;
    const std::int64_t plane = line / height, row = line % height;
    if (column != 0 || left < width) {
      const std::int64_t count = isa::least(width - column, left);
      run_lines(plane, row, row + 1, column, column + count);
      p += count;
    } else {
      const std::int64_t lines = isa::least(left / width, height - row);
      run_lines(plane, row, row + lines, 0, width);
      p += lines * width;
    }
  }
}

template <typename T>
void DirectConv<T>::run_lines(std::int64_t plane, std::int64_t line, std::int64_t line_end, std::int64_t first,
                              std::int64_t last) {
  const auto up = [](std::int64_t a, std::int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; };
  const std::int64_t s2 = axes_[1].spread, s3 = axes_[2].spread;
  ConvAxis part[3];
  part[0] = ConvAxis(axes_[0], plane % axes_[0].spread, plane / axes_[0].spread, 1);
  for (std::int64_t r2 = 0; r2 < isa::least(s2, axes_[1].out); ++r2) {
    const std::int64_t q2 = up(line - r2, s2), q2_end = up(line_end - r2, s2);
    if (q2 >= q2_end) continue;
    part[1] = ConvAxis(axes_[1], r2, q2, q2_end - q2);
    for (std::int64_t r3 = 0; r3 < isa::least(s3, axes_[2].out); ++r3) {
      const std::int64_t q3 = up(first - r3, s3), q3_end = up(last - r3, s3);
      if (q3 >= q3_end) continue;
      part[2] = ConvAxis(axes_[2], r3, q3, q3_end - q3);
      run_part(part);
    }
  }
}

// Cuts a part into blocks.
template <typename T>
void DirectConv<T>::run_part(const ConvAxis (&part)[3]) {
  const std::int64_t most = positions_of_block();
  ConvAxis now[3] = {part[0], part[1], part[2]};
  for (std::int64_t c = 0; c < part[2].count; c += now[2].count) {
    now[2].first = part[2].first + c;
    now[2].count = isa::least(part[2].count - c, most);
    while (now[2].count > kLanes<T> && (now[1].count = 1, Slab(now).channel * kBytes > kMostSlab)) {
      now[2].count = now[2].count / 2;
    }
    for (std::int64_t r = 0; r < part[1].count; r += now[1].count) {
      now[1].first = part[1].first + r;
      now[1].count = 1;
      const Slab one(now);
      now[1].count = isa::least(part[1].count - r, (most + one.pitch - now[2].count) / one.pitch);
      if (now[1].count < 1) now[1].count = 1;
      while (now[1].count > 1 && Slab(now).channel * kBytes > kMostSlab) now[1].count = (now[1].count + 1) / 2;
      const Slab slab(now);
      for (std::int64_t row = task_.row_begin; row < task_.row_end; row += kMostRows) {
        run_block({slab, row, row + isa::least(kMostRows, task_.row_end - row)});
      }
    }
  }
}

template <typename T>
void DirectConv<T>::run_block(const Block& block) {
  const std::int64_t rows = block.row_end - block.row_begin;
  sums_row_ = (block.slab.positions() + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  const std::int64_t taps = block.slab.axes[0].taps * block.slab.axes[1].taps * block.slab.axes[2].taps;
  std::int64_t channels = isa::least(kSlabBytes / (block.slab.channel * kBytes + 1), kMostTerms / (taps + 1));
  channels = isa::least(channels, kWeightBytes / (rows * taps_ * kBytes));
  if (channels < 1) channels = 1;
  if (taps == 0 || f_.channels == 0) {
    add_channels(block, 0, 0);
  } else {
    for (std::int64_t c = 0; c < f_.channels; c += channels) {
      add_channels(block, c, isa::least(channels, f_.channels - c));
    }
  }
  write(block);
}

template <typename T>
void DirectConv<T>::add_channels(const Block& block, std::int64_t channel, std::int64_t channels) {
  if (channels > 0) fill_slab<T>(block.slab, slab_, x_ + channel * x_channel_, x_channel_, channels);
  ConvArgs<T> args{};
  args.terms = terms_;
  args.count = list_terms(block.slab, terms_, taps_, channels);
  args.w_row = w_row_ / kBytes;
  args.c_row = sums_row_;
  args.first = channel == 0;
  args.bias_row = bias_row_;
  const std::int64_t rows = block.row_end - block.row_begin;
  const std::int64_t columns = conv_vecs(rows) * kLanes<T>;
  for (std::int64_t p = 0; p < sums_row_; p += columns) {
    const auto vectors = static_cast<int>(isa::least(columns, sums_row_ - p) / kLanes<T>);
    args.slab = slab_ + p;
    for (std::int64_t r = 0, calls = (rows + kRows - 1) / kRows; r < rows; --calls) {
      const std::int64_t now = (rows - r + calls - 1) / calls;
      args.w = reinterpret_cast<const T*>(w_ + (block.row_begin + r) * w_row_) + channel * taps_;
      args.c = sums_ + r * sums_row_ + p;
      args.bias = bias_ == nullptr ? nullptr : bias_ + (block.row_begin + r) * bias_row_;
      find_conv_kernel<T>(now, vectors)(args);
      r += now;
    }
  }
}

template <typename T>
void DirectConv<T>::write(const Block& block) const {
  const ConvAxis &a1 = block.slab.axes[0], &a2 = block.slab.axes[1], &a3 = block.slab.axes[2];
  const std::int64_t plane = (a1.first * a1.axis.spread + a1.part) * a2.axis.out;
  for (std::int64_t row = block.row_begin; row < block.row_end; ++row) {
    const T* from = sums_ + (row - block.row_begin) * sums_row_;
    T* const to = reinterpret_cast<T*>(to_ + row * to_row_);
    for (std::int64_t y = 0; y < a2.count; ++y, from += block.slab.pitch) {
      const std::int64_t line = plane + (a2.first + y) * a2.axis.spread + a2.part;
      T* const out = to + line * a3.axis.out + a3.first * a3.axis.spread + a3.part;
      std::int64_t i = 0;
      if (a3.axis.spread == 1) {
        for (; i + kLanes<T> <= a3.count; i += kLanes<T>) store<T>(out + i, load<T>(from + i));
        if (i < a3.count) {
          const PartMask<T> rest(static_cast<int>(a3.count - i));
          store_part<T>(out + i, rest, load_part<T>(from + i, rest));
        }
        continue;
      }
      for (; i < a3.count; ++i) out[i * a3.axis.spread] = from[i];
    }
  }
}

}  // namespace

template <typename T>
bool convolve_slabs(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  DirectConv<T> run(inst, context, task);
  if (!run.fits()) return false;
  run.run();
  return true;
}

template bool convolve_slabs<float>(const isa::Inst&, const TaskContext&, const isa::Task&);
template bool convolve_slabs<double>(const isa::Inst&, const TaskContext&, const isa::Task&);
template bool convolve_slabs<std::uint32_t>(const isa::Inst&, const TaskContext&, const isa::Task&);
template bool convolve_slabs<std::uint64_t>(const isa::Inst&, const TaskContext&, const isa::Task&);

}  // namespace tilewright::vm::cpu::TW_LEVEL
