// How accumulators of each Reduce operation begin, combine and end.
#pragma once

#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {

using isa::ReduceKind;

template <typename T>
inline constexpr bool kFloatLane = false;
template <>
inline constexpr bool kFloatLane<float> = true;
template <>
inline constexpr bool kFloatLane<double> = true;

template <typename T>
constexpr T lowest() {
  if constexpr (kFloatLane<T>)
    return -static_cast<T>(__builtin_inf());
  else
    return static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
}
template <typename T>
constexpr T highest() {
  if constexpr (kFloatLane<T>)
    return static_cast<T>(__builtin_inf());
  else
    return static_cast<T>(~lowest<T>());
}

template <ReduceKind kind, typename T>
constexpr T identity() {
  if constexpr (kind == ReduceKind::kSum || kind == ReduceKind::kSumSquare || kind == ReduceKind::kOr)
    return T{0};
  else if constexpr (kind == ReduceKind::kProd)
    return T{1};
  else if constexpr (kind == ReduceKind::kMax)
    return lowest<T>();
  else if constexpr (kind == ReduceKind::kMin)
    return highest<T>();
  else
    return static_cast<T>(-1);
}

// Two accumulators to one; nan stays.
template <ReduceKind kind, typename T>
TW_INLINE VecOf<T> combine(VecOf<T> a, VecOf<T> b) {
  using Vec = VecOf<T>;
  using Unsigned = typename VectorOf<T>::Unsigned;
  if constexpr (kind == ReduceKind::kSum || kind == ReduceKind::kSumSquare) {
    if constexpr (kFloatLane<T>)
      return a + b;
    else
      return (Vec)((Unsigned)a + (Unsigned)b);
  } else if constexpr (kind == ReduceKind::kProd) {
    if constexpr (kFloatLane<T>)
      return a * b;
    else
      return (Vec)((Unsigned)a * (Unsigned)b);
  } else if constexpr (kind == ReduceKind::kMax) {
    if constexpr (kFloatLane<T>)
      return select((MaskOf<T>)(a != a), a, max_or_second(a, b));
    else
      return select((Vec)(a > b), a, b);
  } else if constexpr (kind == ReduceKind::kMin) {
    if constexpr (kFloatLane<T>)
      return select((MaskOf<T>)(a != a), a, min_or_second(a, b));
    else
      return select((Vec)(a < b), a, b);
  } else if constexpr (kind == ReduceKind::kOr) {
    return (Vec)((MaskOf<T>)a | (MaskOf<T>)b);
  } else {
    return (Vec)((MaskOf<T>)a & (MaskOf<T>)b);
  }
}

// All lanes to one. The order is fixed: halves, quarters, ..
template <ReduceKind kind, typename T>
TW_INLINE T reduce_lanes(VecOf<T> v) {
  if constexpr (__is_same(T, float) && (kind == ReduceKind::kSum || kind == ReduceKind::kSumSquare))
    return sum_lanes(v);
  for (int distance = kLanes<T> / 2; distance > 0; distance /= 2) {
    MaskOf<T> from{};
    for (int i = 0; i < kLanes<T>; ++i) from[i] = i ^ distance;
    v = combine<kind, T>(v, __builtin_shuffle(v, from));
  }
  return v[0];
}

// Calls f.template operator()<kind, T>() for the kind and lane type of an accumulator that exist.
template <typename T, typename F>
TW_INLINE void visit_kind(ReduceKind kind, F f) {
  switch (kind) {
    case ReduceKind::kSum:
      return f.template operator()<ReduceKind::kSum, T>();
    case ReduceKind::kSumSquare:
      return f.template operator()<ReduceKind::kSumSquare, T>();
    case ReduceKind::kProd:
      return f.template operator()<ReduceKind::kProd, T>();
    case ReduceKind::kMax:
      return f.template operator()<ReduceKind::kMax, T>();
    case ReduceKind::kMin:
      return f.template operator()<ReduceKind::kMin, T>();
    case ReduceKind::kOr:
      return f.template operator()<ReduceKind::kOr, T>();
    case ReduceKind::kAnd:
      return f.template operator()<ReduceKind::kAnd, T>();
  }
}
template <typename F>
TW_INLINE void visit_accumulator(ReduceKind kind, DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
      return visit_kind<float>(kind, f);
    case DType::kI32:
      return visit_kind<std::int32_t>(kind, f);
    case DType::kF64:
      return visit_kind<double>(kind, f);
    default:
      return visit_kind<std::int64_t>(kind, f);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
