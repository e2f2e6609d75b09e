// Micro-kernels of dot: c[rows, columns] (+)= a[rows, k] * panel[k, columns] on 32-bit words, each a group of four
// bytes or two bf16 along k. All accumulators in registers, sums in the order of k. What one instruction cannot
// multiply is done in `parts`: a word of b is taken apart in registers, and a was copied as so many words per group.
//   bytes   a: u8, b: i8, sums i32 wrap.   AVX-512 and AVX2 with VNNI: 1 part.  AVX2 without: 2 (pairs of i16, exact,
//           where vpmaddubsw would saturate).  portable: 4
//   halves  bf16, sums f32.   AVX-512: 1 part (vdpbf16ps: denormals count as 0).  others: 2 multiply-adds in f32
#pragma once

#include "tilewright/vm/cpu/level/matmul_vector.h"

namespace tilewright::vm::cpu::TW_LEVEL {

enum class DotKind { kBytes, kBytesInParts, kHalves };

template <DotKind Kind>
struct DotOf {
  using Sum = std::uint32_t;
};
template <>
struct DotOf<DotKind::kHalves> {
  using Sum = float;
};
template <DotKind Kind>
using DotSum = typename DotOf<Kind>::Sum;

#if defined(TW_LEVEL_AVX512)
inline constexpr int kByteParts = 1;
inline constexpr int kHalfParts = 1;
#elif defined(TW_LEVEL_AVX2)
inline constexpr int kByteParts = 2;
inline constexpr int kHalfParts = 2;
#else
inline constexpr int kByteParts = 4;
inline constexpr int kHalfParts = 2;
#endif
template <DotKind Kind>
inline constexpr int kDotParts = Kind == DotKind::kBytes    ? 1
                                 : Kind == DotKind::kHalves ? kHalfParts
                                                            : kByteParts;
// What g++ keeps in sixteen registers where a word is taken apart.
template <DotKind Kind>
inline constexpr int kDotKernelRows = kDotParts<Kind> == 1       ? kRows
                                      : Kind == DotKind::kHalves ? 5
                                                                 : 4;

// Strides in words.
template <DotKind Kind>
struct DotArgs {
  const std::uint32_t* a;  // rows of groups of kDotParts words
  std::int64_t a_row;
  const std::uint32_t* b;  // groups, kPanel<float> words apart, whole vectors readable
  DotSum<Kind>* c;
  std::int64_t c_row;
  std::int64_t groups;
  int columns;  // 1 .. kPanel<float>
  bool accumulate;
  bool prefetch;
};

// The rows of a block, in as few calls of a kernel as it takes.
template <DotKind Kind>
void multiply_groups(DotArgs<Kind> args, std::int64_t rows);

}  // namespace tilewright::vm::cpu::TW_LEVEL
