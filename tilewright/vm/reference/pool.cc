// pool: the largest element of a window and where it stands, or the mean.
#include <limits>

#include "tilewright/vm/reference/lines.h"
#include "tilewright/vm/reference/window.h"

namespace tilewright::vm::reference {
namespace {

template <typename T>
T lowest(DType dtype) {
  if constexpr (std::is_same_v<T, double>) return -std::numeric_limits<double>::infinity();
  return dtype == DType::kI32 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
}

template <typename T>
void largest(const Frame& frame, const Window& window, const std::int64_t* index, std::int64_t p) {
  const DType dtype = frame.at.stream(0).dtype();
  T best = lowest<T>(dtype);
  std::int64_t best_at = -1;
  for (std::int64_t t = 0; t < window.taps(); ++t) {
    std::int64_t bytes = 0;
    const std::int64_t where = window.place(p, t, bytes);
    if (where < 0) continue;
    const std::byte* at = address(frame, 0, {index, 0, 0, 0}) + bytes;
    T value;
    if constexpr (std::is_same_v<T, double>) {
      value = read_real(at, dtype);
    } else {
      value = read_integer(at, dtype);
    }
    if (best_at >= 0 && !is_nan(value) && !(value > best)) continue;
    best = value;
    best_at = where;
  }
  write_element<T>(frame, 1, index, p, best);
  if (frame.at.streams > 2) write_element<std::int64_t>(frame, 2, index, p, best_at);
}

void mean(const Frame& frame, const isa::PoolFields& f, const Window& window, const std::int64_t* index,
          std::int64_t p) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t t = 0; t < window.taps(); ++t) {
    std::int64_t bytes = 0;
    if (window.place(p, t, bytes) < 0) continue;
    sum += read_real(address(frame, 0, {index, 0, 0, 0}) + bytes, frame.at.stream(0).dtype());
    ++count;
  }
  if (f.count_pads != 0) count = window.taps();
  if (f.divisor > 0) count = f.divisor;
  write_element<double>(frame, 1, index, p, sum / static_cast<double>(count));
}

}  // namespace

Status exec_Pool(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::PoolFields>();
  const Window window = window_of(f, inst.inner(), at.stream(0).inner_stride);
  for_each_row(at, is_float(at.stream(0).dtype()), [&]<typename T>(const std::int64_t* index) {
    for (std::int64_t p = 0; p < inst.inner(); ++p) {
      if (f.kind == 1) {
        mean(frame, f, window, index, p);
      } else {
        largest<T>(frame, window, index, p);
      }
    }
  });
  return {};
}

}  // namespace tilewright::vm::reference
