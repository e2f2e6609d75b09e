// dot: each element is a sum over k of products of narrow elements, in i64 (bytes, then wrapped) or f64 (bf16). With an
// epilogue one row of the block is computed at a time, which the strip phase reads as its tile.
#include "tilewright/isa/panels.h"
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/products.h"

namespace tilewright::vm::reference {
namespace {

// Element (k, column) of b; panels of u8 hold it minus 128.
double b_at(const ProductOperands& o, std::int64_t k, std::int64_t column) {
  if (o.panel == 0) return read_real(o.b + k * o.b_k + column * o.b_n, o.b_dtype);
  const std::int64_t group = isa::group_of(o.b_dtype);
  const std::int64_t word = k / group * o.panel + column % o.panel;
  const std::byte* at =
      o.b + column / o.panel * isa::panel_bytes(o.b_dtype, o.k, o.panel) + word * 4 + k % group * byte_size(o.b_dtype);
  return o.b_dtype == DType::kU8 ? read_real(at, DType::kI8) + 128 : read_real(at, o.b_dtype);
}

std::uint32_t dot(const ProductOperands& o, std::int64_t row, std::int64_t column, std::int64_t a_zero,
                  std::int64_t b_zero) {
  double real = 0;
  std::int64_t integer = 0;
  for (std::int64_t k = 0; k < o.k; ++k) {
    const std::byte* a = o.a + row * o.a_row + k * o.a_k;
    if (o.a_dtype == DType::kBF16) {
      real += read_real(a, o.a_dtype) * b_at(o, k, column);
    } else {
      const std::int64_t left = read_integer(a, o.a_dtype) - a_zero;
      const std::int64_t right = static_cast<std::int64_t>(b_at(o, k, column)) - b_zero;
      integer = isa::wrapping_add(integer, left * right);
    }
  }
  return o.a_dtype == DType::kBF16 ? std::bit_cast<std::uint32_t>(static_cast<float>(real))
                                   : static_cast<std::uint32_t>(integer);
}

std::int64_t zero_at(const Frame& frame, int stream, const Place& place) {
  const isa::StreamHead& head = frame.at.stream(stream);
  if (head.dtype() == DType::kBF16) return 0;
  if (head.space() != isa::Space::kLiteral) return read_integer(address(frame, stream, place), head.dtype());
  return head.dtype() == DType::kI8 ? static_cast<std::int8_t>(head.offset) : head.offset;
}

}  // namespace

Status exec_Dot(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::DotFields>();
  const isa::Layout at = isa::layout_of(inst);
  const bool epilogue = at.phases() != at.end();
  const int last = at.rank - 1;
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    task.index[last] = 0;
    Frame frame{memory, at};
    const ProductOperands operands = product_operands(frame, fields, {task.index});
    const std::int64_t width = task.inner_end - task.inner_begin;
    std::vector<std::uint32_t> block(static_cast<std::size_t>(width));
    frame.block = reinterpret_cast<std::byte*>(block.data());
    frame.block_column = task.inner_begin;
    for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
      for (std::int64_t n = 0; n < width; ++n) {
        task.index[last] = row;
        const std::int64_t a_zero = zero_at(frame, 3, {task.index});
        task.index[last] = 0;
        const std::int64_t b_zero = zero_at(frame, 4, {task.index, 0, task.inner_begin + n, 0});
        block[static_cast<std::size_t>(n)] = dot(operands, row, task.inner_begin + n, a_zero, b_zero);
      }
      task.index[last] = row;
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
