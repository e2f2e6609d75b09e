// random: tensor/philox.h element by element.
#include "tilewright/tensor/philox.h"
#include "tilewright/vm/reference/lines.h"

namespace tilewright::vm::reference {
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
                            f.distribution == 1 ? normal_of(dtype, stream, i) : uniform_of(dtype, stream, i));
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
