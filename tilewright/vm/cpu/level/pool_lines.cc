// A line holds what the windows of a run of output positions read of the columns of x, with the identity of the
// operation in the place of pads. Rows that a window covers are combined into it, vectors at a time; a step of the
// window above 1 splits it by remainder, so that every tap of the columns is one offset and reads whole vectors.
// HOT: no allocation, no call.
#include "tilewright/vm/cpu/level/pool_lines.h"

#include "tilewright/vm/cpu/level/matmul_vector.h"
#include "tilewright/vm/cpu/level/split.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kLine = 2048;  // elements of a line
constexpr std::int64_t kMostTaps = 64, kMostStride = 64;
constexpr std::int64_t kRoom = kLine + kVectorBytes;  // elements of memory: kernels read and write whole vectors

template <typename T>
struct Largest {
  static T identity() {
    if constexpr (__is_same(T, float)) return -__builtin_inff();
    if constexpr (__is_same(T, double)) return -__builtin_inf();
    return static_cast<T>(std::uint64_t{1} << (8 * sizeof(T) - 1));
  }
  static TW_INLINE VecOf<T> join(VecOf<T> a, VecOf<T> b) {  // nan if any is
    if constexpr (__is_same(T, float) || __is_same(T, double)) return select(a != a, a, max_or_second(a, b));
    return select((MaskOf<T>)(a > b), a, b);
  }
};

template <typename T>
struct Sum {
  static T identity() { return 0; }
  static TW_INLINE VecOf<T> join(VecOf<T> a, VecOf<T> b) { return a + b; }
};

// Calls f.template operator()<Whole>(i) for vectors that cover 0 .. count - 1: whole ones, the last of which may
// overlap the one before; fewer elements than a vector has are a part of one.
template <typename T, typename F>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t count, F f) {
  if (count < kLanes<T>) {
    if (count > 0) f(std::false_type{}, 0);
    return;
  }
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) f(std::true_type{}, i);
  if (i < count) f(std::true_type{}, count - kLanes<T>);
}

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, float, double>;  // an element type that partial loads know

template <typename T>
TW_INLINE VecOf<T> load_first(const T* from, std::int64_t count) {
  return (VecOf<T>)load_part<Bits<T>>(reinterpret_cast<const Bits<T>*>(from),
                                      PartMask<Bits<T>>(static_cast<int>(count)));
}
template <typename T>
TW_INLINE void store_first(T* to, std::int64_t count, VecOf<T> value) {
  store_part<Bits<T>>(reinterpret_cast<Bits<T>*>(to), PartMask<Bits<T>>(static_cast<int>(count)),
                      (VecOf<Bits<T>>)value);
}

template <typename T, template <typename> class Operation>
class LinePool {
  using Op = Operation<T>;

 public:
  LinePool(const PoolPlane& plane, const TaskContext& context)
      : plane_(plane),
        axis_(plane.axes[2]),
        line_(reinterpret_cast<T*>(context.private_scratch)),
        counts_(line_ + 4 * kRoom + kMostStride * kVectorBytes) {
    static_assert((5 * kRoom + kMostStride * kVectorBytes) * 8 <= kPrivateBytes);
  }
  bool fits() const;
  void run(std::int64_t positions);

 private:
  int list_rows(std::int64_t row, std::int64_t first);
  void fill_line(int rows, std::int64_t first, std::int64_t length);
  void split_line(std::int64_t length);
  void join_columns(std::int64_t count, int rows, T* to) const;
  void count_columns(std::int64_t at, std::int64_t count);

  std::int64_t part_room() const { return kLine / axis_.stride + kVectorBytes; }
  VecOf<T> divisor(int rows, std::int64_t i) const {
    if (plane_.f.divisor > 0) return splat<T>(static_cast<T>(plane_.f.divisor));
    const auto& [a, b, c] = plane_.axes;
    if (plane_.f.count_pads != 0) return splat<T>(static_cast<T>(a.window * b.window * c.window));
    return splat<T>(static_cast<T>(rows)) * load<T>(counts_ + i);
  }

  static constexpr bool kMean = __is_same(Op, Sum<T>);
  const PoolPlane& plane_;
  const WindowAxis& axis_;
  T *line_, *counts_;  // the parts of the line lie between them, then its halves
  const char* rows_[kMostTaps];
  std::int64_t taps_[kMostTaps];
};

template <typename T, template <typename> class Operation>
bool LinePool<T, Operation>::fits() const {
  const auto& [a, b, c] = plane_.axes;
  return a.window <= kMostTaps && b.window <= kMostTaps && a.window * b.window <= kMostTaps && c.window <= kMostTaps &&
         c.step == static_cast<std::int64_t>(sizeof(T)) && c.stride <= kMostStride && c.dilation < kLine &&
         (c.window - 1) * c.dilation < kLine / 2;
}

template <typename T, template <typename> class Operation>
void LinePool<T, Operation>::run(std::int64_t positions) {
  const std::int64_t width = plane_.f.out3, step = axis_.stride, reach = (axis_.window - 1) * axis_.dilation + 1;
  const std::int64_t chunk = isa::least(width, (kLine - reach) / step + 1);
  for (std::int64_t t = 0; t < axis_.window; ++t) {
    const std::int64_t shift = t * axis_.dilation;
    taps_[t] = step == 1 ? shift : kRoom + shift % step * part_room() + shift / step;
  }
  for (std::int64_t at = 0; at < width; at += chunk) {
    const std::int64_t count = isa::least(chunk, width - at), length = (count - 1) * step + reach;
    if constexpr (kMean) count_columns(at, count);
    for (std::int64_t row = 0; row * width < positions; ++row) {
      T* const to = reinterpret_cast<T*>(plane_.to) + row * width + at;
      const int rows = list_rows(row, at * step - axis_.low);
      fill_line(rows, at * step - axis_.low, length);
      if (step > 1) split_line(length);
      join_columns(count, rows, to);
    }
  }
}

