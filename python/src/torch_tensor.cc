// Tensors of torch through their Python methods.
#include "src/torch_tensor.h"

#include "src/convert.h"
#include "src/errors.h"
#include "tilewright/runtime/result_memory.h"

namespace tilewright::python {
namespace {

// Interned once and never freed: module state outlives every call.
PyObject* name_of(const char* text) {
  return PyUnicode_InternFromString(text);
}

nb::object call_method(nb::handle object, PyObject* name) {
  PyObject* result = PyObject_CallMethodNoArgs(object.ptr(), name);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

nb::object attribute(nb::handle object, PyObject* name) {
  PyObject* result = PyObject_GetAttr(object.ptr(), name);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

int read_numbers(nb::handle tuple, std::array<std::int64_t, compiler::kMaxTensorRank>& numbers) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple.ptr());
  if (count > compiler::kMaxTensorRank) {
    throw Failure{
        fail(ErrorKind::kUnsupported, "a tensor has {} axes, {} are supported", count, compiler::kMaxTensorRank)};
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    numbers[static_cast<std::size_t>(i)] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.ptr(), i));
  }
  return static_cast<int>(count);
}

}  // namespace

std::byte* data_pointer(nb::handle tensor) {
  static PyObject* const kDataPtr = name_of("data_ptr");
  return static_cast<std::byte*>(PyLong_AsVoidPtr(call_method(tensor, kDataPtr).ptr()));
}

runtime::TensorArg read_argument(nb::handle tensor, DType dtype) {
  static PyObject* const kShape = name_of("shape");
  static PyObject* const kStride = name_of("stride");
  runtime::TensorArg arg{.dtype = dtype, .data = data_pointer(tensor)};
  arg.rank = read_numbers(attribute(tensor, kShape), arg.sizes);
  read_numbers(call_method(tensor, kStride), arg.strides);
  return arg;
}

std::int64_t storage_offset(nb::handle tensor) {
  static PyObject* const kStorageOffset = name_of("storage_offset");
  return PyLong_AsLongLong(call_method(tensor, kStorageOffset).ptr());
}

bool has_version(nb::handle tensor) {
  static PyObject* const kIsInference = name_of("is_inference");
  return !nb::cast<bool>(call_method(tensor, kIsInference));
}

std::uint64_t version_of(nb::handle tensor) {
  static PyObject* const kVersion = name_of("_version");
  return PyLong_AsUnsignedLongLong(attribute(tensor, kVersion).ptr());
}

nb::tuple to_tuple(Numbers numbers) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return nb::steal<nb::tuple>(tuple);
}

nb::object new_tensor(nb::handle empty_strided, Numbers sizes, Numbers strides, nb::handle dtype) {
  using namespace nb::literals;
  return empty_strided(to_tuple(sizes), to_tuple(strides), "dtype"_a = dtype);
}

nb::object recycled_tensor(nb::handle from_dlpack, Numbers sizes, Numbers strides, nb::handle dtype, DType element) {
  static PyObject* const kDtype = name_of("dtype");
  constexpr std::int64_t kLeastBytes = 256 << 10;  // torch's allocator keeps the pages of smaller ones itself
  runtime::TensorSink sink;
  if (runtime::bytes_spanned(element, sizes, strides) < kLeastBytes) return {};
  if (!sink.allocate(0, element, sizes, strides).ok()) return {};
  nb::object tensor = from_dlpack(to_dlpack(sink.tensors()[0]));
  if (!attribute(tensor, kDtype).is(dtype)) return {};
  return tensor;
}

}  // namespace tilewright::python
