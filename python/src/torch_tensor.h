// Tensors of torch, read and made through their Python methods: the library does not link libtorch.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "tilewright/tensor/tensor.h"

namespace tilewright::python {

namespace nb = nanobind;

struct TorchTensor {
  char* data = nullptr;
  std::vector<std::int64_t> sizes, strides;
};

TorchTensor read_tensor(nb::handle tensor);
std::int64_t storage_offset(nb::handle tensor);
nb::tuple to_tuple(const std::vector<std::int64_t>& numbers);
nb::object new_tensor(nb::handle empty_strided, const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& strides, nb::handle dtype);
// Writes `source` into the memory of a torch tensor of this layout. An error if the sizes differ.
void copy_to(const Tensor& source, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
             nb::handle tensor);

}  // namespace tilewright::python
