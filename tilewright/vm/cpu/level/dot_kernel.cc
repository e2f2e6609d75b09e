// Instantiates the dot kernels for every number of rows and vectors of the level.
// HOT: no call, no branch on data, no stack traffic inside the loop over k. g++ 12 spills every accumulator around the
// vpdpbusd intrinsic, so that instruction is inline assembly.
#include "tilewright/vm/cpu/level/dot_kernel.h"

#include <utility>

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <DotKind Kind>
using SumVec = VecOf<DotSum<Kind>>;

// The part of a word of b that the words of a of this part multiply.
template <DotKind Kind>
[[gnu::always_inline]] inline u32x right_part(u32x b, [[maybe_unused]] int part) {
  if constexpr (kDotParts<Kind> == 1) {
    return b;
  } else if constexpr (Kind == DotKind::kHalves) {
#if defined(TW_LEVEL_AVX2)
    if (part == 0) return b << 16;
    asm("vpsrld $16, %0, %0\n\tvpslld $16, %0, %0" : "+x"(b));  // a mask would take a register
    return b;
#else
    return part == 0 ? b << 16 : b & 0xffff0000u;
#endif
  } else {
#if defined(TW_LEVEL_AVX2)
    const __m256i bytes = (__m256i)b;
    return (u32x)_mm256_srai_epi16(part == 0 ? _mm256_slli_epi16(bytes, 8) : bytes, 8);
#else
    return (u32x)((i32x)(b << (24 - 8 * part)) >> 24);
#endif
  }
}

template <DotKind Kind>
[[gnu::always_inline]] inline SumVec<Kind> multiply_part(u32x a, u32x b, SumVec<Kind> sum) {
  if constexpr (Kind == DotKind::kHalves) {
#if defined(TW_LEVEL_AVX512)
    return (f32x)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    return multiply_add<float>((f32x)a, (f32x)b, sum);
#endif
  } else if constexpr (Kind == DotKind::kBytes) {
#if defined(TW_LEVEL_AVX512)
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#elif defined(TW_LEVEL_AVX2)
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
#endif
    return sum;
  } else {
#if defined(TW_LEVEL_AVX2)
    u32x product;  // in C the compiler would add the products of both parts first, and keep them on the stack
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(a), "x"(b));
    return sum;
#else
    return sum + a * b;
#endif
  }
}

template <DotKind Kind, int Rows, int Vecs, bool Prefetch>
[[gnu::always_inline]] inline void accumulate(const DotArgs<Kind>& args, SumVec<Kind> (&sums)[Rows][Vecs]) {
  constexpr int kParts = kDotParts<Kind>;
  constexpr int kStep = kPanel<float>;
  const std::uint32_t* a = args.a;
  const std::uint32_t* b = args.b;
  const std::int64_t a_row = args.a_row;
  for (std::int64_t group = args.groups; group > 0; --group) {
    if constexpr (Prefetch) {
#pragma GCC unroll 8
      for (int bytes = 0; bytes < Vecs * kVectorBytes; bytes += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(b + 48 * kStep) + bytes, 0, 3);
      }
    }
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const std::uint32_t* words = b;
      asm("" : "+r"(words));  // each part loads its words: kept from part to part they would take two registers more
      u32x right[Vecs];
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) right[v] = right_part<Kind>(load<std::uint32_t>(words + v * kLanes<float>), part);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const u32x left = splat<std::uint32_t>(a[r * a_row + part]);
#pragma GCC unroll 8
        for (int v = 0; v < Vecs; ++v) sums[r][v] = multiply_part<Kind>(left, right[v], sums[r][v]);
      }
    }
    a += kParts;
    b += kStep;
  }
}

template <DotKind Kind, int Rows, int Vecs>
void dot_kernel(const DotArgs<Kind>& args) {
  using Sum = DotSum<Kind>;
  SumVec<Kind> sums[Rows][Vecs];
  const PartMask<Sum> part(args.columns - (Vecs - 1) * kLanes<Sum>);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) sums[r][v] = SumVec<Kind>{};
  }
  if (args.accumulate) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) {
        const Sum* from = args.c + r * args.c_row + v * kLanes<Sum>;
        sums[r][v] = v + 1 < Vecs ? load<Sum>(from) : load_part(from, part);
      }
    }
  }
  if (args.prefetch) {
    accumulate<Kind, Rows, Vecs, true>(args, sums);
  } else {
    accumulate<Kind, Rows, Vecs, false>(args, sums);
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) {
      Sum* to = args.c + r * args.c_row + v * kLanes<Sum>;
      if (v + 1 < Vecs) {
        store<Sum>(to, sums[r][v]);
      } else {
        store_part(to, part, sums[r][v]);
      }
    }
  }
}

template <DotKind Kind>
using DotKernel = void (*)(const DotArgs<Kind>& args);

template <DotKind Kind>
struct DotTable {
  DotKernel<Kind> by_shape[kDotKernelRows<Kind> * kVecs];
};

template <DotKind Kind, int... Index>
constexpr DotTable<Kind> make_dots(std::integer_sequence<int, Index...>) {
  return {{dot_kernel<Kind, Index / kVecs + 1, Index % kVecs + 1>...}};
}

template <DotKind Kind>
constexpr DotTable<Kind> kDots = make_dots<Kind>(std::make_integer_sequence<int, kDotKernelRows<Kind> * kVecs>{});

}  // namespace

template <DotKind Kind>
void multiply_groups(DotArgs<Kind> args, std::int64_t rows) {
  const int vectors = (args.columns + kLanes<float> - 1) / kLanes<float>;
  constexpr std::int64_t kMost = kDotKernelRows<Kind>;
  for (std::int64_t calls = (rows + kMost - 1) / kMost; calls > 0; --calls) {
    const std::int64_t now = (rows + calls - 1) / calls;
    kDots<Kind>.by_shape[(now - 1) * kVecs + vectors - 1](args);
    args.a += now * args.a_row;
    args.c += now * args.c_row;
    args.prefetch = false;
    rows -= now;
  }
}

#if defined(TW_LEVEL_AVX512) || defined(TW_LEVEL_AVX2)
template void multiply_groups(DotArgs<DotKind::kBytes> args, std::int64_t rows);
#endif
#if !defined(TW_LEVEL_AVX512)
template void multiply_groups(DotArgs<DotKind::kBytesInParts> args, std::int64_t rows);
#endif
template void multiply_groups(DotArgs<DotKind::kHalves> args, std::int64_t rows);

}  // namespace tilewright::vm::cpu::TW_LEVEL
