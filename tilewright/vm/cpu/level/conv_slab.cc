// Fills the slab of a convolution and lists the terms of its sums.
// HOT: no allocation, no call but copies.
#include "tilewright/vm/cpu/level/conv_slab.h"

#include "tilewright/vm/cpu/level/split.h"
#include "tilewright/vm/cpu/level/turn.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

#if defined(TW_LEVEL_AVX512)
template <typename T>
Vec<T> load_lanes(const T* from, std::uint32_t lanes) {
  if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), from);
  return (Vec<T>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), from);
}
#endif

// to[i] = from[2 * i] for i below count, of which nothing beyond is read.
template <typename T>
std::int64_t load_every_other(T* to, const T* from, std::int64_t count) {
  constexpr auto kOrder = std::make_integer_sequence<int, kLanes<T>>{};
  for (std::int64_t i = 0; i < count; i += kLanes<T>) {
    const T* const at = from + 2 * i;
    const std::int64_t left = 2 * (count - i) - 1;
    if (left >= 2 * kLanes<T>) {
      store<T>(to + i, every_other(load<T>(at), load<T>(at + kLanes<T>), 0, kOrder));
      continue;
    }
    const Vec<T> a = load_part<T>(at, PartMask<T>(static_cast<int>(isa::least(left, kLanes<T>))));
    Vec<T> b{};
    if (left > kLanes<T>) b = load_part<T>(at + kLanes<T>, PartMask<T>(static_cast<int>(left - kLanes<T>)));
    store_part<T>(to + i, PartMask<T>(static_cast<int>(count - i)), every_other(a, b, 0, kOrder));
  }
  return count;
}

// Columns first, first + stride, .. of a row of x, or zeros where there is none.
template <typename T>
void fill_row(T* to, std::int64_t count, const char* row, const WindowAxis& axis, std::int64_t first) {
  const Inside part = inside(first, axis.stride, axis.in, count);
  const std::int64_t step = axis.stride * axis.step;
  std::int64_t i = 0;
  for (; i < part.begin; ++i) to[i] = T{};
  const char* const from = row + first * axis.step;
  if (step == static_cast<std::int64_t>(sizeof(T))) {
    for (; i + kLanes<T> <= part.end; i += kLanes<T>) store<T>(to + i, load<T>(from + i * step));
  }
  if (step == static_cast<std::int64_t>(sizeof(T)) && i < part.end) {
    const PartMask<T> rest(static_cast<int>(part.end - i));
    store_part<T>(to + i, rest, load_part<T>(reinterpret_cast<const T*>(from + i * step), rest));
    i = part.end;
  }
  if (step == 2 * static_cast<std::int64_t>(sizeof(T))) {
    i += load_every_other<T>(to + i, reinterpret_cast<const T*>(from + i * step), part.end - i);
  }
  for (; i < part.end; ++i) to[i] = load_element<T>(from + i * step);
  for (; i < count; ++i) to[i] = T{};
}

// Bit r: some tap has an offset with remainder r. Of many remainders all count as met.
std::uint64_t remainders(const ConvAxis& a) {
  if (a.axis.stride > 64) return ~std::uint64_t{0};
  std::uint64_t met = 0;
  for (std::int64_t tap = 0; tap < a.axis.window; ++tap) {
    if (a.meets(tap)) met |= std::uint64_t{1} << ((a.offset_of(tap) - a.low) % a.axis.stride);
  }
  return met;
}

struct Remainders {
  std::uint64_t rows, columns;
};

#if defined(TW_LEVEL_AVX512)
// Of the elements at .. at + kLanes - 1, those from begin to end - 1.
template <typename T>
std::uint32_t lanes_between(std::int64_t begin, std::int64_t end, std::int64_t at) {
  const std::int64_t low = begin - at, high = end - at;
  const std::uint32_t below = high <= 0 ? 0 : high >= kLanes<T> ? (1u << kLanes<T>)-1 : (1u << high) - 1;
  return low <= 0 ? below : low >= kLanes<T> ? 0u : below & ~((1u << low) - 1);
}

// Both remainders of a row with step 2: columns first, first + 2, .. and first + 1, first + 3, .., or zeros.
template <typename T>
void fill_pairs(T* to, T* odd, std::int64_t count, const char* row, std::int64_t size, std::int64_t first) {
  constexpr auto kOrder = std::make_integer_sequence<int, kLanes<T>>{};
  const T* const from = reinterpret_cast<const T*>(row) + first;
  for (std::int64_t i = 0; i < count; i += kLanes<T>) {
    const std::int64_t at = first + 2 * i;
    const Vec<T> a = load_lanes<T>(from + 2 * i, lanes_between<T>(0, size, at));
    const Vec<T> b = load_lanes<T>(from + 2 * i + kLanes<T>, lanes_between<T>(0, size, at + kLanes<T>));
    const PartMask<T> part(static_cast<int>(isa::least(count - i, kLanes<T>)));
    store_part<T>(to + i, part, every_other(a, b, 0, kOrder));
    store_part<T>(odd + i, part, every_other(a, b, 1, kOrder));
  }
}
#endif

