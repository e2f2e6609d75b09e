#include "tilewright/frontends/onnx/export/model_writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "tilewright/frontends/onnx/export/opsets.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

Tensor scalar_tensor(DType dtype, double real, std::int64_t integer) {
  Tensor out(dtype, {});
  visit(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      *out.data_as<T>() = static_cast<T>(integer);
    } else {
      *out.data_as<T>() = static_cast<T>(static_cast<float>(real));
      if constexpr (std::is_same_v<T, double>) *out.data_as<T>() = real;
    }
  });
  return out;
}

// Whether the text of a size is a name that helps: a symbol, or sums, products and quotients of symbols.
bool is_plain(Dim dim) {
  switch (dim.op()) {
    case DimOp::kConst:
    case DimOp::kSymbol:
      return true;
    case DimOp::kAdd:
    case DimOp::kMul:
    case DimOp::kFloorDiv:
      return std::all_of(dim.operands().begin(), dim.operands().end(), is_plain);
    default:
      return false;
  }
}

std::unique_ptr<schema::TensorProto> copy_of_type(const Tensor& tensor) {
  auto proto = std::make_unique<schema::TensorProto>();
  proto->dims.assign(tensor.sizes().begin(), tensor.sizes().end());
  proto->data_type = static_cast<std::int32_t>(*elem_type_of(tensor.dtype()));
  return proto;
}

schema::AttributeProto to_proto(const Attribute& attribute) {
  using Type = schema::AttributeProtoAttributeType;
  schema::AttributeProto proto;
  proto.name = attribute.name;
  Type type{};
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    type = Type::kINT;
    proto.i = *integer;
  } else if (const auto* real = std::get_if<double>(&attribute.value)) {
    type = Type::kFLOAT;
    proto.f = static_cast<float>(*real);
  } else if (const auto* text = std::get_if<std::string_view>(&attribute.value)) {
    type = Type::kSTRING;
    proto.s = *text;
  } else {
    type = Type::kINTS;
    proto.ints = std::get<Ints>(attribute.value);
  }
  proto.type = static_cast<std::int32_t>(type);
  return proto;
}

}  // namespace

std::string_view ModelWriter::keep(std::string text) {
  return texts_.emplace_back(std::move(text));
}

std::string_view ModelWriter::fresh_name(std::string_view stem) {
  std::string candidate(stem);
  while (names_.contains(candidate)) candidate = fmt::format("{}_{}", stem, names_[keep(std::string(stem))]++);
  const std::string_view name = keep(std::move(candidate));
  names_.emplace(name, 1);
  return name;
}

Out ModelWriter::constant(const Tensor& tensor, std::string_view name, bool is_named) {
  const Tensor& kept = tensors_.emplace_back(tensor.contiguous());
  std::unique_ptr<schema::TensorProto> proto = copy_of_type(kept);
  proto->name = is_named ? keep(std::string(name)) : fresh_name(name);
  proto->raw_data = std::string_view(static_cast<const char*>(kept.data()), static_cast<std::size_t>(kept.bytes()));
  main.initializer.push_back(std::move(*proto));
  return {*main.initializer.back().name, kept.dtype()};
}

Out ModelWriter::number(DType dtype, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const auto [found, is_new] = shared_.try_emplace(fmt::format("{} {:x}", dtype, bits));
  if (is_new) {
    const Tensor tensor = scalar_tensor(dtype, value, static_cast<std::int64_t>(value));
    found->second = constant(tensor, fmt::format("{}_{:.9g}", dtype, value));
  }
  return found->second;
}

Out ModelWriter::integer(DType dtype, std::int64_t value) {
  const auto [found, is_new] = shared_.try_emplace(fmt::format("{} {}", dtype, value));
  if (is_new) {
    const Tensor tensor = scalar_tensor(dtype, static_cast<double>(value), value);
    found->second = constant(tensor, fmt::format("{}_{}", dtype, value));
  }
  return found->second;
}

Out ModelWriter::ints(const Ints& values) {
  const std::string text = fmt::format("{}", fmt::join(values, "_"));
  const auto [found, is_new] = shared_.try_emplace(fmt::format("[{}]", text));
  if (is_new) {
    const Tensor tensor = Tensor::from<std::int64_t>({std::ssize(values)}, values);
    const std::string name = text.empty() ? "ints_none" : text.size() > 40 ? "ints" : fmt::format("ints_{}", text);
    found->second = constant(tensor, name);
  }
  return found->second;
}

