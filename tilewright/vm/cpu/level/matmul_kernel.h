// Micro-kernels of contractions: c[rows, columns] (+)= a[rows, k] * b[k, columns], all accumulators in registers, the
// sums in the order of k whatever the shape of the call, so that the bits of an element depend on its row of a and
// column of b only. g++ moves accumulators to the stack unless every loop over them is unrolled: a test looks for stack
// traffic in the code.
#pragma once

#include "tilewright/vm/cpu/level/matmul_vector.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Strides in elements.
template <typename T>
struct PanelArgs {
  const T* a;
  std::int64_t a_row, a_step;  // element (r, k) of a is a[r * a_row + k * a_step]
  const T* b;
  std::int64_t b_step;  // element (k, n) of b is b[k * b_step + n]
  T* c;
  std::int64_t c_row;
  std::int64_t k;
  int columns;             // 1 .. kMaxVecs vectors. Only the AVX-512 kernels do not read b beyond them
  bool accumulate;         // adds to c; else c is written
  std::int64_t prefetch;   // distance in b, elements; 0: none
  const T* next;           // the panel that the next call reads, to be prefetched a little at each k; null: none
  std::int64_t next_step;  // bytes from one k to the next
};

template <typename T>
using PanelKernel = void (*)(const PanelArgs<T>& args);

// The kernel for 1 .. rows_with(vectors) rows and 1 .. kMaxVecs vectors (columns rounded up). T: float, double,
// uint32_t, uint64_t.
template <typename T>
PanelKernel<T> find_kernel(std::int64_t rows, int vectors);

// Whether a kernel reads beyond `columns` columns of b.
template <typename T>
static inline bool overruns([[maybe_unused]] std::int64_t columns) {
#if defined(TW_LEVEL_AVX512)
  return false;
#else
  return columns % kLanes<T> != 0;
#endif
}

// Columns rounded up to whole vectors: the width of a panel that is copied for one use.
template <typename T>
static inline std::int64_t whole_vectors(std::int64_t columns) {
  return (columns + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

// Columns of the next call where b has no panels: one and a bit of the usual call are split evenly.
template <typename T>
static inline std::int64_t even_columns(std::int64_t left) {
  if (left <= kMaxVecs * kLanes<T>) return left;
  if (left >= 2 * kPanel<T>) return kPanel<T>;
  return (left / 2 + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

// What one of `shares` calls prefetches of the panel at `next`. Of a packed panel it is a stretch, of rows that lie
// apart it is one cache line of each.
template <typename T>
static inline void take_share(PanelArgs<T>& args, const T* next, std::int64_t share, std::int64_t shares) {
  constexpr std::int64_t kLine = 64, kBytes = sizeof(T);
  args.next = nullptr;
  if (next == nullptr || shares < 2) return;
  if (args.b_step == kPanel<T>) {
    args.next = next + share * (args.k * kPanel<T> / shares);
    args.next_step = (kPanel<T> * kBytes + shares - 1) / shares;
  } else if (share * kLine < (kPanel<T> + 1) * kBytes) {
    args.next = next + share * (kLine / kBytes);
    args.next_step = args.b_step * kBytes;
  }
}

// The rows of a tile, split evenly into as few calls as it takes of the kernel. The first one prefetches b if it is to;
// the others bring the next panel, all of them a part: memory has no peaks of demand then, which it could not follow.
template <typename T>
static inline void multiply_panel(PanelArgs<T> args, std::int64_t rows) {
  const int vectors = (args.columns + kLanes<T> - 1) / kLanes<T>;
  const std::int64_t most = rows_with(vectors);
  const T* const next = args.next;
  const std::int64_t calls = (rows + most - 1) / most, shares = args.prefetch == 0 ? calls : calls - 1;
  args.next = nullptr;
  for (std::int64_t left = calls; left > 0; --left) {
    const std::int64_t now = (rows + left - 1) / left;
    if (args.prefetch == 0) take_share(args, next, shares - left, shares);
    find_kernel<T>(now, vectors)(args);
    args.a += now * args.a_row;
    args.c += now * args.c_row;
    args.prefetch = 0;
    rows -= now;
  }
}

// One to three rows and kWidePanels whole panels, `b_panel` elements apart: where one panel and the rows of a call have
// too few independent sums to hide the latency of an addition. That is so with two vectors to a panel and up to four
// rows.
inline constexpr int kWidePanels = 6;
#if defined(TW_LEVEL_AVX512)
static inline bool wants_wide(std::int64_t) {
  return false;
}
#else
static inline bool wants_wide(std::int64_t rows) {
  return rows <= 4 || rows == 7 || rows == 8;
}
#endif
template <typename T>
void wide_kernel(const PanelArgs<T>& args, std::int64_t b_panel, std::int64_t rows);

template <typename T>
static inline void multiply_wide(PanelArgs<T> args, std::int64_t b_panel, std::int64_t rows) {
  for (std::int64_t calls = (rows + 2) / 3; calls > 0; --calls) {
    const std::int64_t now = (rows + calls - 1) / calls;
    wide_kernel<T>(args, b_panel, now);
    args.a += now * args.a_row;
    args.c += now * args.c_row;
    args.prefetch = 0;
    rows -= now;
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
