// gather, gather_elements and index as one gather instruction.
#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/index_domain.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

Status emit_gather_domain(const Kernel& kernel, IndexDomain domain, Emitter& out) {
  const View& x = kernel.inputs[0];
  const View& result = kernel.outputs[0];
  LoopNest& nest = domain.nest;
  if (nest.count(0, nest.rank) == 0) return {};
  nest.collapse(0, nest.rank);
  if (nest.rank == 0) nest.insert_unit_axis(0);
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)], rows = rank > 0 ? nest.sizes[at(rank - 1)] : 1;
  const std::int64_t others = nest.count(0, std::max(rank - 1, 0));
  const bool by_element = nest.strides[2][at(rank)] != 0 || domain.num_pairs > 1;
  const std::int64_t chunk = task_elements(nest.count(0, nest.rank), by_element ? 4 : 1, *kernel.traits);
  const std::int64_t inner_tile = std::min(inner, chunk), row_tile = std::clamp<std::int64_t>(chunk / inner, 1, rows);
  out.begin(isa::Opcode::kGather, rank,
            others * ((rows + row_tile - 1) / row_tile) * ((inner + inner_tile - 1) / inner_tile), inner);
  out.field(row_tile);
  out.field(inner_tile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
  write_index_streams(domain, x, result, out);
  out.end();
  return {};
}

}  // namespace

Status emit_gather(const Kernel& kernel, Emitter& out) {
  const std::int64_t axis = kernel.attrs->integer("axis");
  return emit_gather_domain(
      kernel, indexed_domain(kernel.inputs[0], kernel.outputs[0], kernel.inputs.subspan(1), {&axis, 1}), out);
}

Status emit_index(const Kernel& kernel, Emitter& out) {
  const auto axes = kernel.attrs->integers("axes");
  return emit_gather_domain(kernel, indexed_domain(kernel.inputs[0], kernel.outputs[0], kernel.inputs.subspan(1), axes),
                            out);
}

Status emit_gather_elements(const Kernel& kernel, Emitter& out) {
  const auto axis = static_cast<int>(kernel.attrs->integer("axis"));
  TW_ASSIGN(const IndexDomain domain, elements_domain(kernel.inputs[0], kernel.outputs[0], kernel.inputs[1], axis));
  return emit_gather_domain(kernel, domain, out);
}

}  // namespace tilewright::compiler
