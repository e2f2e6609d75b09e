// Instantiates the kernels of convolutions for every number of rows and vectors of the level.
// HOT: no call, no branch on data, no stack traffic inside the loop over terms.
#include "tilewright/vm/cpu/level/conv_kernel.h"

#include <utility>

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <typename T, int Rows, int Vecs>
void conv_kernel(const ConvArgs<T>& args) {
  Vec<T> sums[Rows][Vecs];
  T* const c = args.c;
  const std::int64_t c_row = args.c_row, w_row = args.w_row;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    T bias{};
    if (args.bias != nullptr) bias = load_element<T>(args.bias + r * args.bias_row);
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) sums[r][v] = splat<T>(bias);
  }
  if (!args.first) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) sums[r][v] = load<T>(c + r * c_row + v * kLanes<T>);
    }
  }
  const ConvTerm* const end = args.terms + args.count;
  for (const ConvTerm* term = args.terms; term != end; ++term) {
    const T* const w = args.w + term->weight;
    const T* const from = args.slab + term->slab;
    Vec<T> right[Vecs];
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) right[v] = load<T>(from + v * kLanes<T>);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Vec<T> left = splat<T>(w[r * w_row]);
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) sums[r][v] = multiply_add<T>(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) store<T>(c + r * c_row + v * kLanes<T>, sums[r][v]);
  }
}

template <typename T>
struct ConvTable {
  ConvKernel<T> by_shape[kRows * kMostConvVecs];
};

template <typename T, int Rows, int Vecs>
constexpr ConvKernel<T> kernel_of_shape() {
  if constexpr (Vecs <= conv_vecs(Rows)) {
    return conv_kernel<T, Rows, Vecs>;
  } else {
    return nullptr;
  }
}

template <typename T, int... Index>
constexpr ConvTable<T> make_kernels(std::integer_sequence<int, Index...>) {
  return {{kernel_of_shape<T, Index / kMostConvVecs + 1, Index % kMostConvVecs + 1>()...}};
}

template <typename T>
constexpr ConvTable<T> kTable = make_kernels<T>(std::make_integer_sequence<int, kRows * kMostConvVecs>{});

}  // namespace

template <typename T>
ConvKernel<T> find_conv_kernel(std::int64_t rows, int vectors) {
  return kTable<T>.by_shape[(rows - 1) * kMostConvVecs + vectors - 1];
}

template ConvKernel<float> find_conv_kernel(std::int64_t rows, int vectors);
template ConvKernel<double> find_conv_kernel(std::int64_t rows, int vectors);
template ConvKernel<std::uint32_t> find_conv_kernel(std::int64_t rows, int vectors);
template ConvKernel<std::uint64_t> find_conv_kernel(std::int64_t rows, int vectors);

}  // namespace tilewright::vm::cpu::TW_LEVEL
