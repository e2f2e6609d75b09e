#include "tilewright/frontends/onnx/carried_ops.h"

#include "tilewright/frontends/onnx/rounding.h"

namespace tilewright::onnx {
namespace {

using Values = Result<std::vector<ValueId>>;

// Builds without looking at element types.
class Plain {
 public:
  explicit Plain(OnnxNode& node) : n_(node) {}
  Maybe operator()(Op op, std::initializer_list<Maybe> inputs, Attrs attrs = {}) {
    std::vector<ValueId> ids;
    for (const Maybe& input : inputs) {
      if (!input.ok()) return input;
      ids.push_back(input.value());
    }
    TW_ASSIGN(const std::vector<ValueId> results, n_.plain_ops(op, ids, std::move(attrs)));
    return results.front();
  }
  Maybe number(DType dtype, Dim value) { return (*this)(Op::kScalar, {}, {{"dtype", dtype}, {"value", value}}); }
  Maybe cast(const Maybe& value, DType dtype) {
    if (!value.ok() || n_.type_of(value.value()).dtype == dtype) return value;
    return (*this)(Op::kCast, {value}, {{"dtype", dtype}});
  }
  // The order of unsigned 64-bit numbers as the order of signed ones, and back.
  Maybe flipped(const Maybe& value) { return (*this)(Op::kBitXor, {value, number(DType::kI64, Dim(INT64_MIN))}); }
  // value >> count with zeros coming in; 0 if count is not less than 64.
  Maybe shifted_right(const Maybe& value, const Maybe& count) {
    const Maybe ones = (*this)(Op::kShiftLeft,
                               {number(DType::kI64, Dim(1)), (*this)(Op::kSub, {number(DType::kI64, Dim(64)), count})});
    const Maybe mask = (*this)(Op::kSub, {ones, number(DType::kI64, Dim(1))});  // of count 0: 0 - 1, every bit
    const Maybe bits = (*this)(Op::kBitAnd, {(*this)(Op::kShiftRight, {value, count}), mask});
    const Maybe gone = (*this)(Op::kGt, {flipped(count), flipped(number(DType::kI64, Dim(63)))});
    return (*this)(Op::kSelect, {gone, number(DType::kI64, Dim(0)), bits});
  }

