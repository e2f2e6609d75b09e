// One call of a Border: arguments are read and results made with the interpreter lock held, the graph runs without it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/border.h"
#include "src/convert.h"
#include "src/errors.h"
#include "src/torch_tensor.h"
#include "tilewright/graph/eval/eval.h"

namespace tilewright::python {

using runtime::TensorArg;

// Also the sink of the run's outputs and its host: memory for results was made before the run where sizes were known.
struct Border::Call final : runtime::OutputSink, runtime::HostCalls {
  explicit Call(const Border& border) : border(border), values(border.program_.size()), tensors(border.values_.size()) {
    known = std::make_unique<bool[]>(values.size());
    memory.resize(border.graph_->outputs().size());
    holders.resize(border.late_.size());
  }

  void bind(nb::list arguments);
  void read_inputs(nb::list arguments);
  void make_value(std::size_t number, Numbers sizes, Numbers strides);
  void make_values(bool late);
  void run();
  void run_oracle();
  void bind_late();
  nb::object number(const ResultRow& row) const;
  nb::object result(const ResultRow& row, nb::list arguments) const;

  Result<std::byte*> allocate(std::size_t output, DType dtype, Numbers sizes, Numbers strides) override;
  Result<std::vector<Tensor>> call(std::int64_t target, std::span<const Tensor> inputs) override;

  std::int64_t integer(Slot slot) const {
    return border.program_.dim(slot).is_float() ? static_cast<std::int64_t>(values[slot].real) : values[slot].integer;
  }
  std::vector<std::int64_t> integers(const std::vector<Slot>& slots) const {
    std::vector<std::int64_t> numbers(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) numbers[i] = integer(slots[i]);
    return numbers;
  }

  const Border& border;
  std::vector<DimValue> values;
  std::unique_ptr<bool[]> known;
  std::vector<DimValue> scalars;
  std::vector<TensorArg> inputs;
  std::vector<nb::object> tensors;         // per value
  std::vector<std::byte*> memory;          // per graph output
  std::vector<std::int64_t> holders;       // of late symbols: 8 bytes each
  std::optional<nb::python_error> raised;  // by a host call
};

void Border::Call::bind(nb::list arguments) {
  scalars.reserve(border.scalars_.size());
  for (const ScalarRow& row : border.scalars_) {
    DimValue& value = values[row.slot];
    nb::handle argument = arguments[row.argument];
    if (row.is_float) {
      value.real = PyFloat_AsDouble(argument.ptr());
    } else {
      value.integer = PyLong_AsLongLong(argument.ptr());
    }
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    known[row.slot] = true;
    scalars.push_back(value);
  }
  read_inputs(arguments);
  for (const DimRow& row : border.dims_) {
    values[row.slot].integer = inputs[row.input].sizes[row.axis];
    known[row.slot] = true;
  }
  unwrap(border.program_.run(values, {known.get(), values.size()}));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputRow& row = border.inputs_[i];
    if (!row.view) continue;
    TensorArg& arg = inputs[i];
    std::int64_t shift = integer(row.view->offset);
    if (row.view->is_absolute) shift -= storage_offset(arguments[row.argument]);
    arg.rank = static_cast<int>(row.view->sizes.size());
    arg.data += shift * byte_size(row.dtype);
    std::ranges::copy(integers(row.view->sizes), arg.sizes.begin());
    std::ranges::copy(integers(row.view->strides), arg.strides.begin());
  }
}

void Border::Call::read_inputs(nb::list arguments) {
  constexpr std::size_t kAhead = 12;  // inputs: objects and sampled words lie far apart, each a miss of the caches
  inputs.resize(border.inputs_.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputRow& row = border.inputs_[i];
    if (i + kAhead < inputs.size()) {
      const InputRow& ahead = border.inputs_[i + kAhead];
      __builtin_prefetch(nb::handle(arguments[ahead.argument]).ptr());
      if (ahead.weight < border.weights_.size()) border.weights_[ahead.weight].prefetch();
    }
    nb::handle argument = arguments[row.argument];
    if (row.weight < border.weights_.size()) {
      border.weights_[row.weight].read(argument, row.dtype, inputs[i]);
    } else {
      inputs[i] = read_argument(argument, row.dtype);
    }
  }
}

void Border::Call::make_value(std::size_t number, Numbers sizes, Numbers strides) {
  const ValueRow& row = border.values_[number];
  nb::object& tensor = tensors[number];
  const DType element = border.graph_->type(border.graph_->outputs()[row.output]).dtype;
  tensor = recycled_tensor(border.from_dlpack_, sizes, strides, row.dtype, element);
  if (!tensor.is_valid()) tensor = new_tensor(border.empty_strided_, sizes, strides, row.dtype);
  memory[row.output] = data_pointer(tensor);
}

void Border::Call::make_values(bool late) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ValueRow& row = border.values_[i];
    if (row.is_late != late || tensors[i].is_valid()) continue;
    make_value(i, integers(row.layout.sizes), integers(row.layout.strides));
  }
}