// Rows begin .. end - 1 of a plane are those of x from `row` on, the others are zeros. Step 1.
template <typename T>
void fill_plane(const Slab& slab, T* to, const char* row, std::int64_t begin, std::int64_t end, std::int64_t span) {
  const ConvAxis& a = slab.axes[2];
  const std::int64_t pitch = slab.pitch, first = a.first + a.low;
  for (std::int64_t i = 0; i < begin * pitch; ++i) to[i] = T{};
#if defined(TW_LEVEL_AVX512)
  if (a.axis.step == static_cast<std::int64_t>(sizeof(T))) {
    // Whole vectors: what is beyond the pitch is the start of the next row, which is written after.
    const Inside part = inside(first, 1, a.axis.in, pitch);
    for (std::int64_t line = begin; line < end; ++line) {
      const T* const from = reinterpret_cast<const T*>(row + line * slab.axes[1].axis.step + first * a.axis.step);
      for (std::int64_t i = 0; i < pitch; i += kLanes<T>) {
        store<T>(to + line * pitch + i, load_lanes<T>(from + i, lanes_between<T>(part.begin, part.end, i)));
      }
    }
    for (std::int64_t i = end * pitch; i < span * pitch; ++i) to[i] = T{};
    return;
  }
#endif
  for (std::int64_t line = begin; line < end; ++line) {
    fill_row<T>(to + line * pitch, pitch, row + line * slab.axes[1].axis.step, a.axis, first);
  }
  for (std::int64_t i = end * pitch; i < span * pitch; ++i) to[i] = T{};
}

// The same with steps: rows and columns by their remainder, of which those that no tap meets stay as they are.
template <typename T>
void fill_split_plane(const Slab& slab, T* to, const char* row, std::int64_t begin, std::int64_t end, std::int64_t span,
                      const Remainders& met) {
  const ConvAxis &a2 = slab.axes[1], &a3 = slab.axes[2];
  const std::int64_t s2 = a2.axis.stride, s3 = a3.axis.stride, first = a3.first * s3 + a3.low;
  for (std::int64_t i = 0; i < span; ++i) {
    if (s2 <= 64 && (met.rows >> (i % s2) & 1) == 0) continue;
    T* line = to + slab.row_at(i);
#if defined(TW_LEVEL_AVX512)
    if (s3 == 2 && i >= begin && i < end && a3.axis.step == static_cast<std::int64_t>(sizeof(T))) {
      fill_pairs<T>(line, line + s2 * slab.rows * slab.pitch, slab.pitch, row + i * a2.axis.step, a3.axis.in, first);
      continue;
    }
#endif
    for (std::int64_t j = 0; j < s3; ++j, line += s2 * slab.rows * slab.pitch) {
      if (s3 <= 64 && (met.columns >> j & 1) == 0) continue;
      if (i >= begin && i < end) {
        fill_row<T>(line, slab.pitch, row + i * a2.axis.step, a3.axis, first + j);
      } else {
        for (std::int64_t k = 0; k < slab.pitch; ++k) line[k] = T{};
      }
    }
  }
}

}  // namespace

ConvAxis::ConvAxis(const WindowAxis& a, std::int64_t which, std::int64_t q, std::int64_t n)
    : axis(a), part(which), first(q), count(n), low(0), high(0), taps(0) {
  for (std::int64_t tap = 0; tap < axis.window; ++tap) {
    if (!meets(tap)) continue;
    high = offset_of(tap);
    if (taps++ == 0) low = high;
  }
}

Slab::Slab(const ConvAxis (&given)[3]) : axes{given[0], given[1], given[2]} {
  const std::int64_t s2 = axes[1].axis.stride, s3 = axes[2].axis.stride;
  rows = divide_up((axes[1].count - 1) * s2 + axes[1].high - axes[1].low + 1, s2);
  pitch = divide_up((axes[2].count - 1) * s3 + axes[2].high - axes[2].low + 1, s3);
  plane = s2 * s3 * rows * pitch;
  channel = axes[0].taps * plane;
}

