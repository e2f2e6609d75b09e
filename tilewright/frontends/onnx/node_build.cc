// Building with a node: operators of the graph, and the small things every importer needs.
#include <algorithm>
#include <array>
#include <bit>

#include "tilewright/frontends/onnx/carried_ops.h"
#include "tilewright/frontends/onnx/importer.h"
#include "tilewright/frontends/onnx/node.h"
#include "tilewright/frontends/onnx/operators/texts.h"

namespace tilewright::onnx {
namespace {

constexpr std::uint64_t kTripsOfInner = 1'000'003;  // numbers of the trips of an outer loop lie this far apart

}  // namespace

Maybe OnnxNode::op(Op op, std::initializer_list<Maybe> inputs, Attrs attrs) {
  std::vector<ValueId> ids;
  for (const Maybe& input : inputs) {
    if (!input.ok()) return input;
    ids.push_back(input.value());
  }
  return this->op(op, ids, std::move(attrs));
}

Maybe OnnxNode::op(Op op, const std::vector<ValueId>& inputs, Attrs attrs) {
  TW_ASSIGN(const std::vector<ValueId> results, ops(op, inputs, std::move(attrs)));
  return results.front();
}

Result<std::vector<ValueId>> OnnxNode::ops(Op op, const std::vector<ValueId>& inputs, Attrs attrs,
                                           std::vector<std::unique_ptr<Graph>> regions) {
  if (frame_.graph->has_carried()) return carried_ops(*this, op, inputs, std::move(attrs), std::move(regions));
  return plain_ops(op, inputs, std::move(attrs), std::move(regions));
}

Result<std::vector<ValueId>> OnnxNode::plain_ops(Op op, const std::vector<ValueId>& inputs, Attrs attrs,
                                                 std::vector<std::unique_ptr<Graph>> regions) {
  return frame_.graph->builder().op(op, inputs, std::move(attrs), std::move(regions));
}

Maybe OnnxNode::number(DType dtype, Dim value) {
  return op(Op::kScalar, {}, {{"dtype", dtype}, {"value", value}});
}

Maybe OnnxNode::number_like(const Maybe& like, double value) {
  if (!like.ok()) return like;
  const DType dtype = type_of(like.value()).dtype;
  return number(dtype, is_float(dtype) ? Dim::real(value) : Dim(static_cast<std::int64_t>(value)));
}

Maybe OnnxNode::constant_tensor(Tensor tensor) {
  return frame_.graph->local(constant_value(std::move(tensor), ""));
}

Maybe OnnxNode::cast(const Maybe& value, DType dtype) {
  if (!value.ok() || type_of(value.value()).dtype == dtype) return value;
  if (carried(*value) == Carried::kU64) return from_elements(*this, *value, dtype);
  return op(Op::kCast, {value}, {{"dtype", dtype}});
}

Maybe OnnxNode::convert(const Maybe& value, ElemType to, const CastRules& rules) {
  if (!value.ok()) return value;
  const ElemType from = elem_of(*value);
  if (from == to) return value;
  if (from.carried == Carried::kString || to.carried == Carried::kString) {
    if (to.carried == Carried::kString) {
      const bool is_plain = from.carried == Carried::kNone;
      return numbers_to_strings(*this,
                                is_plain ? value : convert(value, {is_float(from.dtype) ? DType::kF64 : DType::kI64}));
    }
    const DType wide = to.carried != Carried::kNone && is_float(to.dtype) ? DType::kF64 : DType::kI64;
    return convert(strings_to_numbers(*this, value, to.carried == Carried::kNone ? to.dtype : wide), to, rules);
  }
  if (to.carried == Carried::kNone) {
    return from.carried == Carried::kNone ? cast(value, to.dtype) : from_elements(*this, *value, to.dtype);
  }
  // An integer keeps its low bits; a float is rounded from the number that the element stands for.
  const bool is_number = from.carried != Carried::kNone && row_of(to.carried).kind == 'f';
  const DType wide = from.dtype == DType::kF32 ? DType::kF32 : DType::kF64;
  return to_elements(*this, is_number ? from_elements(*this, *value, wide) : value, to.carried, rules);
}

Result<ElemType> OnnxNode::elem_of_input(std::size_t input) const {
  TW_ASSIGN(const ValueRef value, this->value(input));
  return ElemType{value->type.dtype, value->carried};
}

Maybe OnnxNode::reshape(const Maybe& value, Shape shape) {
  if (!value.ok() || type_of(value.value()).shape == shape) return value;
  return op(Op::kReshape, {value}, {{"shape", std::move(shape)}});
}

Maybe OnnxNode::expand(const Maybe& value, Shape shape) {
  if (!value.ok() || type_of(value.value()).shape == shape) return value;
  return op(Op::kExpand, {value}, {{"shape", std::move(shape)}});
}

Maybe OnnxNode::transpose(const Maybe& value, Ints perm) {
  return op(Op::kTranspose, {value}, {{"perm", std::move(perm)}});
}

Maybe OnnxNode::slice(const Maybe& value, std::int64_t axis, Dim start, Dim stop) {
  if (!value.ok()) return value;
  const Shape shape = type_of(value.value()).shape;
  if (axis < 0 || axis >= std::ssize(shape)) {
    return fail(ErrorKind::kIndexOutOfRange, "axis {} is out of range for rank {}", axis, shape.size());
  }
  Dims starts(shape.size(), Dim(0));
  Dims stops(shape);
  starts[static_cast<std::size_t>(axis)] = start;
  stops[static_cast<std::size_t>(axis)] = stop;
  return op(Op::kSlice, {value}, {{"start", starts}, {"stop", stops}, {"step", Ints(shape.size(), 1)}});
}

Maybe OnnxNode::reduce(Op reduction, const Maybe& value, const Ints& axes, bool keepdim) {
  return op(reduction, {value}, {{"axes", axes}, {"keepdim", keepdim}});
}

Maybe OnnxNode::unsqueeze(const Maybe& value, const Ints& axes) {
  if (!value.ok()) return value;
  const Shape shape = type_of(value.value()).shape;
  const std::size_t rank = shape.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t entry : axes) {
    TW_ASSIGN(const std::int64_t axis, this->axis(entry, rank));
    if (added[static_cast<std::size_t>(axis)]) return fail(ErrorKind::kInvalidArgument, "axis {} is given twice", axis);
    added[static_cast<std::size_t>(axis)] = true;
  }
  Shape out;
  std::size_t next = 0;
  for (const bool is_added : added) out.push_back(is_added ? Dim(1) : shape[next++]);
  return reshape(value, std::move(out));
}

