// Elementwise ops: one input keeps its shape, several broadcast; dtypes are equal, because promotion is frontends'
// work.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

Result<Types> broadcast_as(const InferInput& in, DType dtype) {
  TW_ASSIGN(Shape shape, broadcast_shapes(in.types, in.facts));
  return Types{{dtype, std::move(shape)}};
}

}  // namespace

Result<Types> infer_same(const InferInput& in) {
  return Types{in.types[0]};
}

Result<Types> infer_same_float(const InferInput& in) {
  TW_TRY(check_float(in.types[0]));
  return Types{in.types[0]};
}

Result<Types> infer_same_bits(const InferInput& in) {
  TW_TRY(check_bits(in.types[0]));
  return Types{in.types[0]};
}

Result<Types> infer_predicate(const InferInput& in) {
  return Types{{DType::kBool, in.types[0].shape}};
}

Result<Types> infer_cast(const InferInput& in) {
  return Types{{in.attrs.dtype("dtype"), in.types[0].shape}};
}

Result<Types> infer_bitcast(const InferInput& in) {
  const DType dtype = in.attrs.dtype("dtype");
  if (byte_size(dtype) != byte_size(in.types[0].dtype)) {
    return fail(ErrorKind::kDTypeMismatch, "sizes differ: {} as {}", to_string(in.types[0]), to_string(dtype));
  }
  return Types{{dtype, in.types[0].shape}};
}

Result<Types> infer_broadcast(const InferInput& in) {
  TW_TRY(check_equal_dtypes(in.types));
  return broadcast_as(in, in.types[0].dtype);
}

Result<Types> infer_broadcast_float(const InferInput& in) {
  TW_TRY(check_float(in.types[0]));
  return infer_broadcast(in);
}

Result<Types> infer_broadcast_bits(const InferInput& in) {
  TW_TRY(check_bits(in.types[0]));
  return infer_broadcast(in);
}

Result<Types> infer_compare(const InferInput& in) {
  TW_TRY(check_equal_dtypes(in.types));
  return broadcast_as(in, DType::kBool);
}

Result<Types> infer_select(const InferInput& in) {
  if (in.types[0].dtype != DType::kBool) {
    return fail(ErrorKind::kDTypeMismatch, "the condition must be bool: {}", to_string(in.types[0]));
  }
  TW_TRY(check_equal_dtypes(std::span(in.types).subspan(1)));
  return broadcast_as(in, in.types[1].dtype);
}

}  // namespace tilewright
