#include "tilewright/graph/infer/infer.h"

#include "tilewright/graph/infer/families.h"

namespace tilewright {

std::size_t num_regions(Op op) {
  switch (op) {
    case Op::kIf:
    case Op::kWhile:
      return 2;
    case Op::kScan:
    case Op::kCall:
    case Op::kFused:
      return 1;
    default:
      return 0;
  }
}

bool may_be(const TensorType& a, const TensorType& b, const Facts& facts) {
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size()) return false;
  for (std::size_t axis = 0; axis < a.shape.size(); ++axis) {
    if (provably_different(a.shape[axis], b.shape[axis], facts)) return false;
  }
  return true;
}

Result<Types> infer(const InferInput& in) {
  using InferFunction = Result<Types> (*)(const InferInput&);
  static constexpr InferFunction kFunctions[] = {
#define OP(Name, text, inputs, results, Class, attrs, infer, meaning) infer,
#include "tilewright/graph/ops.def"
#undef OP
  };
  if (in.regions.size() != num_regions(in.op)) {
    return fail(ErrorKind::kInvalidArgument, "{} regions expected, {} given", num_regions(in.op), in.regions.size());
  }
  return kFunctions[static_cast<std::size_t>(in.op)](in);
}

}  // namespace tilewright
