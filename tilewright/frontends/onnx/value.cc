#include "tilewright/frontends/onnx/value.h"

namespace tilewright::onnx {

HostTensor read_elements(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  HostTensor out{tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()}, {}};
  out.elements.reserve(static_cast<std::size_t>(dense.count()));
  visit(tensor.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < dense.count(); ++i) {
      const T element = dense.data_as<T>()[i];
      if (is_float(tensor.dtype())) {
        out.elements.push_back(Dim::real(static_cast<double>(element)));
      } else {
        out.elements.push_back(Dim(static_cast<std::int64_t>(element)));
      }
    }
  });
  return out;
}

ValueRef tensor_value(const GraphScope& home, ValueId id, TensorType type, Carried carried) {
  auto value = std::make_shared<OnnxValue>();
  value->type = std::move(type);
  value->id = id;
  value->carried = carried;
  value->home = &home;
  return value;
}

ValueRef constant_value(Tensor tensor, std::string_view label, Carried carried) {
  auto value = std::make_shared<OnnxValue>();
  value->type = {tensor.dtype(), Shape(tensor.sizes().begin(), tensor.sizes().end())};
  value->constant = std::move(tensor);
  value->label = label;
  value->carried = carried;
  return value;
}

ValueRef host_value(HostTensor tensor) {
  auto value = std::make_shared<OnnxValue>();
  value->type = {tensor.dtype, Shape(tensor.sizes.begin(), tensor.sizes.end())};
  value->known = std::move(tensor);
  return value;
}

ValueRef sequence_value(std::vector<ValueRef> items) {
  auto value = std::make_shared<OnnxValue>();
  value->kind = OnnxValue::Kind::kSequence;
  value->items = std::move(items);
  return value;
}

ValueRef no_value() {
  auto value = std::make_shared<OnnxValue>();
  value->kind = OnnxValue::Kind::kNone;
  return value;
}

const HostTensor* host(const OnnxValue& value) {
  if (value.known) return &*value.known;
  if (!value.constant || value.constant->count() > kMaxHostElements) return nullptr;
  value.known = read_elements(*value.constant);
  return &*value.known;
}

std::optional<Tensor> to_tensor(const HostTensor& host) {
  Tensor out(host.dtype, host.sizes);
  for (std::size_t i = 0; i < host.elements.size(); ++i) {
    const std::optional<double> real = host.elements[i].real_constant();
    const std::optional<std::int64_t> integer = host.elements[i].constant();
    if (!real && !integer) return std::nullopt;
    visit(host.dtype, [&]<typename T>() {
      if constexpr (std::is_same_v<T, bool>) {
        out.data_as<T>()[i] = integer ? *integer != 0 : *real != 0;
      } else if constexpr (std::is_integral_v<T>) {
        out.data_as<T>()[i] = static_cast<T>(integer ? *integer : static_cast<std::int64_t>(*real));
      } else {
        out.data_as<T>()[i] = T(static_cast<float>(0));
        if constexpr (std::is_same_v<T, double>) {
          out.data_as<T>()[i] = integer ? static_cast<double>(*integer) : *real;
        } else {
          out.data_as<T>()[i] = T(static_cast<float>(integer ? static_cast<double>(*integer) : *real));
        }
      }
    });
  }
  return out;
}

}  // namespace tilewright::onnx