 private:
  OnnxNode& n_;
};

// a / b of unsigned 64-bit numbers; 0 if b is 0. With b >= 2^63 the quotient is 0 or 1; otherwise that of a / 2 is
// doubled, and one more where the remainder holds another b.
Maybe unsigned_quotient(Plain& make, const Maybe& a, const Maybe& b) {
  const Maybe zero = make.number(DType::kI64, Dim(0));
  const Maybe one = make.number(DType::kI64, Dim(1));
  const auto not_less = [&](const Maybe& x, const Maybe& y) {
    return make.cast(make(Op::kGe, {make.flipped(x), make.flipped(y)}), DType::kI64);
  };
  const Maybe doubled = make(Op::kShiftLeft, {make(Op::kTruncDiv, {make.shifted_right(a, one), b}), one});
  const Maybe rest = make(Op::kSub, {a, make(Op::kMul, {doubled, b})});
  const Maybe small = make(Op::kAdd, {doubled, not_less(rest, b)});
  const Maybe quotient = make(Op::kSelect, {make(Op::kLt, {b, zero}), not_less(a, b), small});
  return make(Op::kSelect, {make(Op::kEq, {b, zero}), zero, quotient});
}

// Exact to one rounding: a number of 2^63 or more is halved first, with the bit that falls off kept as a sticky one.
Maybe unsigned_to_float(Plain& make, const Maybe& x, DType dtype) {
  const Maybe zero = make.number(DType::kI64, Dim(0));
  const Maybe one = make.number(DType::kI64, Dim(1));
  const Maybe half = make(Op::kBitOr, {make.shifted_right(x, one), make(Op::kBitAnd, {x, one})});
  const Maybe halved = make.cast(half, dtype);
  return make(Op::kSelect, {make(Op::kLt, {x, zero}), make(Op::kAdd, {halved, halved}), make.cast(x, dtype)});
}

Maybe float_to_unsigned(Plain& make, const Maybe& x, DType dtype) {
  const Maybe border = make.number(dtype, Dim::real(9223372036854775808.0));
  const Maybe upper = make.flipped(make.cast(make(Op::kSub, {x, border}), DType::kI64));
  return make(Op::kSelect, {make(Op::kGe, {x, border}), upper, make.cast(x, DType::kI64)});
}

bool is_one_of(Op op, std::initializer_list<Op> ops) {
  for (const Op other : ops) {
    if (op == other) return true;
  }
  return false;
}

// Whether results may lie outside of the type although the inputs do not.
bool leaves_type(Op op) {
  return is_one_of(op, {Op::kNeg, Op::kBitNot, Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kPow, Op::kShiftLeft,
                        Op::kReduceSum, Op::kReduceProd, Op::kCumSum, Op::kCumProd, Op::kMatMul, Op::kReduceMean});
}

bool orders(Op op) {
  return is_one_of(op, {Op::kReduceMax, Op::kReduceMin, Op::kCumMax, Op::kCumMin, Op::kSort, Op::kTopK, Op::kArgMax,
                        Op::kArgMin, Op::kMaxPool});
}

bool compares(Op op) {
  return is_one_of(op, {Op::kLt, Op::kLe, Op::kGt, Op::kGe});
}

// Whether the first result has elements of the inputs' type: not positions, and not what an operator says by itself.
bool keeps_type(Op op) {
  return !is_one_of(op, {Op::kArgMax, Op::kArgMin, Op::kNonZero, Op::kCast, Op::kBitcast, Op::kIf, Op::kWhile,
                         Op::kScan, Op::kCall, Op::kHostCall, Op::kQuantizeLinear, Op::kDequantizeLinear,
                         Op::kIntegerMatMul, Op::kIntegerConv, Op::kBlockMatMul, Op::kConv});
}

bool is_movement(Op op) {
  return is_one_of(op, {Op::kReshape,
                        Op::kTranspose,
                        Op::kExpand,
                        Op::kSlice,
                        Op::kPad,
                        Op::kConcat,
                        Op::kFlip,
                        Op::kRoll,
                        Op::kGather,
                        Op::kGatherElements,
                        Op::kIndex,
                        Op::kIndexPut,
                        Op::kScatterElements,
                        Op::kUpdateSlice,
                        Op::kSelect,
                        Op::kEq,
                        Op::kNe,
                        Op::kIf,
                        Op::kWhile,
                        Op::kScan,
                        Op::kCall});
}

// Of unsigned 64-bit numbers: what signed arithmetic gets wrong. Nothing: it does not.
std::optional<Maybe> unsigned_op(Plain& make, Op op, const std::vector<ValueId>& in) {
  if (in.size() != 2) return std::nullopt;
  const Maybe a = in[0];
  const Maybe b = in[1];
  if (compares(op)) return make(op, {make.flipped(a), make.flipped(b)});
  if (op == Op::kMax || op == Op::kMin) {
    return make.flipped(make(op, {make.flipped(a), make.flipped(b)}));
  }
  if (op == Op::kTruncDiv || op == Op::kFloorDiv) return unsigned_quotient(make, a, b);
  if (op == Op::kMod || op == Op::kRem) {
    const Maybe whole = make(Op::kSub, {a, make(Op::kMul, {unsigned_quotient(make, a, b), b})});
    const Maybe zero = make.number(DType::kI64, Dim(0));
    return make(Op::kSelect, {make(Op::kEq, {b, zero}), zero, whole});
  }
  if (op == Op::kShiftRight) return make.shifted_right(a, b);
  return std::nullopt;
}

Values unsigned_ops(OnnxNode& n, Op op, std::vector<ValueId> inputs, Attrs attrs,
                    std::vector<std::unique_ptr<Graph>> regions) {
  Plain make(n);
  if (op == Op::kAbs || op == Op::kRelu) return inputs;
  if (op == Op::kSign) {
    const Maybe zero = make.number(DType::kI64, Dim(0));
    TW_ASSIGN(const ValueId sign, make.cast(make(Op::kNe, {inputs[0], zero}), DType::kI64));
    return std::vector<ValueId>{sign};
  }
  if (const std::optional<Maybe> value = unsigned_op(make, op, inputs)) {
    TW_ASSIGN(const ValueId id, Maybe(*value));
    return std::vector<ValueId>{id};
  }
  if (!orders(op)) return n.plain_ops(op, inputs, std::move(attrs), std::move(regions));
  TW_ASSIGN(inputs[0], make.flipped(inputs[0]));
  TW_ASSIGN(std::vector<ValueId> results, n.plain_ops(op, inputs, std::move(attrs), std::move(regions)));
  if (keeps_type(op)) {
    TW_ASSIGN(results[0], make.flipped(results[0]));
  }
  return results;
}

Carried type_among(OnnxNode& n, const std::vector<ValueId>& inputs) {
  for (const ValueId input : inputs) {
    if (const Carried carried = n.carried(input); carried != Carried::kNone) return carried;
  }
  return Carried::kNone;
}

Maybe wrapped(OnnxNode& n, const Maybe& value, const CarriedRow& row) {
  Plain make(n);
  if (row.bits == 64) return value;
  TW_ASSIGN(const ValueId id, Maybe(value));
  const DType dtype = n.type_of(id).dtype;
  if (row.kind == 'u') return make(Op::kBitAnd, {id, make.number(dtype, Dim((std::int64_t{1} << row.bits) - 1))});
  const Maybe spare = make.number(dtype, Dim(byte_size(dtype) * 8 - row.bits));
  return make(Op::kShiftRight, {make(Op::kShiftLeft, {id, spare}), spare});
}

}  // namespace

Values carried_ops(OnnxNode& n, Op op, const std::vector<ValueId>& inputs, Attrs attrs,
                   std::vector<std::unique_ptr<Graph>> regions) {
  const Carried carried = type_among(n, inputs);
  if (carried == Carried::kNone) return n.plain_ops(op, inputs, std::move(attrs), std::move(regions));
  const CarriedRow& row = row_of(carried);
  if (row.kind == 's' && !is_movement(op)) {
    return fail(ErrorKind::kUnsupported, "strings are only moved and compared, not given to '{}'", info(op).text);
  }
  Values results = carried == Carried::kU64 ? unsigned_ops(n, op, inputs, std::move(attrs), std::move(regions))
                                            : n.plain_ops(op, inputs, std::move(attrs), std::move(regions));
  if (!results.ok() || results->empty() || !keeps_type(op)) return results;
  ValueId& first = (*results)[0];
  if (n.type_of(first).dtype != row.dtype) return results;
  if (leaves_type(op)) {
    TW_ASSIGN(first, to_elements(n, first, carried));
  } else {
    n.scope().set_carried(first, carried);
  }
  return results;
}

Maybe to_elements(OnnxNode& n, const Maybe& value, Carried carried, const CastRules& rules) {
  TW_ASSIGN(ValueId id, Maybe(value));
  const CarriedRow& row = row_of(carried);
  Plain make(n);
  const DType dtype = n.type_of(id).dtype;
  if (row.kind == 'f') {
    const bool is_narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    const DType wide = dtype == DType::kF32 || is_narrow ? DType::kF32 : DType::kF64;
    TW_ASSIGN(id, make.cast(rounded_to(n, make.cast(id, wide), carried, rules), DType::kF32));
  } else if (carried == Carried::kU64) {
    TW_ASSIGN(id, is_float(dtype) ? float_to_unsigned(make, make.cast(id, dtype == DType::kF64 ? dtype : DType::kF32),
                                                      dtype == DType::kF64 ? dtype : DType::kF32)
                                  : make.cast(id, DType::kI64));
  } else {
    const DType wide = dtype == row.dtype ? dtype : DType::kI64;
    TW_ASSIGN(id, make.cast(wrapped(n, make.cast(id, wide), row), row.dtype));
  }
  if (id == *value) {  // another name for the same elements
    TW_ASSIGN(id, make(Op::kReshape, {id}, {{"shape", n.type_of(id).shape}}));
  }
  n.scope().set_carried(id, carried);
  return id;
}

Maybe from_elements(OnnxNode& n, ValueId value, DType dtype) {
  const Carried carried = n.carried(value);
  Plain make(n);
  if (n.type_of(value).dtype == dtype) return make(Op::kReshape, {value}, {{"shape", n.type_of(value).shape}});
  if (carried == Carried::kU64 && is_float(dtype)) {
    const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    return make.cast(unsigned_to_float(make, value, wide), dtype);
  }
  return make.cast(value, dtype);
}

}  // namespace tilewright::onnx
