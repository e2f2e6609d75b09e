// conv: every output is a sum over channels and taps, in f64 or wrapping i64.
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/lines.h"
#include "tilewright/vm/reference/window.h"

namespace tilewright::vm::reference {
namespace {

template <typename T>
T read(const std::byte* at, DType dtype) {
  if constexpr (std::is_same_v<T, double>) return read_real(at, dtype);
  return static_cast<T>(read_integer(at, dtype));
}

template <typename T>
T added(T sum, T a, T b) {
  if constexpr (isa::Integer<T>) return isa::wrapping_add(sum, isa::wrapping_mul(a, b));
  return sum + a * b;
}

}  // namespace

Status exec_Conv(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::ConvFields>();
  const Window window = window_of(f, inst.inner(), at.stream(0).inner_stride);
  const DType dtype = at.stream(0).dtype();
  for_each_row(at, is_float(dtype), [&]<typename T>(const std::int64_t* index) {
    const std::int64_t first[] = {index[0], index[1], 0};
    const std::byte* x = address(frame, 0, {first, 0, 0, 0});
    const std::byte* w = address(frame, 1, {index, 0, 0, 0});
    const T bias = at.streams > 3 ? read<T>(address(frame, 3, {index, 0, 0, 0}), dtype) : T{0};
    for (std::int64_t p = 0; p < inst.inner(); ++p) {
      T sum = bias;
      for (std::int64_t c = 0; c < f.channels; ++c) {
        for (std::int64_t t = 0; t < window.taps(); ++t) {
          std::int64_t bytes = 0;
          if (window.place(p, t, bytes) < 0) continue;
          const std::byte* weight = w + (c * window.taps() + t) * byte_size(dtype);
          sum = added(sum, read<T>(x + c * at.stream(0).strides()[2] + bytes, dtype), read<T>(weight, dtype));
        }
      }
      write_element<T>(frame, 2, index, p, sum);
    }
  });
  return {};
}

}  // namespace tilewright::vm::reference