// Channels side by side in x are turned around: the rows of all channels at once.
template <typename T>
void fill_turned(const Slab& slab, T* to, const char* x, std::int64_t channels) {
  const ConvAxis &a1 = slab.axes[0], &a2 = slab.axes[1], &a3 = slab.axes[2];
  const std::int64_t row0 = a2.first * a2.axis.stride + a2.low, column0 = a3.first * a3.axis.stride + a3.low;
  const std::int64_t span = (a2.count - 1) * a2.axis.stride + a2.high - a2.low + 1;
  const std::int64_t all = channels * slab.channel, s2 = a2.axis.stride, s3 = a3.axis.stride;
  for (std::int64_t i = 0; i < all; ++i) to[i] = T{};
  for (std::int64_t tap = 0; tap < a1.axis.window; ++tap) {
    if (!a1.meets(tap)) continue;
    const std::int64_t at = a1.first * a1.axis.stride + a1.offset_of(tap);
    for (std::int64_t i = 0; i < span && at >= 0 && at < a1.axis.in; ++i) {
      if (row0 + i < 0 || row0 + i >= a2.axis.in) continue;
      const char* const row = x + at * a1.axis.step + (row0 + i) * a2.axis.step;
      for (std::int64_t j = 0; j < s3; ++j) {
        const Inside part = inside(column0 + j, s3, a3.axis.in, slab.pitch);
        T* const line = to + slab.row_at(i) + j * s2 * slab.rows * slab.pitch + part.begin;
        turn<T>(reinterpret_cast<char*>(line), slab.channel * static_cast<std::int64_t>(sizeof(T)),
                row + (column0 + j + part.begin * s3) * a3.axis.step, s3 * a3.axis.step, channels,
                part.end - part.begin);
      }
    }
    to += slab.plane;
  }
}

template <typename T>
void fill_slab(const Slab& slab, T* to, const char* x, std::int64_t x_channel, std::int64_t channels) {
  if (x_channel == static_cast<std::int64_t>(sizeof(T)) && slab.axes[2].axis.step != x_channel && channels > 1) {
    return fill_turned<T>(slab, to, x, channels);
  }
  const ConvAxis &a1 = slab.axes[0], &a2 = slab.axes[1], &a3 = slab.axes[2];
  const std::int64_t row0 = a2.first * a2.axis.stride + a2.low;
  const std::int64_t span = (a2.count - 1) * a2.axis.stride + a2.high - a2.low + 1;
  const Remainders met = {remainders(a2), remainders(a3)};
  for (std::int64_t c = 0; c < channels; ++c, x += x_channel) {
    for (std::int64_t tap = 0; tap < a1.axis.window; ++tap) {
      if (!a1.meets(tap)) continue;
      const std::int64_t at = a1.first * a1.axis.stride + a1.offset_of(tap);
      std::int64_t begin = at < 0 || at >= a1.axis.in ? span : -row0, end = a2.axis.in - row0;
      if (begin < 0) begin = 0;
      if (begin > span) begin = span;
      end = end > span ? span : end < begin ? begin : end;
      const char* const row = x + at * a1.axis.step + row0 * a2.axis.step;
      if (a2.axis.stride == 1 && a3.axis.stride == 1) {
        fill_plane<T>(slab, to, row, begin, end, span);
      } else {
        fill_split_plane<T>(slab, to, row, begin, end, span, met);
      }
      to += slab.plane;
    }
  }
}

std::int64_t list_terms(const Slab& slab, ConvTerm* to, std::int64_t taps, std::int64_t channels) {
  const ConvAxis &a1 = slab.axes[0], &a2 = slab.axes[1], &a3 = slab.axes[2];
  std::int64_t count = 0, tap1 = 0;
  for (std::int64_t t1 = 0; t1 < a1.axis.window; ++t1) {
    if (!a1.meets(t1)) continue;
    for (std::int64_t t2 = 0; t2 < a2.axis.window; ++t2) {
      if (!a2.meets(t2)) continue;
      const std::int64_t row = tap1 * slab.plane + slab.row_at(a2.offset_of(t2) - a2.low);
      for (std::int64_t t3 = 0; t3 < a3.axis.window; ++t3) {
        if (!a3.meets(t3)) continue;
        const std::int64_t tap = (t1 * a2.axis.window + t2) * a3.axis.window + t3;
        const std::int64_t at = row + slab.column_at(a3.offset_of(t3) - a3.low);
        to[count++] = {static_cast<std::int32_t>(tap), static_cast<std::int32_t>(at)};
      }
    }
    ++tap1;
  }
  for (std::int64_t c = 1; c < channels; ++c) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[c * count + i] = {to[i].weight + static_cast<std::int32_t>(c * taps),
                           to[i].slab + static_cast<std::int32_t>(c * slab.channel)};
    }
  }
  return count * channels;
}

template void fill_slab(const Slab&, float*, const char*, std::int64_t, std::int64_t);
template void fill_slab(const Slab&, double*, const char*, std::int64_t, std::int64_t);
template void fill_slab(const Slab&, std::uint32_t*, const char*, std::int64_t, std::int64_t);
template void fill_slab(const Slab&, std::uint64_t*, const char*, std::int64_t, std::int64_t);

}  // namespace tilewright::vm::cpu::TW_LEVEL
