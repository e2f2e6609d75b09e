// Ops that make a tensor out of attributes.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {

Result<Types> infer_constant(const InferInput& in) {
  const Tensor& value = in.attrs.tensor("value");
  return Types{{value.dtype(), Shape(value.sizes().begin(), value.sizes().end())}};
}

Result<Types> infer_scalar(const InferInput& in) {
  return Types{{in.attrs.dtype("dtype"), {}}};
}

Result<Types> infer_iota(const InferInput& in) {
  TensorType out{in.attrs.dtype("dtype"), in.attrs.dims("shape")};
  TW_TRY(check_sizes(out.shape, in.facts));
  TW_TRY(check_axis(out, in.attrs.integer("axis")));
  if (out.dtype == DType::kBool) return fail(ErrorKind::kDTypeMismatch, "positions have no bool form: {}", out);
  return Types{std::move(out)};
}

Result<Types> infer_random(const InferInput& in) {
  static constexpr std::string_view kDistributions[] = {"uniform", "normal", "bits"};
  const TensorType& key = in.types[0];
  const TensorType out{in.attrs.dtype("dtype"), in.attrs.dims("shape")};
  const std::string& distribution = in.attrs.text("distribution");
  TW_TRY(check_choice("distribution", distribution, kDistributions));
  TW_TRY(check_sizes(out.shape, in.facts));
  if (key.dtype != DType::kI64 || key.shape.size() != 1 || provably_different(key.shape[0], 2, in.facts)) {
    return fail(ErrorKind::kShapeMismatch, "the key must be i64[2]: {}", key);
  }
  const bool bits = out.dtype == DType::kI32 || out.dtype == DType::kI64;
  if (distribution == "bits" ? !bits : !is_float(out.dtype)) {
    return fail(ErrorKind::kDTypeMismatch, "'{}' gives {}: {}", distribution,
                distribution == "bits" ? "i32 or i64" : "a floating-point dtype", out);
  }
  return Types{out};
}

}  // namespace tilewright
