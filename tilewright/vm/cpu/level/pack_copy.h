// Copies between tensors of any dtype and the compute types of the contraction kernels (float, double, uint32_t,
// uint64_t): rows widened, rows narrowed, and panels of b: to[k][panel] with zeros beyond the columns that exist.
#pragma once

#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Whether memory of `dtype` already holds elements of the compute type.
template <typename T>
static inline bool is_native(DType dtype) {
  if (__is_same(T, float)) return dtype == DType::kF32;
  if (__is_same(T, double)) return dtype == DType::kF64;
  if (__is_same(T, std::uint32_t)) return dtype == DType::kI32;
  return dtype == DType::kI64;
}

// to[i] = the element at from + i * stride (bytes), of `dtype`.
template <typename T>
void widen_row(T* to, const char* from, DType dtype, std::int64_t stride, std::int64_t count);

// The element at to + i * stride (bytes) = from[i], rounded to nearest even or wrapped to `dtype`.
template <typename T>
void narrow_row(char* to, DType dtype, std::int64_t stride, const T* from, std::int64_t count);

// to[k * panel + n] = the element at from + k * k_stride + n * n_stride for n < columns; 0 for columns <= n < panel.
template <typename T>
void pack_panel(T* to, std::int64_t panel, const char* from, DType dtype, std::int64_t k_stride, std::int64_t n_stride,
                std::int64_t k, std::int64_t columns);

}  // namespace tilewright::vm::cpu::TW_LEVEL