ValueRef OnnxNode::result(ValueId value) const {
  return tensor_value(*frame_.graph, value, type_of(value), carried(value));
}

Result<ValueRef> OnnxNode::result(const Maybe& value) const {
  if (!value.ok()) return Error(value.error());
  return result(value.value());
}

Result<Results> OnnxNode::results(std::initializer_list<Maybe> values) const {
  Results out;
  for (const Maybe& value : values) {
    TW_ASSIGN(ValueRef result, this->result(value));
    out.push_back(std::move(result));
  }
  return out;
}

Dim OnnxNode::fresh_symbol(std::string_view stem) {
  return importer_.fresh_symbol(stem);
}

Result<Dim> OnnxNode::late(const Maybe& one_element) {
  if (!one_element.ok()) return Error(one_element.error());
  const DType dtype = type_of(one_element.value()).dtype;
  const Dim symbol = is_float(dtype) ? importer_.fresh_float_symbol("x") : importer_.fresh_symbol("n");
  TW_ASSIGN(const ValueId wide, cast(one_element, is_float(dtype) ? DType::kF64 : DType::kI64));
  TW_TRY(ops(Op::kItem, {wide}, {{"symbol", symbol}}));
  if (!is_float(dtype)) facts().set_range(symbol, {INT64_MIN, INT64_MAX});
  return symbol;
}

