// random as one instruction over the row-major elements of the result.
#include <algorithm>

#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

Status emit_random(const Kernel& kernel, Emitter& out) {
  const View& key = kernel.inputs[0];
  const View& result = kernel.outputs[0];
  if (key.count() != 2) return fail(ErrorKind::kShapeMismatch, "the key must be i64[2]: {} elements", key.count());
  const std::int64_t count = result.count();
  if (count == 0) return {};
  const std::string& distribution = kernel.attrs->text("distribution");
  const View to = is_row_major(result) ? result : temp_like(result, result.dtype, kernel);
  const std::int64_t tile = round_up(task_elements(count, distribution == "normal" ? 32 : 8, *kernel.traits), 128);
  out.begin(isa::Opcode::kRandom, 0, (count + tile - 1) / tile, count);
  out.field(distribution == "normal" ? 1 : distribution == "bits" ? 2 : 0);
  out.field(tile);
  out.stream(isa::Space::kBuffer, DType::kI64, key.buffer, key.offset, key.strides[0] * 8, {});
  out.stream(isa::Space::kBuffer, to.dtype, to.buffer, to.offset, byte_size(to.dtype), {});
  out.end();
  return is_row_major(result) ? Status() : emit_copy(to, result, *kernel.traits, out);
}

}  // namespace tilewright::compiler
