// matmul: each element is a sum in f64, rounded once; k_block does not matter here. With an epilogue the block of the
// task is computed into memory of its own, one row at a time, which the strip phase reads as its tile.
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/products.h"

namespace tilewright::vm::reference {
namespace {

float dot(const ProductOperands& o, std::int64_t row, std::int64_t column) {
  double sum = 0;
  const std::byte* a = o.a + row * o.a_row;
  for (std::int64_t k = 0; k < o.k; ++k) {
    const std::int64_t b =
        o.panel == 0 ? k * o.b_k + column * o.b_n : ((column / o.panel * o.k + k) * o.panel + column % o.panel) * 4;
    sum += read_real(a + k * o.a_k, o.a_dtype) * read_real(o.b + b, o.b_dtype);
  }
  return static_cast<float>(sum);
}

// One element of a product of another dtype than f32: floats are summed in f64, integers wrap.
void multiply_plain(const ProductOperands& o, DType dtype, std::int64_t row, std::int64_t column, std::byte* to) {
  double real = 0;
  std::int64_t integer = 0;
  for (std::int64_t k = 0; k < o.k; ++k) {
    const std::byte* a = o.a + row * o.a_row + k * o.a_k;
    const std::byte* b = o.b + k * o.b_k + column * o.b_n;
    if (is_float(dtype)) {
      real += read_real(a, dtype) * read_real(b, dtype);
    } else {
      integer = isa::wrapping_add(integer, isa::wrapping_mul(read_integer(a, dtype), read_integer(b, dtype)));
    }
  }
  if (is_float(dtype)) {
    write_real(to, dtype, real);
  } else {
    write_integer(to, dtype, integer);
  }
}

}  // namespace

Status exec_MatMul(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::MatMulFields>();
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
    if (!epilogue && at.stream(2).dtype() != DType::kF32) {
      for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
        task.index[last] = row;
        for (std::int64_t n = task.inner_begin; n < task.inner_end; ++n) {
          multiply_plain(operands, operands.a_dtype, row, n, address(frame, 2, {task.index, 0, n, 0}));
        }
      }
      continue;
    }
    std::vector<float> block(static_cast<std::size_t>(width));
    frame.block = reinterpret_cast<std::byte*>(block.data());
    frame.block_column = task.inner_begin;
    for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
      for (std::int64_t n = 0; n < width; ++n)
        block[static_cast<std::size_t>(n)] = dot(operands, row, task.inner_begin + n);
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
