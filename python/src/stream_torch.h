// What a stream reads of torch: the objects that it needs, fetched once, and a tensor's storage and layout through its
// Python methods (the library does not link libtorch). All with the interpreter lock held.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "src/stream_layout.h"

namespace tilewright::python {

namespace nb = nanobind;

struct TorchObjects {
  nb::object tensor_type, parameter_type, device_type, cpu;
  nb::object untyped_storage, stride, storage_offset, is_neg;  // of torch._C.TensorBase
  nb::object empty_strided, default_dtype, new_with_weak_ptr, free_weak_ref;
  nb::object movement;             // of the Python side: (kind, dtype number, numbers) -> the number of a template
  std::vector<nb::object> dtypes;  // the dtypes that the library has, in the order of their numbers
  std::vector<std::int64_t> itemsizes, is_float;

  std::vector<nb::object> constants;  // memory formats and layouts: objects that stay the same

  int dtype_number(PyObject* dtype) const;  // -1: not one of them
  bool is_constant(PyObject* object) const;
};

// Set by the Python side before the first recorder; never freed.
TorchObjects& torch_objects();

// A tensor that can be recorded: of an ordinary type, strided, with a dtype that the library has.
struct StreamTensor {
  PyObject* object = nullptr;  // borrowed
  nb::object storage;
  std::int64_t key = 0;  // identity of the storage
  StreamLayout layout;
};

bool is_ordinary_tensor(PyObject* object);
// False if the tensor cannot be recorded; no Python error is left set.
bool read_tensor(PyObject* object, StreamTensor& tensor);
// Only the storage and its key.
bool read_storage(PyObject* object, StreamTensor& tensor);
nb::object new_stream_tensor(const StreamLayout& layout, PyObject* sizes, PyObject* strides);

}  // namespace tilewright::python
