// Ops whose result sizes are known only when they have run: their attribute is the symbol that the node binds.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {

Result<Types> infer_nonzero(const InferInput& in) {
  const Dim count = in.attrs.dim("count");
  TW_TRY(check_late_symbol("count", count));
  return Types{{DType::kI64, {count, Dim(in.types[0].shape.size())}}};
}

Result<Types> infer_item(const InferInput& in) {
  const TensorType& x = in.types[0];
  const Dim symbol = in.attrs.dim("symbol");
  for (const Dim dim : x.shape) {
    if (provably_different(dim, 1, in.facts)) {
      return fail(ErrorKind::kShapeMismatch, "a tensor of one element is needed: {}", x);
    }
  }
  if (is_float(x.dtype) ? symbol.op() != DimOp::kFloatSymbol : symbol.op() != DimOp::kSymbol) {
    return fail(ErrorKind::kInvalidArgument, "'symbol' must be {} symbol that the node binds: {}",
                is_float(x.dtype) ? "an f64" : "an integer", symbol);
  }
  return Types{};
}

Result<Types> infer_unique(const InferInput& in) {
  const TensorType& x = in.types[0];
  const Dim count = in.attrs.dim("count");
  TW_TRY(check_late_symbol("count", count));
  TW_TRY(check_rank(x, 1, "x"));
  return Types{{x.dtype, {count}}, {DType::kI64, x.shape}, {DType::kI64, {count}}};
}

}  // namespace tilewright