Result<std::byte*> Border::Call::allocate(std::size_t output, DType dtype, Numbers sizes, Numbers strides) {
  if (memory[output] != nullptr) return memory[output];
  for (std::size_t i = 0; i < holders.size(); ++i) {
    if (border.late_[i].output == output) return reinterpret_cast<std::byte*>(&holders[i]);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (border.values_[i].output != output) continue;
    nb::gil_scoped_acquire gil;
    if (!tensors[i].is_valid()) make_value(i, sizes, strides);
    return memory[output];
  }
  return fail(ErrorKind::kInternal, "output {} of {} has no place", output, dtype);
}

Result<std::vector<Tensor>> Border::Call::call(std::int64_t target, std::span<const Tensor> arguments) {
  nb::gil_scoped_acquire gil;
  try {
    nb::list list;
    for (const Tensor& tensor : arguments) list.append(tensor);
    std::vector<Tensor> results;
    for (nb::handle result : border.host_call_(target, list)) results.push_back(nb::cast<Tensor>(result));
    return results;
  } catch (nb::python_error& error) {
    raised.emplace(std::move(error));
    return fail(ErrorKind::kHostCall, "host function {} failed", target);
  }
}

void Border::Call::run() {
  Status status;
  {
    nb::gil_scoped_release release;
    status = border.session_->run(inputs, scalars, *this, border.host_call_.is_valid() ? this : nullptr);
  }
  if (raised) throw std::move(*raised);
  unwrap(std::move(status));
}

// The same call by graph/eval, for tests and for telling a wrong lowering from a wrong kernel.
void Border::Call::run_oracle() {
  EvalOptions options;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    options.scalars.emplace(border.graph_->scalar_inputs()[i].name(), scalars[i]);
  }
  if (border.host_call_.is_valid()) {
    options.host_call = [this](std::int64_t target, std::span<const Tensor> args) { return call(target, args); };
  }
  std::vector<Tensor> args;
  for (const TensorArg& arg : inputs) {
    args.emplace_back(arg.dtype, std::vector(arg.sizes.begin(), arg.sizes.begin() + arg.rank),
                      std::vector(arg.strides.begin(), arg.strides.begin() + arg.rank), arg.data);
  }
  auto outputs = [&] {
    nb::gil_scoped_release release;
    return eval(*border.graph_, args, options);
  }();
  if (raised) throw std::move(*raised);
  const std::vector<Tensor> results = unwrap(std::move(outputs));
  for (std::size_t i = 0; i < holders.size(); ++i) std::memcpy(&holders[i], results[border.late_[i].output].data(), 8);
  bind_late();
  make_values(true);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& from = results[border.values_[i].output];
    const auto sizes = integers(border.values_[i].layout.sizes);
    const auto strides = integers(border.values_[i].layout.strides);
    std::vector<std::int64_t> index(sizes.size(), 0);
    const auto bytes = static_cast<std::size_t>(byte_size(from.dtype()));
    for (std::int64_t n = 0; n < from.count(); ++n) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides[axis];
      std::memcpy(memory[border.values_[i].output] + offset * static_cast<std::int64_t>(bytes),
                  from.data_as<std::byte>() + n * static_cast<std::int64_t>(bytes), bytes);
      for (std::size_t axis = index.size(); axis-- > 0 && ++index[axis] == sizes[axis];) index[axis] = 0;
    }
  }
}

void Border::Call::bind_late() {
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const Slot slot = border.late_[i].slot;
    std::memcpy(&values[slot], &holders[i], 8);
    known[slot] = true;
  }
  if (!holders.empty()) unwrap(border.program_.run(values, {known.get(), values.size()}));
}

nb::object Border::Call::number(const ResultRow& row) const {
  const DimValue value = values[row.number];
  const bool is_real = border.program_.dim(row.number).is_float();
  if (row.type == 'f') return nb::float_(is_real ? value.real : static_cast<double>(value.integer));
  if (row.type == 'b') return nb::bool_(is_real ? value.real != 0 : value.integer != 0);
  return nb::int_(integer(row.number));
}

nb::object Border::Call::result(const ResultRow& row, nb::list arguments) const {
  switch (row.kind) {
    case ResultKind::kValue:
      return tensors[row.source];
    case ResultKind::kArgument:
      return arguments[row.source];
    case ResultKind::kNumber:
      return number(row);
    case ResultKind::kConstant:
      return row.constant;
    case ResultKind::kViewOfValue:
    case ResultKind::kViewOfArgument:
      break;
  }
  const bool of_argument = row.kind == ResultKind::kViewOfArgument;
  const nb::object base = of_argument ? nb::object(arguments[row.source]) : tensors[row.source];
  const std::int64_t start = (of_argument ? storage_offset(base) : 0) + integer(row.layout.offset);
  return border.as_strided_(base, to_tuple(integers(row.layout.sizes)), to_tuple(integers(row.layout.strides)), start);
}

nb::list Border::call(nb::list arguments) const {
  Call call(*this);
  call.bind(arguments);
  call.make_values(false);
  if (session_ != nullptr) {
    call.run();
    call.bind_late();
  } else {
    call.run_oracle();
  }
  nb::list results;
  for (const ResultRow& row : results_) results.append(call.result(row, arguments));
  last_inputs_ = std::move(call.inputs);
  last_scalars_ = std::move(call.scalars);
  return results;
}

}  // namespace tilewright::python
