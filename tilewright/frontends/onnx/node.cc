// Reading a node: inputs, outputs, attributes.
#include "tilewright/frontends/onnx/node.h"

#include "tilewright/frontends/onnx/importer.h"
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

using AttributeType = schema::AttributeProtoAttributeType;

}  // namespace

bool OnnxNode::has(std::size_t input) const {
  return input < inputs_.size() && inputs_[input] != nullptr && inputs_[input]->kind != OnnxValue::Kind::kNone;
}

Result<ValueRef> OnnxNode::value(std::size_t input) const {
  if (!has(input)) return fail(ErrorKind::kInvalidArgument, "input {} is missing", input);
  return inputs_[input];
}

Maybe OnnxNode::input(std::size_t input) {
  TW_ASSIGN(const ValueRef value, this->value(input));
  return frame_.graph->local(value);
}

Result<TensorType> OnnxNode::type(std::size_t input) const {
  TW_ASSIGN(const ValueRef value, this->value(input));
  if (value->kind != OnnxValue::Kind::kTensor) return fail(ErrorKind::kUnsupported, "input {} is a sequence", input);
  return value->type;
}

const Tensor* OnnxNode::constant(std::size_t input) const {
  return has(input) && inputs_[input]->constant ? &*inputs_[input]->constant : nullptr;
}

const HostTensor* OnnxNode::known(std::size_t input) const {
  return has(input) ? host(*inputs_[input]) : nullptr;
}

Result<Dims> OnnxNode::integers(std::size_t input) {
  if (const HostTensor* elements = known(input)) {
    for (const Dim element : elements->elements) {
      if (element.is_float()) return fail(ErrorKind::kDTypeMismatch, "input {} must be of integers", input);
    }
    return elements->elements;
  }
  TW_ASSIGN(const TensorType type, this->type(input));
  if (type.shape.size() > 1 || !is_integer(type.dtype)) {
    return fail(ErrorKind::kShapeMismatch, "input {} must be a row of integers: {}", input, type);
  }
  if (type.shape.empty()) {
    TW_ASSIGN(const Dim only, late(this->input(input)));
    return Dims{only};
  }
  const std::optional<std::int64_t> count = type.shape[0].constant();
  if (!count) {
    TW_TRY(learn(input));
    return known(input)->elements;
  }
  if (*count > kMaxHostElements) return fail(ErrorKind::kUnsupported, "input {} has {} elements", input, *count);
  Dims out;
  for (std::int64_t i = 0; i < *count; ++i) {
    TW_ASSIGN(const Dim element, late(slice(this->input(input), 0, i, i + 1)));
    out.push_back(element);
  }
  return out;
}

Result<Ints> OnnxNode::constant_integers(std::size_t input) const {
  TW_TRY(learn(input));
  Ints out;
  for (const Dim element : known(input)->elements) {
    const std::optional<std::int64_t> value = element.constant();
    if (!value) return fail(ErrorKind::kDTypeMismatch, "input {} must be of integers", input);
    out.push_back(*value);
  }
  return out;
}

Status OnnxNode::learn(std::size_t input) const {
  TW_ASSIGN(const ValueRef value, this->value(input));
  return importer_.learn(value, fmt::format("input {}", input));
}

Status OnnxNode::learn(const ValueRef& value, std::string_view name) const {
  return importer_.learn(value, name);
}

bool OnnxNode::lacks_operator() const {
  return importer_.lacks_operator();
}

bool OnnxNode::asks() const {
  return importer_.asks();
}

Result<Dim> OnnxNode::scalar(std::size_t input) {
  if (const HostTensor* elements = known(input)) {
    if (elements->elements.size() == 1) return elements->elements.front();
    return fail(ErrorKind::kShapeMismatch, "input {} must have one element, it has {}", input,
                elements->elements.size());
  }
  return late(this->input(input));
}

bool OnnxNode::wants(std::size_t output) const {
  return output < proto_.output.size() && !proto_.output[output].empty();
}

const schema::AttributeProto* OnnxNode::attribute(std::string_view name) const {
  for (const schema::AttributeProto& attribute : proto_.attribute) {
    if (attribute.name.value_or("") != name) continue;
    const std::string_view reference = attribute.ref_attr_name.value_or("");
    if (reference.empty()) return &attribute;
    const auto bound = frame_.attributes.find(reference);
    return bound == frame_.attributes.end() ? nullptr : bound->second.proto;
  }
  return nullptr;
}

