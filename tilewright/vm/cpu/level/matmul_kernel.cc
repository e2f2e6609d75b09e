// Instantiates the micro-kernels for every number of rows and vectors of the level.
// HOT: no call, no branch on data, no stack traffic inside the loop over k.
#include "tilewright/vm/cpu/level/matmul_kernel.h"

#include <utility>

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

enum class Prefetch { kNone, kThisPanel, kNextPanel };

template <typename T, int Rows, int Vecs, Prefetch prefetch>
[[gnu::always_inline]] inline void multiply(const PanelArgs<T>& args, Vec<T> (&sums)[Rows][Vecs],
                                            [[maybe_unused]] PartMask<T> part) {
  const T* a = args.a;
  const T* b = args.b;
  const std::int64_t a_row = args.a_row, a_step = args.a_step, b_step = args.b_step, ahead = args.prefetch;
  const char* next = reinterpret_cast<const char*>(args.next);
  const std::int64_t next_step = args.next_step;
  for (std::int64_t k = args.k; k > 0; --k) {
    Vec<T> right[Vecs];
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) {
#if defined(TW_LEVEL_AVX512)
      right[v] = v + 1 < Vecs ? load<T>(b + v * kLanes<T>) : load_part(b + v * kLanes<T>, part);
#else
      right[v] = load<T>(b + v * kLanes<T>);
#endif
    }
    if constexpr (prefetch == Prefetch::kThisPanel) {
#pragma GCC unroll 8
      for (int bytes = 0; bytes < Vecs * kVectorBytes; bytes += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(b + ahead) + bytes, 0, 3);
      }
    }
    if constexpr (prefetch == Prefetch::kNextPanel) {
      __builtin_prefetch(next, 0, 2);
      next += next_step;
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Vec<T> left = splat<T>(a[r * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) sums[r][v] = multiply_add<T>(left, right[v], sums[r][v]);
    }
    a += a_step;
    b += b_step;
  }
}

template <typename T, int Rows, int Vecs>
void panel_kernel(const PanelArgs<T>& args) {
  Vec<T> sums[Rows][Vecs];
  const PartMask<T> part(args.columns - (Vecs - 1) * kLanes<T>);
  T* const c = args.c;
  const std::int64_t c_row = args.c_row;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) sums[r][v] = Vec<T>{};
  }
  if (args.accumulate) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) {
        const T* from = c + r * c_row + v * kLanes<T>;
        sums[r][v] = v + 1 < Vecs ? load<T>(from) : load_part(from, part);
      }
    }
  }
  if (args.prefetch != 0) {
    multiply<T, Rows, Vecs, Prefetch::kThisPanel>(args, sums, part);
  } else if (args.next != nullptr) {
    multiply<T, Rows, Vecs, Prefetch::kNextPanel>(args, sums, part);
  } else {
    multiply<T, Rows, Vecs, Prefetch::kNone>(args, sums, part);
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) {
      T* to = c + r * c_row + v * kLanes<T>;
      if (v + 1 < Vecs) {
        store<T>(to, sums[r][v]);
      } else {
        store_part(to, part, sums[r][v]);
      }
    }
  }
}

template <typename T, int Rows, int Panels>
void wide_rows(const PanelArgs<T>& args, std::int64_t b_panel) {
  Vec<T> sums[Rows][Panels][kVecs];
#pragma GCC unroll 16
  for (int i = 0; i < Rows * Panels * kVecs; ++i) {
    const int r = i / (Panels * kVecs), p = i / kVecs % Panels, v = i % kVecs;
    sums[r][p][v] = args.accumulate ? load<T>(args.c + r * args.c_row + p * kPanel<T> + v * kLanes<T>) : Vec<T>{};
  }
  const T* a = args.a;
  const T* b = args.b;
  for (std::int64_t k = args.k; k > 0; --k) {
    Vec<T> left[Rows];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) left[r] = splat<T>(a[r * args.a_row]);
#pragma GCC unroll 16
    for (int p = 0; p < Panels; ++p) {
      if (args.prefetch != 0) __builtin_prefetch(b + p * b_panel + args.prefetch, 0, 3);
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) {
        const Vec<T> right = load<T>(b + p * b_panel + v * kLanes<T>);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) sums[r][p][v] = multiply_add<T>(left[r], right, sums[r][p][v]);
      }
    }
    a += args.a_step;
    b += args.b_step;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows * Panels * kVecs; ++i) {
    const int r = i / (Panels * kVecs), p = i / kVecs % Panels, v = i % kVecs;
    store<T>(args.c + r * args.c_row + p * kPanel<T> + v * kLanes<T>, sums[r][p][v]);
  }
}

template <typename T>
struct KernelTable {
  PanelKernel<T> by_shape[kRows * kMaxVecs];
};

template <typename T, int Rows, int Vecs>
constexpr PanelKernel<T> kernel_of_shape() {
  if constexpr (Rows <= rows_with(Vecs)) {
    return panel_kernel<T, Rows, Vecs>;
  } else {
    return nullptr;
  }
}

template <typename T, int... Index>
constexpr KernelTable<T> make_kernels(std::integer_sequence<int, Index...>) {
  return {{kernel_of_shape<T, Index / kMaxVecs + 1, Index % kMaxVecs + 1>()...}};
}

template <typename T>
constexpr KernelTable<T> kTable = make_kernels<T>(std::make_integer_sequence<int, kRows * kMaxVecs>{});

}  // namespace

template <typename T>
PanelKernel<T> find_kernel(std::int64_t rows, int vectors) {
  return kTable<T>.by_shape[(rows - 1) * kMaxVecs + vectors - 1];
}

template <typename T>
void wide_kernel(const PanelArgs<T>& args, std::int64_t b_panel, std::int64_t rows) {
  if (rows == 1) return wide_rows<T, 1, 6>(args, b_panel);
  PanelArgs<T> part = args;
  const int panels = rows == 2 ? 3 : 2;
  for (int first = 0; first < kWidePanels; first += panels) {
    if (rows == 2) {
      wide_rows<T, 2, 3>(part, b_panel);
    } else {
      wide_rows<T, 3, 2>(part, b_panel);
    }
    part.b += panels * b_panel;
    part.c += panels * kPanel<T>;
  }
}

#define TW_KERNELS(T)                                                  \
  template PanelKernel<T> find_kernel(std::int64_t rows, int vectors); \
  template void wide_kernel(const PanelArgs<T>& args, std::int64_t b_panel, std::int64_t rows)
TW_KERNELS(float);
TW_KERNELS(double);
TW_KERNELS(std::uint32_t);
TW_KERNELS(std::uint64_t);
#undef TW_KERNELS

}  // namespace tilewright::vm::cpu::TW_LEVEL
