// Sequences and optionals. A sequence is a list of values while the model is imported: its length and the positions in
// it are known then, and nothing of it is left in the graph.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Result<ValueRef> sequence_of(const OnnxNode& n, std::size_t input) {
  TW_ASSIGN(ValueRef value, n.value(input));
  if (value->kind == OnnxValue::Kind::kSequence) return value;
  return fail(ErrorKind::kInvalidArgument, "input {} is not a sequence", input);
}

// A position in a sequence of `size`, of which the end (size itself) may be one too.
Result<std::size_t> position(const OnnxNode& n, std::size_t input, std::size_t size, bool with_end) {
  TW_ASSIGN(const Ints given, n.constant_integers(input));
  const auto count = static_cast<std::int64_t>(size);
  if (given.size() != 1 || given[0] < -count || given[0] >= count + (with_end ? 1 : 0)) {
    return fail(ErrorKind::kIndexOutOfRange, "position {} in a sequence of {}", given.empty() ? 0 : given[0], size);
  }
  return static_cast<std::size_t>(given[0] < 0 ? given[0] + count : given[0]);
}

ValueRef known_number(DType dtype, std::int64_t value) {
  return host_value({.dtype = dtype, .sizes = {}, .elements = {Dim(value)}});
}

// Sizes of the parts that input 0 is split in along the axis: as given, equal ones, or single positions.
Result<Dims> part_sizes(OnnxNode& n, Dim size) {
  if (n.has(1)) {
    TW_ASSIGN(const TensorType split, n.type(1));
    TW_ASSIGN(const Dims given, n.integers(1));
    if (!split.shape.empty()) return given;
    TW_ASSIGN(const std::int64_t total, n.number_of_size(size));
    TW_ASSIGN(const std::int64_t step, n.number_of_size(given.front()));
    if (step < 1) return fail(ErrorKind::kInvalidArgument, "an axis of {} split by {}", total, step);
    Dims out;
    for (std::int64_t at = 0; at < total; at += step) out.push_back(Dim(std::min(step, total - at)));
    return out;
  }
  TW_ASSIGN(const std::int64_t total, n.number_of_size(size));
  if (total > kMaxHostElements) return fail(ErrorKind::kUnsupported, "an axis of {} split in single positions", total);
  return Dims(static_cast<std::size_t>(total), Dim(1));
}

}  // namespace

Result<Results> import_sequence_empty(OnnxNode&) {
  return Results{sequence_value({})};
}

Result<Results> import_sequence_construct(OnnxNode& n) {
  std::vector<ValueRef> items;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) {
    TW_ASSIGN(ValueRef item, n.value(i));
    items.push_back(std::move(item));
  }
  return Results{sequence_value(std::move(items))};
}

Result<Results> import_sequence_length(OnnxNode& n) {
  TW_ASSIGN(const ValueRef sequence, sequence_of(n, 0));
  return Results{known_number(DType::kI64, std::ssize(sequence->items))};
}

Result<Results> import_sequence_at(OnnxNode& n) {
  TW_ASSIGN(const ValueRef sequence, sequence_of(n, 0));
  TW_ASSIGN(const std::size_t at, position(n, 1, sequence->items.size(), false));
  return Results{sequence->items[at]};
}

Result<Results> import_sequence_insert(OnnxNode& n) {
  TW_ASSIGN(const ValueRef sequence, sequence_of(n, 0));
  TW_ASSIGN(const ValueRef item, n.value(1));
  std::vector<ValueRef> items = sequence->items;
  std::size_t at = items.size();
  if (n.has(2)) {
    TW_ASSIGN(at, position(n, 2, items.size(), true));
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), item);
  return Results{sequence_value(std::move(items))};
}

