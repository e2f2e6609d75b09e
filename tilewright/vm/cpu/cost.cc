#include "tilewright/vm/cpu/cost.h"

#include <algorithm>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/panels.h"

namespace tilewright::vm::cpu {
namespace {

constexpr double kElementWordsPerMicrosecond = 20000;  // elements x words of strip code, one core

}  // namespace

double predict_microseconds(const isa::Inst& inst, const BackendTraits& traits) {
  const isa::Layout at{inst.words(), isa::num_fields(inst.opcode()), inst.rank(), inst.num_streams()};
  double elements = static_cast<double>(inst.inner());
  for (int d = 0; d < at.rank; ++d) elements *= static_cast<double>(at.dims()[d]);
  const auto flops_per_us = static_cast<double>(traits.flops_per_us);
  double time = elements * static_cast<double>(4 + (at.end() - at.phases())) / kElementWordsPerMicrosecond;
  if (inst.opcode() == isa::Opcode::kMatMul || inst.opcode() == isa::Opcode::kDot) {
    // Narrow elements come in words: as many bytes and multiplications as a sum over words.
    const std::int64_t length =
        inst.opcode() == isa::Opcode::kMatMul
            ? inst.fields<isa::MatMulFields>().k
            : inst.fields<isa::DotFields>().k / isa::group_of(inst.stream<isa::DotFields>(0).dtype());
    const auto k = static_cast<double>(length);
    const auto rows = static_cast<double>(at.rank == 0 ? 1 : at.dims()[at.rank - 1]);
    time += std::max(2 * elements * k / flops_per_us,
                     4 * elements * k / std::max(rows, 1.0) / static_cast<double>(traits.bytes_per_us));
  } else if (inst.opcode() == isa::Opcode::kBlockDot) {
    time += 3 * elements * static_cast<double>(inst.fields<isa::BlockDotFields>().k) / flops_per_us;
  } else if (inst.opcode() == isa::Opcode::kAttention) {
    const auto& f = inst.fields<isa::AttentionFields>();
    const double scores =
        elements / static_cast<double>(inst.inner() + (inst.inner() == 0)) * static_cast<double>(f.keys);
    time += scores * static_cast<double>(16 + 2 * f.depth + 2 * inst.inner()) / flops_per_us;
  } else if (inst.opcode() == isa::Opcode::kConv) {
    const auto& f = inst.fields<isa::ConvFields>();
    const auto taps = static_cast<double>(f.window1) * static_cast<double>(f.window2) * static_cast<double>(f.window3);
    time += 2 * elements * taps * static_cast<double>(f.channels) / flops_per_us;
  } else if (inst.opcode() == isa::Opcode::kPool) {
    const auto& f = inst.fields<isa::PoolFields>();
    time += elements * static_cast<double>(f.window1 * f.window2 * f.window3) / kElementWordsPerMicrosecond * 8;
  } else if (inst.opcode() == isa::Opcode::kSort || inst.opcode() == isa::Opcode::kRandom) {
    time += elements / 100;
  } else if (inst.opcode() == isa::Opcode::kScan || inst.opcode() == isa::Opcode::kArgReduce) {
    time += elements / 1000;
  }
  return std::min(time, 1e15);
}

}  // namespace tilewright::vm::cpu
