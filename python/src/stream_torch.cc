// Tensors of torch as a stream reads them.
#include "src/stream_torch.h"

#include <algorithm>

namespace tilewright::python {
namespace {

PyObject* interned(const char* text) {
  return PyUnicode_InternFromString(text);
}

bool read_numbers(PyObject* tuple, std::array<std::int64_t, kMaxStreamRank>& numbers, std::int32_t& rank) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  if (count > kMaxStreamRank) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* number = PyTuple_GET_ITEM(tuple, i);
    if (!PyLong_CheckExact(number)) return false;
    numbers[static_cast<std::size_t>(i)] = PyLong_AsLongLong(number);
  }
  rank = static_cast<std::int32_t>(count);
  return true;
}

bool read_integer(PyObject* number, std::int64_t& value) {
  if (number == nullptr || !PyLong_CheckExact(number)) return false;
  value = PyLong_AsLongLong(number);
  return true;
}

bool read_parts(PyObject* object, StreamTensor& tensor) {
  static PyObject* const kShape = interned("shape");
  static PyObject* const kDtype = interned("dtype");
  const TorchObjects& torch = torch_objects();
  if (!read_storage(object, tensor)) return false;
  const nb::object dtype = nb::steal(PyObject_GetAttr(object, kDtype));
  if (!dtype.is_valid() || (tensor.layout.dtype = torch.dtype_number(dtype.ptr())) < 0) return false;
  const nb::object shape = nb::steal(PyObject_GetAttr(object, kShape));
  if (!shape.is_valid() || !read_numbers(shape.ptr(), tensor.layout.sizes, tensor.layout.rank)) return false;
  if (tensor.layout.rank > 0) {
    const nb::object strides = nb::steal(PyObject_CallOneArg(torch.stride.ptr(), object));
    if (!strides.is_valid() || !read_numbers(strides.ptr(), tensor.layout.strides, tensor.layout.rank)) return false;
  }
  const nb::object offset = nb::steal(PyObject_CallOneArg(torch.storage_offset.ptr(), object));
  return read_integer(offset.ptr(), tensor.layout.offset);
}

}  // namespace

TorchObjects& torch_objects() {
  static auto* const objects = new TorchObjects;
  return *objects;
}

int TorchObjects::dtype_number(PyObject* dtype) const {
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (dtypes[i].ptr() == dtype) return static_cast<int>(i);
  }
  return -1;
}

bool TorchObjects::is_constant(PyObject* object) const {
  return std::ranges::any_of(constants, [&](const nb::object& own) { return own.ptr() == object; });
}

bool read_storage(PyObject* object, StreamTensor& tensor) {
  static PyObject* const kCdata = interned("_cdata");
  tensor.object = object;
  tensor.storage = nb::steal(PyObject_CallOneArg(torch_objects().untyped_storage.ptr(), object));
  if (!tensor.storage.is_valid()) return false;
  const nb::object key = nb::steal(PyObject_GetAttr(tensor.storage.ptr(), kCdata));
  return read_integer(key.ptr(), tensor.key);
}

bool is_ordinary_tensor(PyObject* object) {
  const TorchObjects& torch = torch_objects();
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return type == torch.tensor_type.ptr() || type == torch.parameter_type.ptr();
}

bool read_tensor(PyObject* object, StreamTensor& tensor) {
  if (read_parts(object, tensor)) return true;
  PyErr_Clear();
  return false;
}

nb::object new_stream_tensor(const StreamLayout& layout, PyObject* sizes, PyObject* strides) {
  static PyObject* const kNames = PyTuple_Pack(1, interned("dtype"));
  const TorchObjects& torch = torch_objects();
  PyObject* arguments[] = {sizes, strides, torch.dtypes[static_cast<std::size_t>(layout.dtype)].ptr()};
  PyObject* result = PyObject_Vectorcall(torch.empty_strided.ptr(), arguments, 2, kNames);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace tilewright::python