void ModelWriter::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void ModelWriter::locate(std::string_view where) {
  if (!error_ || located_) return;
  error_ = std::move(*error_).in(where);
  located_ = true;
}

void ModelWriter::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

void ModelWriter::check_operator(std::string_view name) {
  const auto ages = operator_ages();
  const auto found = std::lower_bound(ages.begin(), ages.end(), name,
                                      [](const OperatorAge& age, std::string_view key) { return age.name < key; });
  TW_CHECK(found != ages.end() && found->name == name, name);
  if (found->since <= opset()) return;
  fail(tilewright::fail(ErrorKind::kUnsupported,
                        "needs the ONNX operator {}, which exists from opset {} on; the export is for opset {}", name,
                        found->since, opset()));
}

Outs GraphWriter::add(std::string_view op_type, std::span<const Out> inputs, const Attributes& attributes,
                      std::span<const DType> results, std::string_view stem, std::string_view domain) {
  Outs outs;
  for (const DType dtype : results) outs.push_back({"", dtype});
  if (domain.empty()) model_.check_operator(op_type);
  if (model_.failed()) return outs;
  schema::NodeProto node;
  node.op_type = op_type;
  if (!domain.empty()) {
    node.domain = domain;
    model_.use_domain(domain);
  }
  for (const Out& input : inputs) node.input.push_back(input.name);
  while (!node.input.empty() && node.input.back().empty()) node.input.pop_back();
  for (Out& out : outs) {
    out.name = model_.fresh_name(stem);
    made_.insert(out.name);
    node.output.push_back(out.name);
  }
  for (const Attribute& attribute : attributes) node.attribute.push_back(to_proto(attribute));
  proto_.node.push_back(std::move(node));
  return outs;
}

Out GraphWriter::add_one(std::string_view op_type, std::initializer_list<Out> inputs, DType result,
                         std::string_view stem, const Attributes& attributes) {
  const std::vector<Out> list(inputs);
  return add(op_type, list, attributes, {&result, 1}, stem)[0];
}

void GraphWriter::add_subgraph(std::string_view attribute, std::unique_ptr<schema::GraphProto> graph) {
  if (model_.failed()) return;
  schema::AttributeProto proto;
  proto.name = attribute;
  proto.type = static_cast<std::int32_t>(schema::AttributeProtoAttributeType::kGRAPH);
  proto.g = std::move(graph);
  proto_.node.back().attribute.push_back(std::move(proto));
}

Out GraphWriter::rename(Out value, std::string_view wanted, std::size_t first) {
  const std::string_view old = value.name;
  value.name = wanted;
  for (std::size_t i = first; i < proto_.node.size(); ++i) {
    std::replace(proto_.node[i].input.begin(), proto_.node[i].input.end(), old, wanted);
    std::replace(proto_.node[i].output.begin(), proto_.node[i].output.end(), old, wanted);
  }
  made_.erase(old);
  made_.insert(wanted);
  return value;
}

schema::ValueInfoProto GraphWriter::value_info(std::string_view name, std::int64_t elem_type, const Shape& shape) {
  schema::ValueInfoProto info;
  info.name = name;
  info.type = std::make_unique<schema::TypeProto>();
  info.type->tensor_type = std::make_unique<schema::TypeProtoTensor>();
  schema::TypeProtoTensor& type = *info.type->tensor_type;
  type.elem_type = static_cast<std::int32_t>(elem_type);
  type.shape = std::make_unique<schema::TensorShapeProto>();
  for (const Dim dim : shape) {
    auto& out = type.shape->dim.emplace_back();
    if (const auto number = dim.constant()) {
      out.dim_value = *number;
    } else if (&proto_ == &model_.main && is_plain(dim)) {
      out.dim_param = model_.keep(to_string(dim));
    }
  }
  return info;
}

Out GraphWriter::add_input(std::string_view name, std::int64_t elem_type, DType dtype, const Shape& shape) {
  proto_.input.push_back(value_info(name, elem_type, shape));
  return {name, dtype};
}

void GraphWriter::add_output(std::string_view name, std::int64_t elem_type, const Shape& shape) {
  proto_.output.push_back(value_info(name, elem_type, shape));
}

}  // namespace tilewright::onnx
