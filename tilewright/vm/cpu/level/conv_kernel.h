// Micro-kernels of convolutions: sums over terms (channel and tap) of a weight times a row of the slab, all
// accumulators in registers, in the order of the terms. The rows of the slab that terms meet lie anywhere: a term is
// two offsets.
#pragma once

#include "tilewright/vm/cpu/level/matmul_vector.h"

namespace tilewright::vm::cpu::TW_LEVEL {

struct ConvTerm {
  std::int32_t weight, slab;  // offsets in elements
};

template <typename T>
struct ConvArgs {
  const T* w;
  std::int64_t w_row;  // elements from output channel to output channel
  const T* slab;       // of the first position
  const ConvTerm* terms;
  std::int64_t count;
  T* c;
  std::int64_t c_row;
  bool first;        // sums start from the bias, else from c
  const char* bias;  // or null
  std::int64_t bias_row;
};

// One row has kMostConvVecs vectors at most, two have half of them: enough independent sums to hide the latency of an
// addition. More rows have kVecs.
inline constexpr int kMostConvVecs = 8;
constexpr int conv_vecs(std::int64_t rows) {
  return rows == 1 ? kMostConvVecs : rows == 2 ? kMostConvVecs / 2 : kVecs;
}

template <typename T>
using ConvKernel = void (*)(const ConvArgs<T>& args);

// The kernel for 1 .. kRows rows and 1 .. conv_vecs(rows) whole vectors. It reads and writes whole vectors.
template <typename T>
ConvKernel<T> find_conv_kernel(std::int64_t rows, int vectors);

}  // namespace tilewright::vm::cpu::TW_LEVEL
