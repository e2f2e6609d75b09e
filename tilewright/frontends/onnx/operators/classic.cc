// Operators of ai.onnx.ml on numbers, and on the numbers of strings.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Maybe row(OnnxNode& n, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  const auto count = static_cast<std::int64_t>(narrow.size());
  return n.constant_tensor(Tensor::from<float>({count}, std::span<const float>(narrow)));
}

Maybe as_float(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  return n.cast(n.input(0), type.dtype == DType::kF64 ? DType::kF64 : DType::kF32);
}

struct Labels {
  Tensor values;
  Carried carried = Carried::kNone;
};

// Keys or values of a label encoder: an attribute of i64s, floats or strings, or a tensor.
Result<Labels> labels(const OnnxNode& n, std::string_view side) {
  const std::string stem(side);
  if (const auto integers = n.integers_of(stem + "_int64s")) {
    return Labels{Tensor::from<std::int64_t>({std::ssize(*integers)}, std::span<const std::int64_t>(*integers))};
  }
  if (const auto reals = n.reals_of(stem + "_floats")) {
    const std::vector<float> narrow(reals->begin(), reals->end());
    return Labels{Tensor::from<float>({std::ssize(narrow)}, std::span<const float>(narrow))};
  }
  if (n.has_attribute(stem + "_tensor")) {
    TW_ASSIGN(Tensor values, n.tensor(stem + "_tensor"));
    TW_ASSIGN(const ElemType elem, n.elem_of_tensor(stem + "_tensor"));
    return Labels{std::move(values), elem.carried};
  }
  Ints numbers;
  for (const std::string_view text : n.texts_of(stem + "_strings")) numbers.push_back(n.number_of(text));
  return Labels{Tensor::from<std::int64_t>({std::ssize(numbers)}, std::span<const std::int64_t>(numbers)),
                Carried::kString};
}

Maybe label_table(OnnxNode& n, const Labels& labels) {
  const Maybe table = n.constant_tensor(labels.values);
  if (table.ok()) n.scope().set_carried(*table, labels.carried);
  return table;
}

Maybe default_label(OnnxNode& n, DType dtype, Carried carried) {
  if (carried == Carried::kString) {
    const bool given = n.has_attribute("default_string");
    const std::int64_t number = given ? n.number_of(n.text("default_string", "")) : n.number_of("_Unused");
    return label_table(n, {Tensor::scalar(number), carried});
  }
  if (n.has_attribute("default_tensor")) {
    TW_ASSIGN(Tensor value, n.tensor("default_tensor"));
    return n.cast(n.reshape(n.constant_tensor(std::move(value)), {}), dtype);
  }
  if (is_float(dtype)) return n.number(dtype, Dim::real(n.real("default_float", -0.0)));
  return n.number(dtype, Dim(n.integer("default_int64", -1)));
}

}  // namespace

// Elements of the last axis at given places; a row of them is a matrix of one row.
Maybe import_array_feature_extractor(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType places, n.type(1));
  Dim count = 1;
  for (const Dim dim : places.shape) count = count * dim;
  if (x.shape.empty()) return fail(ErrorKind::kShapeMismatch, "x is a scalar");
  const Maybe y = n.op(Op::kGather, {n.input(0), n.reshape(n.input(1), {count})}, {{"axis", std::ssize(x.shape) - 1}});
  return x.shape.size() == 1 ? n.unsqueeze(y, {0}) : y;
}

Maybe import_binarizer(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  return n.cast(n.op(Op::kGt, {n.input(0), n.number_like(n.input(0), n.real("threshold", 0.0))}), x.dtype);
}

// (x - offset) * scale, of each column
Maybe import_scaler(OnnxNode& n) {
  const Maybe x = n.cast(n.input(0), DType::kF32);
  const auto parameter = [&](std::string_view name, double missing) {
    return row(n, n.reals_of(name).value_or(std::vector<double>{missing}));
  };
  return n.op(Op::kMul, {n.op(Op::kSub, {x, parameter("offset", 0.0)}), parameter("scale", 1.0)});
}

// What is `replaced_value_float` (nan: what is nan) becomes the value of its column.
Maybe import_imputer(OnnxNode& n) {
  const auto values = n.reals_of("imputed_value_floats");
  if (!values) return fail(ErrorKind::kUnsupported, "imputed values that are not floats");
  const Maybe x = as_float(n);
  const double replaced = n.real("replaced_value_float", 0.0);
  const Maybe hit = replaced != replaced ? n.op(Op::kIsNan, {x}) : n.op(Op::kEq, {x, n.number_like(x, replaced)});
  return n.op(Op::kSelect, {hit, row(n, *values), x});
}

// x times the transpose of coefficients [targets, features], plus intercepts
Maybe import_linear_regressor(OnnxNode& n) {
  if (n.text("post_transform", "NONE") != "NONE") return fail(ErrorKind::kUnsupported, "post_transform");
  const auto coefficients = n.reals_of("coefficients").value_or(std::vector<double>());
  const std::int64_t targets = n.integer("targets", 1);
  if (targets < 1 || coefficients.empty()) return fail(ErrorKind::kInvalidArgument, "no coefficients");
  const Dim features(std::ssize(coefficients) / targets);
  const Maybe weight = n.transpose(n.reshape(row(n, coefficients), {Dim(targets), features}), {1, 0});
  const Maybe y = n.op(Op::kMatMul, {n.cast(n.input(0), DType::kF32), weight});
  const auto intercepts = n.reals_of("intercepts");
  return intercepts ? n.op(Op::kAdd, {y, row(n, *intercepts)}) : y;
}

// The value beside the key that equals x, or the default.
Maybe import_label_encoder(OnnxNode& n) {
  TW_ASSIGN(const Labels keys, labels(n, "keys"));
  TW_ASSIGN(const Labels values, labels(n, "values"));
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const ElemType elem, n.elem_of_input(0));
  if (keys.values.dtype() != x.dtype || keys.carried != elem.carried || keys.values.count() != values.values.count()) {
    return fail(ErrorKind::kInvalidArgument, "{} keys of {} and {} values for {}", keys.values.count(),
                keys.values.dtype(), values.values.count(), x);
  }
  const auto last = std::ssize(x.shape);
  const Maybe column = n.unsqueeze(n.input(0), {last}), table = label_table(n, keys);
  Maybe hit = n.op(Op::kEq, {column, table});
  if (is_float(x.dtype)) {  // nan finds the key nan
    hit = n.op(Op::kBitOr, {hit, n.op(Op::kBitAnd, {n.op(Op::kIsNan, {column}), n.op(Op::kIsNan, {table})})});
  }
  const Maybe numbers = n.cast(hit, DType::kI32);
  const Maybe place = n.op(Op::kArgMax, {numbers}, {{"axis", last}});
  const Maybe found = n.reduce(Op::kReduceAny, hit, {last}, false);
  const Maybe value = n.op(Op::kGather, {label_table(n, values), place}, {{"axis", std::int64_t{0}}});
  return n.op(Op::kSelect, {found, value, default_label(n, values.values.dtype(), values.carried)});
}

}  // namespace tilewright::onnx
