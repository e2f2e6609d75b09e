// Tensors of torch through their Python methods.
#include "src/torch_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "src/errors.h"

namespace tilewright::python {
namespace {

// Interned once and never freed: module state outlives every call.
PyObject* name_of(const char* text) { return PyUnicode_InternFromString(text); }

nb::object call_method(nb::handle object, PyObject* name) {
  PyObject* result = PyObject_CallMethodNoArgs(object.ptr(), name);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

std::vector<std::int64_t> numbers_of(nb::handle tuple) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple.ptr());
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    numbers[static_cast<std::size_t>(i)] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.ptr(), i));
  }
  return numbers;
}

// Copies axis by axis; the innermost axis is a loop over elements.
void copy_axis(const char*& source, char* target, const std::vector<std::int64_t>& sizes,
               const std::vector<std::int64_t>& strides, std::size_t axis, std::int64_t bytes) {
  if (axis == sizes.size()) {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
    source += bytes;
    return;
  }
  if (axis + 1 == sizes.size() && strides[axis] == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(bytes * sizes[axis]));
    source += bytes * sizes[axis];
    return;
  }
  for (std::int64_t i = 0; i < sizes[axis]; ++i) {
    copy_axis(source, target + i * strides[axis] * bytes, sizes, strides, axis + 1, bytes);
  }
}

}  // namespace

TorchTensor read_tensor(nb::handle tensor) {
  static PyObject* const kDataPtr = name_of("data_ptr");
  static PyObject* const kShape = name_of("shape");
  static PyObject* const kStride = name_of("stride");
  TorchTensor out;
  out.data = static_cast<char*>(PyLong_AsVoidPtr(call_method(tensor, kDataPtr).ptr()));
  PyObject* shape = PyObject_GetAttr(tensor.ptr(), kShape);
  if (shape == nullptr) throw nb::python_error();
  out.sizes = numbers_of(nb::steal(shape));
  out.strides = numbers_of(call_method(tensor, kStride));
  return out;
}

std::int64_t storage_offset(nb::handle tensor) {
  static PyObject* const kStorageOffset = name_of("storage_offset");
  return PyLong_AsLongLong(call_method(tensor, kStorageOffset).ptr());
}

nb::tuple to_tuple(const std::vector<std::int64_t>& numbers) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return nb::steal<nb::tuple>(tuple);
}

nb::object new_tensor(nb::handle empty_strided, const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& strides, nb::handle dtype) {
  using namespace nb::literals;
  return empty_strided(to_tuple(sizes), to_tuple(strides), "dtype"_a = dtype);
}

void copy_to(const Tensor& source, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
             nb::handle tensor) {
  const Tensor flat = source.contiguous();
  if (!std::equal(sizes.begin(), sizes.end(), flat.sizes().begin(), flat.sizes().end())) {
    throw Failure{fail(ErrorKind::kInternal, "a result has sizes [{}], [{}] was expected", fmt::join(flat.sizes(), ", "),
                       fmt::join(sizes, ", "))};
  }
  if (flat.count() == 0) return;
  const char* from = static_cast<const char*>(flat.data());
  copy_axis(from, read_tensor(tensor).data, sizes, strides, 0, byte_size(flat.dtype()));
}

}  // namespace tilewright::python
