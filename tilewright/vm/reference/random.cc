// random: tensor/philox.h element by element.
#include "tilewright/tensor/philox.h"
#include "tilewright/vm/reference/lines.h"

namespace tilewright::vm::reference {
namespace {

double uniform(DType dtype, const RandomStream& stream, std::uint64_t i) {
  switch (dtype) {
    case DType::kF64:
      return uniform_f64(stream.bits64(i));
    case DType::kF16:
      return uniform_f16(stream.bits32(i));
    case DType::kBF16:
      return uniform_bf16(stream.bits32(i));
    default:
      return uniform_f32(stream.bits32(i));
  }
}

double normal(DType dtype, const RandomStream& stream, std::uint64_t i) {
  if (dtype == DType::kF64) return normal_f64(stream, i);
  return static_cast<double>(static_cast<float>(normal_f32(stream, i)));
}

}  // namespace

Status exec_Random(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::RandomFields>();
  const DType dtype = at.stream(1).dtype();
  const std::vector<std::int64_t> key = read_line<std::int64_t>(frame, 0, nullptr, 2);
  const RandomStream stream{static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1])};
  for (std::int64_t p = 0; p < inst.inner(); ++p) {
    const auto i = static_cast<std::uint64_t>(p);
    if (f.distribution == 2) {
      const std::uint64_t bits = dtype == DType::kI64 ? stream.bits64(i) : stream.bits32(i);
      write_element<std::int64_t>(frame, 1, nullptr, p, static_cast<std::int64_t>(bits));
    } else {
      write_element<double>(frame, 1, nullptr, p,
                            f.distribution == 1 ? normal(dtype, stream, i) : uniform(dtype, stream, i));
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
