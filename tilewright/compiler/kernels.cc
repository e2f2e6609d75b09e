#include "tilewright/compiler/kernels.h"

namespace tilewright::compiler {
namespace {

using EmitFunction = Status (*)(const Kernel&, Emitter&);

EmitFunction find(Op op) {
  switch (op) {
    case Op::kAttention:
      return emit_attention;
    default:
      return nullptr;
  }
}

}  // namespace

bool has_kernel(Op op) { return find(op) != nullptr; }

Status emit_kernel(const Kernel& kernel, Emitter& out) {
  const EmitFunction emit = find(kernel.op);
  if (emit == nullptr) return fail(ErrorKind::kUnsupported, "op {} has no kernel", info(kernel.op).text);
  return emit(kernel, out);
}

}  // namespace tilewright::compiler
