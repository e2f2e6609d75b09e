// One channel to one channel: a row of the output stays in L1 while every tap adds its weight times a row of x to it.
// HOT: no allocation, no call.
#include "tilewright/vm/cpu/level/conv_depthwise.h"

#include "tilewright/vm/cpu/level/matmul_vector.h"
#include "tilewright/vm/cpu/level/window.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// to[i] += weight * from[i * step], step in bytes.
template <typename T>
void add_row(T* to, const char* from, std::int64_t step, T weight, std::int64_t count) {
  std::int64_t i = 0;
  const Vec<T> factor = splat<T>(weight);
  if (step == static_cast<std::int64_t>(sizeof(T))) {
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      store<T>(to + i, multiply_add<T>(factor, load<T>(from + i * step), load<T>(to + i)));
    }
  } else {
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      Vec<T> value{};
#pragma GCC unroll 16
      for (int lane = 0; lane < kLanes<T>; ++lane) value[lane] = *reinterpret_cast<const T*>(from + (i + lane) * step);
      store<T>(to + i, multiply_add<T>(factor, value, load<T>(to + i)));
    }
  }
  for (; i < count; ++i) {
    Vec<T> value{}, sum{};
    value[0] = *reinterpret_cast<const T*>(from + i * step);
    sum[0] = to[i];
    to[i] = multiply_add<T>(factor, value, sum)[0];  // rounded as the others are
  }
}

}  // namespace

template <typename T>
void convolve_channel(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  const auto& f = inst.fields<isa::ConvFields>();
  const auto place = [&](int stream) {
    const isa::StreamHead& head = inst.stream<isa::ConvFields>(stream);
    return reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset + task.index[0] * head.strides()[0] +
           task.index[1] * head.strides()[1];
  };
  const auto row_of = [&](int stream) { return task.row_begin * inst.stream<isa::ConvFields>(stream).strides()[2]; };
  WindowAxis axes[3];
  window_axes(axes, f, inst.inner(), inst.stream<isa::ConvFields>(0).inner_stride);
  const char* x = place(0);
  const T* w = reinterpret_cast<const T*>(place(1) + row_of(1));
  T* to = reinterpret_cast<T*>(place(2) + row_of(2));
  T bias{};
  if (inst.num_streams() > 3) bias = *reinterpret_cast<const T*>(place(3) + row_of(3));
  const WindowAxis& axis = axes[2];
  for (std::int64_t p = task.inner_begin; p < task.inner_end;) {
    const std::int64_t at = p % f.out3, plane = p / f.out3;
    const std::int64_t count = isa::least(f.out3 - at, task.inner_end - p);
    for (std::int64_t i = 0; i < count; ++i) to[p + i] = bias;
    const T* weight = w;
    for (std::int64_t t1 = 0; t1 < f.window1; ++t1) {
      const std::int64_t a = coordinate(axes[0], plane / f.out2, t1);
      for (std::int64_t t2 = 0; t2 < f.window2; ++t2, weight += f.window3) {
        const std::int64_t b = coordinate(axes[1], plane % f.out2, t2);
        if (a < 0 || b < 0) continue;
        const char* row = x + a * axes[0].step + b * axes[1].step;
        for (std::int64_t t3 = 0; t3 < f.window3; ++t3) {
          const std::int64_t start = at * axis.stride - axis.low + t3 * axis.dilation;
          const Inside part = inside(start, axis.stride, axis.in, count);
          const std::int64_t step = axis.stride * axis.step;
          add_row<T>(to + p + part.begin, row + start * axis.step + part.begin * step, step, weight[t3],
                     part.end - part.begin);
        }
      }
    }
    p += count;
  }
}

template void convolve_channel<float>(const isa::Inst&, const TaskContext&, const isa::Task&);
template void convolve_channel<double>(const isa::Inst&, const TaskContext&, const isa::Task&);
template void convolve_channel<std::uint32_t>(const isa::Inst&, const TaskContext&, const isa::Task&);
template void convolve_channel<std::uint64_t>(const isa::Inst&, const TaskContext&, const isa::Task&);

}  // namespace tilewright::vm::cpu::TW_LEVEL
