// Operators on strings. Moving and comparing strings is moving and comparing their numbers; what looks at the text is a
// call of the host on a row of numbers (texts/functions.h), shaped before and after.
#include "tilewright/frontends/onnx/operators/texts.h"
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/texts/functions.h"

namespace tilewright::onnx {
namespace {

Dim product(const Shape& shape) {
  Dim out = 1;
  for (const Dim dim : shape) out = out * dim;
  return out;
}

Status check_strings(const OnnxNode& n, std::size_t input) {
  TW_ASSIGN(const ValueRef value, n.value(input));
  if (value->carried == Carried::kString) return {};
  return fail(ErrorKind::kDTypeMismatch, "input {} must be of strings: {}", input, value->type);
}

Maybe as_strings(OnnxNode& n, const Maybe& numbers) {
  if (numbers.ok()) n.scope().set_carried(*numbers, Carried::kString);
  return numbers;
}

}  // namespace

Maybe strings_to_numbers(OnnxNode& n, const Maybe& strings, DType dtype) {
  TW_ASSIGN(const ValueId value, Maybe(strings));
  const Shape shape = n.type_of(value).shape;
  TW_ASSIGN(const ValueId row, n.reshape(value, {product(shape)}));
  const Shape count{n.fresh_symbol("n")};
  TW_ASSIGN(const std::vector<ValueId> parsed,
            n.on_texts(parse_numbers, {row}, {{DType::kF64, count}, {DType::kI64, count}}));
  return n.reshape(n.cast(parsed[is_float(dtype) ? 0 : 1], dtype), shape);
}

Maybe numbers_to_strings(OnnxNode& n, const Maybe& numbers) {
  TW_ASSIGN(const ValueId value, Maybe(numbers));
  const TensorType type = n.type_of(value);
  constexpr std::int64_t kOfFloat = 9, kOfDouble = 17;
  const std::int64_t digits = type.dtype == DType::kF64    ? kOfDouble
                              : is_float(type.dtype)       ? kOfFloat
                              : type.dtype == DType::kBool ? -1
                                                           : 0;
  TW_ASSIGN(const ValueId row, n.reshape(n.cast(value, digits > 0 ? DType::kF64 : DType::kI64), {product(type.shape)}));
  TextAttributes more;
  more.integers["digits"] = {digits};
  TW_ASSIGN(const std::vector<ValueId> printed,
            n.on_texts(print_numbers, {row}, {{DType::kI64, {n.fresh_symbol("n")}}}, std::move(more)));
  return as_strings(n, n.reshape(printed[0], type.shape));
}

Maybe import_string_concat(OnnxNode& n) {
  TW_TRY(check_strings(n, 0));
  TW_TRY(check_strings(n, 1));
  TW_ASSIGN(const ValueId left, n.input(0));
  TW_ASSIGN(const ValueId right, n.input(1));
  TW_ASSIGN(const std::vector<ValueId> both, n.plain_ops(Op::kAdd, {left, right}));  // for its shape
  const Shape shape = n.type_of(both[0]).shape;
  std::vector<ValueId> rows;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    TW_ASSIGN(const ValueId row, n.reshape(n.expand(n.input(i), shape), {product(shape)}));
    rows.push_back(row);
  }
  TW_ASSIGN(const std::vector<ValueId> joined, n.on_texts(join_texts, rows, {{DType::kI64, {n.fresh_symbol("n")}}}));
  return as_strings(n, n.reshape(joined[0], shape));
}

Result<Results> import_string_split(OnnxNode& n) {
  TW_TRY(check_strings(n, 0));
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const ValueId row, n.reshape(n.input(0), {product(type.shape)}));
  const Dim count = n.fresh_symbol("n"), width = n.fresh_symbol("n");
  TW_ASSIGN(const std::vector<ValueId> split,
            n.on_texts(split_texts, {row}, {{DType::kI64, {count, width}}, {DType::kI64, {count}}}));
  Shape shape = type.shape;
  shape.push_back(width);
  return n.results({as_strings(n, n.reshape(split[0], std::move(shape))), n.reshape(split[1], type.shape)});
}

Maybe import_regex_full_match(OnnxNode& n) {
  TW_TRY(check_strings(n, 0));
  TW_ASSIGN(const Pattern pattern, Pattern::parse(n.text("pattern", "")));  // a wrong one is an error of the model
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const ValueId row, n.reshape(n.input(0), {product(type.shape)}));
  TW_ASSIGN(const std::vector<ValueId> found, n.on_texts(match_texts, {row}, {{DType::kBool, {n.fresh_symbol("n")}}}));
  return n.reshape(found[0], type.shape);
}

// A row, or a matrix of one row.
Maybe import_string_normalizer(OnnxNode& n) {
  TW_TRY(check_strings(n, 0));
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.shape.empty() || type.shape.size() > 2) {
    return fail(ErrorKind::kShapeMismatch, "the input must be [C] or [1, C]: {}", type);
  }
  TW_ASSIGN(const ValueId row, n.reshape(n.input(0), {product(type.shape)}));
  const Dim count = n.fresh_symbol("n");
  TW_ASSIGN(const std::vector<ValueId> kept, n.on_texts(normalize_texts, {row}, {{DType::kI64, {count}}}));
  Shape shape = type.shape;
  shape.back() = count;
  return as_strings(n, n.reshape(kept[0], std::move(shape)));
}

Maybe import_tfidf_vectorizer(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const ElemType elem, n.elem_of_input(0));
  if (type.shape.empty() || type.shape.size() > 2 || is_float(type.dtype)) {
    return fail(ErrorKind::kShapeMismatch, "the input must be [C] or [N, C] of integers or strings: {}", type);
  }
  TextAttributes more;
  std::vector<std::int64_t>& pool = more.integers["pool"];
  if (elem.carried == Carried::kString) {
    for (const std::string_view text : n.texts_of("pool_strings")) pool.push_back(n.number_of(text));
  } else {
    pool = n.integers_of("pool_int64s").value_or(Ints());
  }
  std::int64_t columns = 0;
  for (const std::int64_t place : n.integers_of("ngram_indexes").value_or(Ints())) {
    columns = std::max(columns, place + 1);
  }
  const bool is_row = type.shape.size() == 1;
  const Shape matrix = is_row ? Shape{Dim(1), type.shape[0]} : type.shape;
  TW_ASSIGN(const ValueId numbers, n.cast(n.reshape(n.input(0), matrix), DType::kI64));
  TW_ASSIGN(
      const std::vector<ValueId> counted,
      n.on_texts(count_sequences, {numbers}, {{DType::kF32, {n.fresh_symbol("n"), Dim(columns)}}}, std::move(more)));
  return n.reshape(counted[0], is_row ? Shape{Dim(columns)} : Shape{matrix[0], Dim(columns)});
}

}  // namespace tilewright::onnx