Result<bool> OnnxNode::decide(Dim condition) {
  TW_ASSIGN(const bool holds, importer_.decide(condition));
  const Dim as_decided = holds ? condition : Dim::make(DimOp::kEq, std::array{condition, Dim(0)});
  TW_TRY(require(as_decided, fmt::format("the model is imported for {} = {}", condition, holds ? 1 : 0)));
  return holds;
}

Result<std::int64_t> OnnxNode::number_of_size(Dim size) {
  TW_ASSIGN(const std::int64_t number, importer_.number(size));
  TW_TRY(require(Dim::make(DimOp::kEq, std::array{size, Dim(number)}),
                 fmt::format("the model is imported for {} = {}", size, number)));
  return number;
}

Result<std::vector<ValueId>> OnnxNode::on_texts(TextFunction function, const std::vector<ValueId>& inputs,
                                                const std::vector<TensorType>& types, TextAttributes more) {
  for (const schema::AttributeProto& named : proto_.attribute) {
    const std::string name(named.name.value_or(""));
    const schema::AttributeProto* found = attribute(name);
    if (found == nullptr) continue;
    if (found->i) more.integers[name] = {*found->i};
    if (!found->ints.empty()) more.integers[name] = found->ints;
    if (found->f) more.reals[name] = {static_cast<double>(*found->f)};
    if (!found->floats.empty()) more.reals[name].assign(found->floats.begin(), found->floats.end());
    if (found->s) more.texts[name] = {std::string(*found->s)};
    if (!found->strings.empty()) more.texts[name].assign(found->strings.begin(), found->strings.end());
  }
  const std::int64_t target = importer_.add_text_operator({std::string(op_type()), function, std::move(more)});
  Graph& graph = frame_.graph->graph();
  const NodeId node = graph.add_node(Op::kHostCall, inputs, {{"target", target}}, types, {}, std::string(op_type()));
  return graph.node(node).outputs;
}

// Of a seed, or of one that is another in every process. In a loop, numbers begin 2^32 further on at every trip.
Maybe OnnxNode::random_key() {
  std::string seed;
  if (has_attribute("seed")) {
    seed = std::to_string(std::bit_cast<std::uint32_t>(static_cast<float>(real("seed", 0))));
  }
  TW_ASSIGN(const ValueRef key, importer_.random_key(std::move(seed)));
  Maybe out = local(key);
  std::uint64_t step = std::uint64_t{1} << 32;
  for (const GraphScope* scope = frame_.graph; scope != nullptr; scope = scope->outer()) {
    if (scope->trip() == nullptr) continue;
    const std::int64_t words[] = {0, static_cast<std::int64_t>(step)};
    const Maybe steps = constant_tensor(Tensor::from<std::int64_t>({2}, words));
    out = op(Op::kAdd, {out, op(Op::kMul, {local(scope->trip()), steps})});
    step *= kTripsOfInner;
  }
  return out;
}

Status OnnxNode::require(Dim condition, std::string message) {
  if (condition.constant() && *condition.constant() != 0) return {};
  if (condition.constant()) return fail(ErrorKind::kInvalidArgument, "{}", message);
  TW_TRY(ops(Op::kAssert, {}, {{"condition", condition}, {"message", std::move(message)}}));
  return {};
}

Region OnnxNode::open_region(const std::vector<TensorType>& inputs, const std::vector<Carried>& carried) {
  Region region;
  region.graph = std::make_unique<Graph>();
  region.graph->facts = facts();
  region.scope = std::make_unique<GraphScope>(*region.graph, frame_.graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = region.graph->add_input(inputs[i], "carried");
    const Carried element = i < carried.size() ? carried[i] : Carried::kNone;
    region.scope->set_carried(id, element);
    region.inputs.push_back(tensor_value(*region.scope, id, inputs[i], element));
  }
  return region;
}

Result<std::vector<ValueId>> OnnxNode::finish_region(Region& region) {
  std::vector<ValueId> ids;
  for (const ValueRef& result : region.results) {
    TW_ASSIGN(const ValueId id, region.scope->local(result));
    ids.push_back(id);
  }
  region.graph->set_outputs(ids);
  return ids;
}

}  // namespace tilewright::onnx
