// Where a task of a convolution finds its operands: what the matrix way (conv.cc) and the direct way (conv_direct.cc)
// read of an instruction. Strides in bytes.
#pragma once

#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/level.h"
#include "tilewright/vm/cpu/level/window.h"

namespace tilewright::vm::cpu::TW_LEVEL {

struct ConvOperands {
  const isa::ConvFields& f_;
  const isa::Task& task_;
  WindowAxis axes_[3];
  const char *x_, *w_, *bias_;  // bias: or null
  char* to_;
  std::int64_t x_channel_, w_row_, to_row_, bias_row_;
  std::int64_t taps_;

  ConvOperands(const isa::Inst& inst, const TaskContext& context, const isa::Task& task)
      : f_(inst.fields<isa::ConvFields>()), task_(task) {
    const auto place = [&](int stream) {
      const isa::StreamHead& head = inst.stream<isa::ConvFields>(stream);
      return reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset + task.index[0] * head.strides()[0] +
             task.index[1] * head.strides()[1];
    };
    const auto row_stride = [&](int stream) { return inst.stream<isa::ConvFields>(stream).strides()[2]; };
    window_axes(axes_, f_, inst.inner(), inst.stream<isa::ConvFields>(0).inner_stride);
    x_ = place(0);
    w_ = place(1);
    to_ = place(2);
    x_channel_ = row_stride(0);
    w_row_ = row_stride(1);
    to_row_ = row_stride(2);
    bias_ = inst.num_streams() > 3 ? place(3) : nullptr;
    bias_row_ = bias_ == nullptr ? 0 : row_stride(3);
    taps_ = f_.window1 * f_.window2 * f_.window3;
  }
};

}  // namespace tilewright::vm::cpu::TW_LEVEL
