#include "tilewright/compiler/area_ops.h"

namespace tilewright::compiler {

using isa::StripOp;

std::optional<StripOp> strip_op_of(Op op) {
  switch (op) {
#define SAME(Name)  \
  case Op::k##Name: \
    return StripOp::k##Name;
    SAME(Neg)
    SAME(Abs) SAME(Sign) SAME(Ceil) SAME(Floor) SAME(Round) SAME(Trunc) SAME(Sqrt) SAME(Rsqrt) SAME(Reciprocal)
        SAME(Exp) SAME(Exp2) SAME(Expm1) SAME(Log) SAME(Log2) SAME(Log10) SAME(Log1p) SAME(Sin) SAME(Cos) SAME(Tan)
            SAME(Asin) SAME(Acos) SAME(Atan) SAME(Sinh) SAME(Cosh) SAME(Tanh) SAME(Asinh) SAME(Acosh) SAME(Atanh)
                SAME(Erf) SAME(Erfc) SAME(Erfinv) SAME(Lgamma) SAME(Digamma) SAME(Sigmoid) SAME(Relu) SAME(Silu)
                    SAME(IsNan) SAME(IsInf) SAME(IsFinite) SAME(Add) SAME(Sub) SAME(Mul) SAME(Div) SAME(FloorDiv)
                        SAME(TruncDiv) SAME(Mod) SAME(Rem) SAME(Pow) SAME(Max) SAME(Min) SAME(Fmax) SAME(Fmin)
                            SAME(Atan2) SAME(Hypot) SAME(CopySign) SAME(NextAfter) SAME(BitAnd) SAME(BitOr) SAME(BitXor)
                                SAME(ShiftLeft) SAME(ShiftRight) SAME(Eq) SAME(Ne) SAME(Lt) SAME(Le)
#undef SAME
                                    case Op::kGt : return StripOp::kLt;
    case Op::kGe:
      return StripOp::kLe;
    case Op::kBitNot:
      return StripOp::kNot;
    case Op::kGelu:
      return StripOp::kGelu;
    default:
      return std::nullopt;
  }
}

bool is_comparison(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe || op == Op::kGt || op == Op::kGe;
}

bool is_test(Op op) {
  return op == Op::kIsNan || op == Op::kIsInf || op == Op::kIsFinite;
}

bool may_leave_range(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kPow:
    case Op::kFloorDiv:
    case Op::kTruncDiv:
    case Op::kShiftLeft:
    case Op::kBitNot:
    case Op::kReduceSum:
    case Op::kReduceProd:
      return true;
    default:
      return false;
  }
}

std::optional<StripOp> wrap_of(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return StripOp::kWrapI8;
    case DType::kU8:
      return StripOp::kWrapU8;
    case DType::kI16:
      return StripOp::kWrapI16;
    default:
      return std::nullopt;
  }
}

std::optional<isa::ReduceKind> reduce_kind_of(Op op) {
  switch (op) {
    case Op::kReduceSum:
      return isa::ReduceKind::kSum;
    case Op::kReduceProd:
      return isa::ReduceKind::kProd;
    case Op::kReduceMax:
      return isa::ReduceKind::kMax;
    case Op::kReduceMin:
      return isa::ReduceKind::kMin;
    case Op::kReduceAny:
      return isa::ReduceKind::kOr;
    case Op::kReduceAll:
      return isa::ReduceKind::kAnd;
    default:
      return std::nullopt;
  }
}

std::optional<isa::PhaseOp> row_phase_of(Op op) {
  switch (op) {
    case Op::kSoftmax:
      return isa::PhaseOp::kSoftmax;
    case Op::kLogSoftmax:
      return isa::PhaseOp::kLogSoftmax;
    case Op::kLayerNorm:
      return isa::PhaseOp::kLayerNorm;
    case Op::kRmsNorm:
      return isa::PhaseOp::kRmsNorm;
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright::compiler
