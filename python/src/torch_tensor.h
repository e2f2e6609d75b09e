// Tensors of torch, read and made through their Python methods: the library does not link libtorch.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include "tilewright/runtime/arguments.h"

namespace tilewright::python {

namespace nb = nanobind;
using Numbers = std::span<const std::int64_t>;

runtime::TensorArg read_argument(nb::handle tensor, DType dtype);
std::byte* data_pointer(nb::handle tensor);
std::int64_t storage_offset(nb::handle tensor);
bool has_version(nb::handle tensor);  // inference tensors have no version counter
std::uint64_t version_of(nb::handle tensor);
nb::tuple to_tuple(Numbers numbers);
// A new tensor: empty_strided(sizes, strides, dtype=dtype).
nb::object new_tensor(nb::handle empty_strided, Numbers sizes, Numbers strides, nb::handle dtype);
// A tensor in memory that earlier results have left (runtime/result_memory.h). None: too small for that to pay, too
// large, or torch reads `element` as another dtype.
nb::object recycled_tensor(nb::handle from_dlpack, Numbers sizes, Numbers strides, nb::handle dtype, DType element);

}  // namespace tilewright::python
