// pack: b[k, n] to panels (isa/panels.h), the last one filled with zeros.
#include "tilewright/isa/panels.h"
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

// The sums of the stored columns, behind the elements of a panel of bytes.
void write_sums(std::byte* to, std::int64_t groups, std::int64_t panel) {
  for (std::int64_t n = 0; n < panel; ++n) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < groups * 4; ++i) sum += read_integer(to + (i / 4 * panel + n) * 4 + i % 4, DType::kI8);
    write_integer(to + (groups * panel + n) * 4, DType::kI32, sum);
  }
}

}  // namespace

Status exec_Pack(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::PackFields>();
  const isa::Layout at = isa::layout_of(inst);
  Frame frame{memory, at};
  const int last = at.rank - 1;
  const std::int64_t size = at.dims()[last];
  const DType dtype = at.stream(1).dtype();
  const std::int64_t bytes = byte_size(dtype), group = isa::group_of(dtype), groups = isa::tiles_of(size, group);
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    task.index[last] = 0;
    std::byte* const to =
        address(frame, 1, {task.index}) + task.inner_begin / fields.panel * isa::panel_bytes(dtype, size, fields.panel);
    for (std::int64_t k = 0; k < groups * group; ++k) {
      task.index[last] = k;
      for (std::int64_t n = 0; n < fields.panel; ++n) {
        const std::int64_t column = task.inner_begin + n;
        std::byte* const element = to + (k / group * fields.panel + n) * 4 + k % group * bytes;
        if (k >= size || column >= task.inner_end) {
          std::memset(element, 0, static_cast<std::size_t>(bytes));
          continue;
        }
        copy_element(element, address(frame, 0, {task.index, 0, column, 0}), dtype);
        if (bytes == 1) *element ^= std::byte{isa::stored_bias(dtype)};
      }
    }
    if (bytes == 1) write_sums(to, groups, fields.panel);
  }
  return {};
}

}  // namespace tilewright::vm::reference
