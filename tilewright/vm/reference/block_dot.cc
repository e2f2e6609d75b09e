// block_dot: each element is a sum over k in f64 of a times the 4-bit weight with its scale and zero point.
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

struct Weight {
  const std::byte *q, *scales, *zeros;  // zeros: null for 8
  std::int64_t block, blocks, panel;

  double at(std::int64_t k, std::int64_t column) const {
    const std::int64_t row = column / panel * blocks + k / block;
    const auto float_at = [&](const std::byte* from) {
      return read_real(from + (row * panel + column % panel) * 4, DType::kF32);
    };
    std::uint32_t word;
    std::memcpy(&word, q + ((row * block + k % block) / 8 * panel + column % panel) * 4, sizeof word);
    const double number = word >> k % 8 * 4 & 15u;
    return float_at(scales) * (number - (zeros == nullptr ? 8 : float_at(zeros)));
  }
};

}  // namespace

Status exec_BlockDot(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::BlockDotFields>();
  const isa::Layout at = isa::layout_of(inst);
  const bool epilogue = at.phases() != at.end();
  const int last = at.rank - 1;
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  const std::int64_t origin[isa::kMaxRank] = {};
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    Frame frame{memory, at};
    const Weight weight{address(frame, 1, {origin}),
                        address(frame, 3, {origin}),
                        at.stream(4).space() == isa::Space::kLiteral ? nullptr : address(frame, 4, {origin}),
                        fields.block,
                        isa::tiles_of(fields.k, fields.block),
                        fields.panel};
    const std::int64_t width = task.inner_end - task.inner_begin;
    std::vector<float> block(static_cast<std::size_t>(width));
    frame.block = reinterpret_cast<std::byte*>(block.data());
    frame.block_column = task.inner_begin;
    for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
      task.index[last] = row;
      const std::byte* a = address(frame, 0, {task.index});
      for (std::int64_t n = 0; n < width; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < fields.k; ++k) {
          sum +=
              read_real(a + k * at.stream(0).inner_stride, at.stream(0).dtype()) * weight.at(k, task.inner_begin + n);
        }
        block[static_cast<std::size_t>(n)] = static_cast<float>(sum);
      }
      const Place place{task.index, row - task.row_begin, task.inner_begin, 0};
      if (epilogue) {
        run_strip(frame, *reinterpret_cast<const isa::PhaseHead*>(at.phases()), place, width);
      } else {
        const Elements c = elements(frame, 2, place, false);
        for (std::int64_t n = 0; n < width; ++n) c.set(n, block[static_cast<std::size_t>(n)]);
      }
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