// The rows of x that the windows of a row of the output meet, from column `first` on, which may be outside.
template <typename T, template <typename> class Operation>
int LinePool<T, Operation>::list_rows(std::int64_t row, std::int64_t first) {
  const auto& [a, b, c] = plane_.axes;
  int count = 0;
  for (std::int64_t t1 = 0; t1 < a.window; ++t1) {
    const std::int64_t at1 = coordinate(a, row / plane_.f.out2, t1);
    for (std::int64_t t2 = 0; at1 >= 0 && t2 < b.window; ++t2) {
      const std::int64_t at2 = coordinate(b, row % plane_.f.out2, t2);
      if (at2 >= 0) rows_[count++] = plane_.x + at1 * a.step + at2 * b.step + first * c.step;
    }
  }
  return count;
}

template <typename T, template <typename> class Operation>
void LinePool<T, Operation>::fill_line(int rows, std::int64_t first, std::int64_t length) {
  const Inside part = inside(first, 1, axis_.in, length);
  const std::int64_t end = rows == 0 ? part.begin : part.end;
  for (std::int64_t i = 0; i < part.begin; ++i) line_[i] = Op::identity();
  for (std::int64_t i = end; i < length; ++i) line_[i] = Op::identity();
  const std::int64_t count = end - part.begin;
  for_each_vector<T>(count, [&](auto whole, std::int64_t at) [[gnu::always_inline]] {
    const std::int64_t i = part.begin + at;
    const auto row = [&](int r) [[gnu::always_inline]] {
      const T* const from = reinterpret_cast<const T*>(rows_[r]) + i;
      if constexpr (decltype(whole)::value) return load<T>(from);
      return load_first<T>(from, count);
    };
    VecOf<T> value = row(0);
    for (int r = 1; r < rows; ++r) value = Op::join(value, row(r));
    if constexpr (decltype(whole)::value) {
      store<T>(line_ + i, value);
    } else {
      store_first<T>(line_ + i, count, value);
    }
  });
}

template <typename T, template <typename> class Operation>
void LinePool<T, Operation>::split_line(std::int64_t length) {
  const std::int64_t step = axis_.stride, room = part_room(), count = (length + step - 1) / step;
  T* const parts = line_ + kRoom;
  if (step == 2) return split_by_two<T>(parts, room, line_, count);
  if (step == 4) {
    T* const halves = parts + 4 * room;
    split_by_two<T>(halves, kRoom, line_, 2 * count);
    for (int r = 0; r < 2; ++r) split_by_two<T>(parts + r * room, 2 * room, halves + r * kRoom, count);
    return;
  }
  for (std::int64_t r = 0; r < isa::least(step, length); ++r) {
    T* const to = parts + r * room;
    for (std::int64_t j = 0, i = r; i < length; ++j, i += step) to[j] = line_[i];
  }
}

template <typename T, template <typename> class Operation>
void LinePool<T, Operation>::join_columns(std::int64_t count, int rows, T* to) const {
  for_each_vector<T>(count, [&](auto whole, std::int64_t i) [[gnu::always_inline]] {
    VecOf<T> value = load<T>(line_ + taps_[0] + i);
    for (std::int64_t t = 1; t < axis_.window; ++t) value = Op::join(value, load<T>(line_ + taps_[t] + i));
    if constexpr (kMean) value = value / divisor(rows, i);
    if constexpr (decltype(whole)::value) {
      store<T>(to + i, value);
    } else {
      store_first<T>(to, count, value);
    }
  });
}

// How many columns of x each window of a chunk meets.
template <typename T, template <typename> class Operation>
void LinePool<T, Operation>::count_columns(std::int64_t at, std::int64_t count) {
  if (plane_.f.divisor > 0 || plane_.f.count_pads != 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t met = 0;
    for (std::int64_t tap = 0; tap < axis_.window; ++tap) met += coordinate(axis_, at + i, tap) >= 0;
    counts_[i] = static_cast<T>(met);
  }
}

}  // namespace

template <typename T>
bool pool_lines(const PoolPlane& plane, std::int64_t positions, const TaskContext& context) {
  const auto run = [&](auto pool) {
    if (!pool.fits()) return false;
    pool.run(positions);
    return true;
  };
  if (plane.f.kind == 0) return run(LinePool<T, Largest>(plane, context));
  if constexpr (__is_same(T, float) || __is_same(T, double)) return run(LinePool<T, Sum>(plane, context));
  return false;
}

template bool pool_lines<float>(const PoolPlane&, std::int64_t, const TaskContext&);
template bool pool_lines<double>(const PoolPlane&, std::int64_t, const TaskContext&);
template bool pool_lines<std::int32_t>(const PoolPlane&, std::int64_t, const TaskContext&);
template bool pool_lines<std::int64_t>(const PoolPlane&, std::int64_t, const TaskContext&);

}  // namespace tilewright::vm::cpu::TW_LEVEL
