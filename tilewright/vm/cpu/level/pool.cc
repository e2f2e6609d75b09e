// The pool instruction. Where only the value is wanted lines of x are combined (pool_lines.h). Else a row of the
// output, up to kChunk positions of it, is kept while every tap of the window passes over it, vectors at a time.
// Positions of the largest elements are kept as numbers of the element's width (verified to fit). HOT: no allocation,
// no call.
#include "tilewright/vm/cpu/level/pool_lines.h"
#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kChunk = 256;

template <typename T>
using Position = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <typename T>
[[gnu::always_inline]] inline VecOf<T> load_spaced(const char* from, std::int64_t step) {
  if (step == static_cast<std::int64_t>(sizeof(T))) return load<T>(from);
  VecOf<T> value{};
#pragma GCC unroll 16
  for (int lane = 0; lane < kLanes<T>; ++lane) value[lane] = load_element<T>(from + lane * step);
  return value;
}

// One tap of a maximum: elements `step` bytes apart stand at positions at, at + at_step, ..
template <typename T>
void meet_row(T* best, Position<T>* best_at, const char* from, std::int64_t step, std::int64_t at, std::int64_t at_step,
              std::int64_t count) {
  using P = Position<T>;
  std::int64_t i = 0;
  VecOf<P> places{};
  for (int lane = 0; lane < kLanes<T>; ++lane) places[lane] = static_cast<P>(at + lane * at_step);
  const VecOf<P> advance = splat<P>(static_cast<P>(kLanes<T> * at_step));
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    const VecOf<T> value = load_spaced<T>(from + i * step, step), old = load<T>(best + i);
    const VecOf<P> old_at = load<P>(best_at + i);
    const VecOf<P> taken = (VecOf<P>)(value > old) | (VecOf<P>)(value != value) | (VecOf<P>)(old_at < splat<P>(0));
    store<T>(best + i, select(taken, value, old));
    store<P>(best_at + i, select(taken, places, old_at));
    places += advance;
  }
  for (; i < count; ++i) {
    const T value = load_element<T>(from + i * step);
    if (best_at[i] >= 0 && value == value && !(value > best[i])) continue;
    best[i] = value;
    best_at[i] = static_cast<P>(at + i * at_step);
  }
}

template <typename T>
void add_row(T* sums, const char* from, std::int64_t step, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>)
    store<T>(sums + i, load<T>(sums + i) + load_spaced<T>(from + i * step, step));
  for (; i < count; ++i) sums[i] += load_element<T>(from + i * step);
}

template <typename T>
constexpr T lowest() {
  if constexpr (__is_same(T, float)) return -__builtin_inff();
  if constexpr (__is_same(T, double)) return -__builtin_inf();
  return static_cast<T>(std::uint64_t{1} << (8 * sizeof(T) - 1));
}

// Calls f(part of the run, address of its first element, position of it) for every tap that meets x.
template <typename F>
[[gnu::always_inline]] inline void for_each_tap(const PoolPlane& plane, std::int64_t a_at, std::int64_t b_at,
                                                std::int64_t at, std::int64_t count, F f) {
  const WindowAxis(&axes)[3] = plane.axes;
  for (std::int64_t t1 = 0; t1 < axes[0].window; ++t1) {
    const std::int64_t a = coordinate(axes[0], a_at, t1);
    for (std::int64_t t2 = 0; a >= 0 && t2 < axes[1].window; ++t2) {
      const std::int64_t b = coordinate(axes[1], b_at, t2);
      for (std::int64_t t3 = 0; b >= 0 && t3 < axes[2].window; ++t3) {
        const std::int64_t start = at * axes[2].stride - axes[2].low + t3 * axes[2].dilation;
        const Inside part = inside(start, axes[2].stride, axes[2].in, count);
        const std::int64_t first = start + part.begin * axes[2].stride;
        if (part.end > part.begin) {
          f(part, plane.x + a * axes[0].step + b * axes[1].step + first * axes[2].step,
            (a * axes[1].in + b) * axes[2].in + first);
        }
      }
    }
  }
}