Result<Results> import_sequence_erase(OnnxNode& n) {
  TW_ASSIGN(const ValueRef sequence, sequence_of(n, 0));
  std::vector<ValueRef> items = sequence->items;
  if (items.empty()) return fail(ErrorKind::kIndexOutOfRange, "nothing to erase from an empty sequence");
  std::size_t at = items.size() - 1;
  if (n.has(1)) {
    TW_ASSIGN(at, position(n, 1, items.size(), false));
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return Results{sequence_value(std::move(items))};
}

Result<Results> import_split_to_sequence(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), type.shape.size()));
  TW_ASSIGN(const Dims sizes, part_sizes(n, type.shape[static_cast<std::size_t>(axis)]));
  const bool dropped = !n.has(1) && n.integer("keepdims", 1) == 0;
  std::vector<ValueRef> items;
  Dim at = 0;
  for (const Dim size : sizes) {
    Maybe part = n.slice(n.input(0), axis, at, at + size);
    if (dropped) {
      Shape shape = type.shape;
      shape.erase(shape.begin() + axis);
      part = n.reshape(part, std::move(shape));
    }
    TW_ASSIGN(ValueRef item, n.result(part));
    items.push_back(std::move(item));
    at = at + size;
  }
  return Results{sequence_value(std::move(items))};
}

Maybe import_concat_from_sequence(OnnxNode& n) {
  TW_ASSIGN(const ValueRef sequence, sequence_of(n, 0));
  if (sequence->items.empty()) return fail(ErrorKind::kInvalidArgument, "an empty sequence is joined");
  const bool stacked = n.integer("new_axis", 0) != 0;
  std::vector<ValueId> parts;
  std::int64_t axis = 0;
  for (const ValueRef& item : sequence->items) {
    TW_ASSIGN(const ValueId part, n.local(item));
    TW_ASSIGN(axis, n.axis(n.integer("axis", 0), n.type_of(part).shape.size() + (stacked ? 1 : 0)));
    TW_ASSIGN(const ValueId shaped, stacked ? n.unsqueeze(part, {axis}) : Maybe(part));
    parts.push_back(shaped);
  }
  return n.op(Op::kConcat, parts, {{"axis", axis}});
}

// The body for each item of the first sequence, with the same item of other sequences and tensors as they are.
Result<Results> import_sequence_map(OnnxNode& n) {
  TW_ASSIGN(const ValueRef first, sequence_of(n, 0));
  std::vector<std::vector<ValueRef>> columns(n.num_outputs());
  for (std::size_t i = 0; i < first->items.size(); ++i) {
    std::vector<ValueRef> inputs;
    for (std::size_t input = 0; input < n.num_inputs(); ++input) {
      TW_ASSIGN(const ValueRef value, n.value(input));
      const bool is_sequence = value->kind == OnnxValue::Kind::kSequence;
      if (is_sequence && value->items.size() != first->items.size()) {
        return fail(ErrorKind::kInvalidArgument, "sequences of {} and {}", first->items.size(), value->items.size());
      }
      inputs.push_back(is_sequence ? value->items[i] : value);
    }
    TW_ASSIGN(const Results results, n.inline_subgraph("body", std::move(inputs)));
    for (std::size_t output = 0; output < columns.size() && output < results.size(); ++output) {
      columns[output].push_back(results[output]);
    }
  }
  Results out;
  for (std::vector<ValueRef>& column : columns) out.push_back(sequence_value(std::move(column)));
  return out;
}

// A value, or none.
Result<Results> import_optional(OnnxNode& n) {
  if (!n.has(0)) return Results{no_value()};
  TW_ASSIGN(ValueRef value, n.value(0));
  return Results{std::move(value)};
}

Result<Results> import_optional_has_element(OnnxNode& n) {
  return Results{known_number(DType::kBool, n.has(0) ? 1 : 0)};
}

Result<Results> import_optional_get_element(OnnxNode& n) {
  TW_ASSIGN(ValueRef value, n.value(0));
  return Results{std::move(value)};
}

}  // namespace tilewright::onnx