std::int64_t OnnxNode::integer(std::string_view name, std::int64_t missing) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr ? missing : found->i.value_or(missing);
}

double OnnxNode::real(std::string_view name, double missing) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr || !found->f ? missing : static_cast<double>(*found->f);
}

std::string_view OnnxNode::text(std::string_view name, std::string_view missing) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr ? missing : found->s.value_or(missing);
}

std::optional<Ints> OnnxNode::integers_of(std::string_view name) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr ? std::nullopt : std::optional(Ints(found->ints.begin(), found->ints.end()));
}

std::optional<std::vector<double>> OnnxNode::reals_of(std::string_view name) const {
  const schema::AttributeProto* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  return std::vector<double>(found->floats.begin(), found->floats.end());
}

std::vector<std::string_view> OnnxNode::texts_of(std::string_view name) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr ? std::vector<std::string_view>() : found->strings;
}

Result<Tensor> OnnxNode::tensor(std::string_view name) const {
  const schema::AttributeProto* found = attribute(name);
  if (found == nullptr || found->t == nullptr) {
    return fail(ErrorKind::kInvalidArgument, "attribute '{}', a tensor, is missing", name);
  }
  return importer_.source().tensor(*found->t);
}

Result<ElemType> OnnxNode::elem_of_tensor(std::string_view name) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr || found->t == nullptr ? ElemType{} : to_elem(found->t->data_type.value_or(0));
}

std::int64_t OnnxNode::number_of(std::string_view text) const {
  return importer_.source().strings().find(text);
}

Result<DType> OnnxNode::dtype(std::string_view name) const {
  const std::int64_t given = integer(name, 0);
  if (given == 0) return fail(ErrorKind::kInvalidArgument, "attribute '{}', an element type, is missing", name);
  return to_dtype(given);
}

Result<ElemType> OnnxNode::elem(std::string_view name) const {
  const std::int64_t given = integer(name, 0);
  if (given == 0) return fail(ErrorKind::kInvalidArgument, "attribute '{}', an element type, is missing", name);
  return to_elem(given);
}

Result<std::int64_t> OnnxNode::axis(std::int64_t given, std::size_t rank) const {
  const auto size = static_cast<std::int64_t>(rank);
  if (given >= -size && given < size) return given < 0 ? given + size : given;
  return fail(ErrorKind::kIndexOutOfRange, "axis {} is out of range for rank {}", given, rank);
}

Result<Ints> OnnxNode::axes(const Ints& given, std::size_t rank) const {
  Ints out;
  for (const std::int64_t entry : given) {
    TW_ASSIGN(const std::int64_t axis, this->axis(entry, rank));
    out.push_back(axis);
  }
  return out;
}

Result<Results> OnnxNode::delegate(std::string_view op_type, std::int64_t version, std::vector<ValueRef> inputs) {
  const Handler* handler = find_handler("", op_type, version);
  if (handler == nullptr) return fail(ErrorKind::kUnsupported, "needs {} of opset {}", op_type, version);
  OnnxNode other(importer_, proto_, frame_, version, std::move(inputs));
  other.op_type_ = op_type;
  return (*handler)(other);
}

Result<Results> OnnxNode::delegate(std::string_view op_type, std::int64_t version,
                                   std::initializer_list<Maybe> inputs) {
  std::vector<ValueRef> values;
  for (const Maybe& input : inputs) {
    TW_ASSIGN(ValueRef value, result(input));
    values.push_back(std::move(value));
  }
  return delegate(op_type, version, std::move(values));
}

const schema::GraphProto* OnnxNode::subgraph(std::string_view name) const {
  const schema::AttributeProto* found = attribute(name);
  return found == nullptr ? nullptr : found->g.get();
}

Result<Results> OnnxNode::inline_subgraph(std::string_view name, std::vector<ValueRef> inputs) {
  const schema::GraphProto* graph = subgraph(name);
  if (graph == nullptr) return fail(ErrorKind::kInvalidArgument, "attribute '{}', a graph, is missing", name);
  return importer_.subgraph(*graph, frame_, *frame_.graph, std::move(inputs));
}

Result<Region> OnnxNode::region(std::string_view name, const std::vector<ValueRef>& inputs) {
  const schema::GraphProto* graph = subgraph(name);
  if (graph == nullptr) return fail(ErrorKind::kInvalidArgument, "attribute '{}', a graph, is missing", name);
  return importer_.region(*graph, frame_, inputs);
}

}  // namespace tilewright::onnx