template <typename T>
void pool_largest(const PoolPlane& plane, std::int64_t p, std::int64_t a, std::int64_t b, std::int64_t at,
                  std::int64_t count) {
  T best[kChunk];
  Position<T> best_at[kChunk];
  for (std::int64_t i = 0; i < count; ++i) {
    best[i] = lowest<T>();
    best_at[i] = -1;
  }
  const std::int64_t stride = plane.axes[2].stride, step = stride * plane.axes[2].step;
  for_each_tap(plane, a, b, at, count, [&](Inside part, const char* from, std::int64_t place) [[gnu::always_inline]] {
    meet_row<T>(best + part.begin, best_at + part.begin, from, step, place, stride, part.end - part.begin);
  });
  __builtin_memcpy(plane.to + p * static_cast<std::int64_t>(sizeof(T)), best,
                   static_cast<std::size_t>(count) * sizeof(T));
  if (plane.positions == nullptr) return;
  auto* positions = reinterpret_cast<std::int64_t*>(plane.positions) + p;
  for (std::int64_t i = 0; i < count; ++i) positions[i] = best_at[i];
}

// How many taps of an axis meet x.
std::int64_t met(const WindowAxis& axis, std::int64_t at) {
  std::int64_t count = 0;
  for (std::int64_t tap = 0; tap < axis.window; ++tap) count += coordinate(axis, at, tap) >= 0;
  return count;
}

template <typename T>
void pool_mean(const PoolPlane& plane, std::int64_t p, std::int64_t a, std::int64_t b, std::int64_t at,
               std::int64_t count) {
  T sums[kChunk];
  for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
  const WindowAxis(&axes)[3] = plane.axes;
  for_each_tap(plane, a, b, at, count, [&](Inside part, const char* from, std::int64_t) [[gnu::always_inline]] {
    add_row<T>(sums + part.begin, from, axes[2].stride * axes[2].step, part.end - part.begin);
  });
  const bool all = plane.f.divisor > 0 || plane.f.count_pads != 0;
  const std::int64_t window = axes[0].window * axes[1].window * axes[2].window;
  const std::int64_t divisor = plane.f.divisor > 0 ? plane.f.divisor : window;
  const std::int64_t rows = all ? 0 : met(axes[0], a) * met(axes[1], b);
  T* to = reinterpret_cast<T*>(plane.to) + p;
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = sums[i] / static_cast<T>(all ? divisor : rows * met(axes[2], at + i));
}

template <typename T>
void pool_plane(const PoolPlane& plane, std::int64_t positions, const TaskContext& context) {
  if (plane.positions == nullptr && pool_lines<T>(plane, positions, context)) return;
  for (std::int64_t p = 0; p < positions;) {
    const std::int64_t at = p % plane.f.out3, row = p / plane.f.out3;
    const std::int64_t count = isa::least(isa::least(plane.f.out3 - at, kChunk), positions - p);
    if (plane.f.kind == 0) {
      pool_largest<T>(plane, p, row / plane.f.out2, row % plane.f.out2, at, count);
    } else if constexpr (__is_same(T, float) || __is_same(T, double)) {
      pool_mean<T>(plane, p, row / plane.f.out2, row % plane.f.out2, at, count);
    }
    p += count;
  }
}

}  // namespace

void exec_Pool(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& f = inst.fields<isa::PoolFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, f), number);
  WindowAxis axes[3];
  window_axes(axes, f, inst.inner(), inst.stream<isa::PoolFields>(0).inner_stride);
  const Rows x = rows_of<isa::PoolFields>(inst, 0, context, task),
             to = rows_of<isa::PoolFields>(inst, 1, context, task);
  Rows positions{};
  const bool wanted = inst.num_streams() > 2;
  if (wanted) positions = rows_of<isa::PoolFields>(inst, 2, context, task);
  for (std::int64_t row = 0; row < task.row_end - task.row_begin; ++row) {
    const PoolPlane plane{f, axes, x.row(row).first, to.row(row).first, wanted ? positions.row(row).first : nullptr};
    switch (x.line.dtype) {
      case DType::kF32:
        pool_plane<float>(plane, inst.inner(), context);
        break;
      case DType::kF64:
        pool_plane<double>(plane, inst.inner(), context);
        break;
      case DType::kI32:
        pool_plane<std::int32_t>(plane, inst.inner(), context);
        break;
      default:
        pool_plane<std::int64_t>(plane, inst.inner(), context);
        break;
    }
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
