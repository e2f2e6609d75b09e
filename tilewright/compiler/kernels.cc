#include "tilewright/compiler/kernels.h"

namespace tilewright::compiler {
namespace {

using EmitFunction = Status (*)(const Kernel&, Emitter&);

EmitFunction find(Op op) {
  switch (op) {
    case Op::kAttention:
      return emit_attention;
    case Op::kConcat:
      return emit_concat;
    case Op::kPad:
      return emit_pad;
    case Op::kUpdateSlice:
      return emit_update_slice;
    case Op::kGather:
      return emit_gather;
    case Op::kGatherElements:
      return emit_gather_elements;
    case Op::kIndex:
      return emit_index;
    case Op::kIndexPut:
      return emit_index_put;
    case Op::kScatterElements:
      return emit_scatter_elements;
    case Op::kCumSum:
    case Op::kCumProd:
    case Op::kCumMax:
    case Op::kCumMin:
      return emit_scan;
    case Op::kArgMax:
    case Op::kArgMin:
      return emit_arg_reduce;
    case Op::kSort:
      return emit_sort;
    case Op::kTopK:
      return emit_topk;
    case Op::kNonZero:
      return emit_nonzero;
    case Op::kConv:
      return emit_conv;
    case Op::kConvTranspose:
      return emit_conv_transpose;
    case Op::kMaxPool:
    case Op::kAvgPool:
      return emit_pool;
    case Op::kRandom:
      return emit_random;
    case Op::kMatMul:
      return emit_matmul;
    default:
      return nullptr;
  }
}

}  // namespace

bool has_kernel(Op op) {
  return find(op) != nullptr;
}

Status emit_kernel(const Kernel& kernel, Emitter& out) {
  const EmitFunction emit = find(kernel.op);
  if (emit == nullptr) return fail(ErrorKind::kUnsupported, "op {} has no kernel", info(kernel.op).text);
  return emit(kernel, out);
}

}  // namespace tilewright::compiler
