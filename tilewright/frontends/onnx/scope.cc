#include "tilewright/frontends/onnx/scope.h"

namespace tilewright::onnx {
namespace {

// A constant of at least this size is a weight: packed once, not stored in the graph.
constexpr std::int64_t kWeightBytes = 1024;

}  // namespace

bool is_weight(const Tensor& constant) {
  return constant.bytes() >= kWeightBytes;
}

ValueRef NameScope::find(std::string_view name) const {
  for (const NameScope* scope = this; scope != nullptr; scope = scope->outer) {
    if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
  }
  return nullptr;
}

Result<ValueId> GraphScope::one(Op op, std::vector<ValueId> inputs, Attrs attrs) {
  TW_ASSIGN(const std::vector<ValueId> results, builder_.op(op, std::move(inputs), std::move(attrs)));
  return results.front();
}

Result<ValueId> GraphScope::local(const ValueRef& value) {
  if (value->kind == OnnxValue::Kind::kSequence)
    return fail(ErrorKind::kUnsupported, "a sequence where a tensor is needed");
  if (value->kind == OnnxValue::Kind::kNone)
    return fail(ErrorKind::kInvalidArgument, "an optional without content is read");
  if (value->home == this) return value->id;
  if (const auto found = locals_.find(value); found != locals_.end()) return found->second;
  TW_ASSIGN(const ValueId id, place(value));
  locals_.emplace(value, id);
  set_carried(id, value->carried);
  return id;
}

Result<ValueId> GraphScope::place(const ValueRef& value) {
  if (value->constant) return place_constant(value);
  if (value->known) return place_numbers(*value->known);
  TW_CHECK(outer_ != nullptr, "a value is at home in this graph or in one around it");
  TW_ASSIGN(const ValueId outer, outer_->local(value));
  const Value& source = outer_->graph().value(outer);
  return graph().add_capture(outer, source.type, source.name);
}

Result<ValueId> GraphScope::place_constant(const ValueRef& value) {
  if (!is_weight(*value->constant)) {
    TW_ASSIGN(const std::vector<ValueId> results,
              builder_.op(Op::kConstant, {}, {{"value", *value->constant}}, {}, value->label));
    return results.front();
  }
  if (outer_ != nullptr) {
    TW_ASSIGN(const ValueId outer, outer_->local(value));
    const Value& source = outer_->graph().value(outer);
    return graph().add_capture(outer, source.type, source.name);
  }
  const ValueId id = graph().add_input(value->type, value->label, InputRole::kWeight);
  weights_.emplace(graph().value(id).name, *value->constant);
  return id;
}

Result<ValueId> GraphScope::place_numbers(const HostTensor& host) {
  if (const std::optional<Tensor> tensor = to_tensor(host)) return one(Op::kConstant, {}, {{"value", *tensor}});
  const auto scalar = [&](Dim element) -> Result<ValueId> {
    if (host.dtype != DType::kBool) return one(Op::kScalar, {}, {{"dtype", host.dtype}, {"value", element}});
    TW_ASSIGN(const ValueId number, one(Op::kScalar, {}, {{"dtype", DType::kI64}, {"value", element}}));
    return one(Op::kCast, {number}, {{"dtype", DType::kBool}});
  };
  if (host.sizes.empty()) return scalar(host.elements.front());
  std::vector<ValueId> parts;
  for (const Dim element : host.elements) {
    TW_ASSIGN(const ValueId number, scalar(element));
    TW_ASSIGN(const ValueId part, one(Op::kReshape, {number}, {{"shape", Shape{Dim(1)}}}));
    parts.push_back(part);
  }
  TW_ASSIGN(const ValueId row, one(Op::kConcat, std::move(parts), {{"axis", std::int64_t{0}}}));
  if (host.sizes.size() == 1) return row;
  return one(Op::kReshape, {row}, {{"shape", Shape(host.sizes.begin(), host.sizes.end())}});
}

}  // namespace tilewright::onnx
