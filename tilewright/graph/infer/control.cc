// Ops with regions, and effects. A size that differs between the branches of an `if` is a late symbol listed in its
// `late` attribute; a carried size of a `while` that changes from trip to trip is a symbol of the body's input, which
// the node binds to the final size.
#include "tilewright/graph/bound_symbols.h"
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/regions.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
Types types_of(const Graph& graph, std::span<const ValueId> values) {
  Types types;
  types.reserve(values.size());
  for (const ValueId value : values) types.push_back(graph.type(value));
  return types;
}

Status check_numbers(std::string_view what, std::size_t given, std::size_t expected) {
  if (given == expected) return {};
  return fail(ErrorKind::kInvalidArgument, "{} must number {}: {} given", what, expected, given);
}

Status check_alike(std::string_view what, std::size_t index, const TensorType& a, const TensorType& b) {
  if (a.dtype == b.dtype && a.shape.size() == b.shape.size()) return {};
  return fail(ErrorKind::kShapeMismatch, "{} {} differ in dtype or rank: {} and {}", what, index, a, b);
}

Status check_bool_scalar(std::string_view what, const TensorType& type) {
  if (type.dtype == DType::kBool && type.shape.empty()) return {};
  return fail(ErrorKind::kDTypeMismatch, "{} must be bool[]: {}", what, type);
}

Status check_carried(std::size_t index, const TensorType& initial, const TensorType& carried, const TensorType& next,
                     const Facts& facts) {
  TW_TRY(check_alike("input and body input", index, initial, carried));
  TW_TRY(check_alike("body input and body result", index, carried, next));
  for (std::size_t axis = 0; axis < carried.shape.size(); ++axis) {
    const Dim size = carried.shape[axis];
    if (varies(size, initial.shape[axis])) continue;
    if (provably_different(size, initial.shape[axis], facts) || provably_different(size, next.shape[axis], facts)) {
      return fail(ErrorKind::kShapeMismatch,
                  "carried value {} changes its size: {}, {}, {}; a size that changes is a symbol of the body's input",
                  index, initial, carried, next);
    }
  }
  return {};
}

Result<Types> infer_if(const InferInput& in) {
  const Graph& yes = *in.regions[0];
  const Graph& no = *in.regions[1];
  TW_TRY(check_bool_scalar("the condition", in.types[0]));
  TW_TRY(check_numbers("inputs of a branch", yes.inputs().size() + no.inputs().size(), 0));
  TW_TRY(check_numbers("results of the second branch", no.outputs().size(), yes.outputs().size()));
  Types out = types_of(yes, yes.outputs());
  const Types other = types_of(no, no.outputs());
  const Dims& late = in.attrs.dims("late");
  std::size_t used = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    TW_TRY(check_alike("results of the branches, number", i, out[i], other[i]));
    for (std::size_t axis = 0; axis < out[i].shape.size(); ++axis) {
      Dim& dim = out[i].shape[axis];
      if (in.facts.same(dim, other[i].shape[axis]) == Answer::kYes) continue;
      if (used == late.size()) {
        return fail(ErrorKind::kInvalidArgument,
                    "the branches differ in size, so 'late' needs a symbol for it: {} and {}",
                    types_of(yes, yes.outputs())[i], other[i]);
      }
      TW_TRY(check_late_symbol("late", late[used]));
      dim = late[used++];
    }
  }
  TW_TRY(check_numbers("symbols in 'late'", late.size(), used));
  return out;
}

Result<Types> infer_while(const InferInput& in) {
  const Graph& condition = *in.regions[0];
  const Graph& body = *in.regions[1];
  const std::size_t count = in.types.size();
  TW_TRY(check_numbers("inputs of the condition", condition.inputs().size(), count));
  TW_TRY(check_numbers("results of the condition", condition.outputs().size(), 1));
  TW_TRY(check_bool_scalar("the condition", condition.type(condition.outputs()[0])));
  TW_TRY(check_numbers("inputs of the body", body.inputs().size(), count));
  TW_TRY(check_numbers("results of the body", body.outputs().size(), count));
  const Types tested = types_of(condition, condition.inputs());
  const Types next = types_of(body, body.outputs());
  Types out = types_of(body, body.inputs());
  for (std::size_t i = 0; i < count; ++i) {
    TW_TRY(check_alike("input and condition input", i, in.types[i], tested[i]));
    TW_TRY(check_carried(i, in.types[i], out[i], next[i], in.facts));
  }
  return out;
}

// A symbol that is a whole dim of a region input stands for the size that is passed.
Result<Types> infer_call(const InferInput& in) {
  const Graph& region = *in.regions[0];
  TW_TRY(check_numbers("inputs of the region", region.inputs().size(), in.types.size()));
  const Types parameters = types_of(region, region.inputs());
  std::unordered_map<Dim, Dim> sizes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    TW_TRY(check_alike("input and region input", i, in.types[i], parameters[i]));
    for (std::size_t axis = 0; axis < parameters[i].shape.size(); ++axis) {
      const Dim given = in.types[i].shape[axis];
      Dim wanted = parameters[i].shape[axis];
      if (wanted.op() == DimOp::kSymbol) wanted = sizes.emplace(wanted, given).first->second;
      if (provably_different(wanted, given, in.facts)) {
        return fail(ErrorKind::kShapeMismatch, "input {} does not fit: {} where the region takes {}", i, in.types[i],
                    parameters[i]);
      }
    }
  }
  Types out = types_of(region, region.outputs());
  for (TensorType& type : out) {
    for (Dim& dim : type.shape) {
      dim = substitute(dim, [&](Dim symbol) {
        const auto found = sizes.find(symbol);
        return found == sizes.end() ? symbol : found->second;
      });
    }
  }
  return out;
}

Result<Types> infer_host_call(const InferInput&) {
  return fail(ErrorKind::kInvalidArgument, "the results of a host call must be given, they cannot be inferred");
}

Result<Types> infer_assign(const InferInput& in) {
  const TensorType& buffer = in.types[0];
  const TensorType& value = in.types[1];
  bool fits = buffer.shape.size() == value.shape.size();
  for (std::size_t i = 0; fits && i < buffer.shape.size(); ++i) {
    fits = !provably_different(buffer.shape[i], value.shape[i], in.facts);
  }
  if (buffer.dtype != value.dtype || !fits) {
    return fail(ErrorKind::kShapeMismatch, "the value does not fit the buffer: {} into {}", value, buffer);
  }
  return Types{};
}

Result<Types> infer_nothing(const InferInput&) {
  return Types{};
}

}  // namespace tilewright
