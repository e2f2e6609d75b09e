// Python values to and from the library's: dims, dtypes, attributes, tensors.
#pragma once

#include <nanobind/nanobind.h>

#include "tilewright/graph/op.h"
#include "tilewright/tensor/tensor.h"

namespace tilewright::python {

namespace nb = nanobind;

Dim to_dim(nb::handle value);      // int, float, bool or Dim
Dims to_dims(nb::handle value);    // a sequence of those
DType to_dtype(nb::handle value);  // DType or its text
Ints to_ints(nb::handle value);
std::vector<std::int64_t> strides_or_contiguous(nb::handle strides, std::span<const std::int64_t> sizes);
// The attributes of `op` from a dict, each read as the kind that its row in ops.def names.
Attrs to_attrs(Op op, nb::dict values);
nb::object from_attr(const AttrValue& value);
// An owner that holds `object` and drops it with the GIL held, from whichever thread.
std::shared_ptr<void> hold(nb::object object);

nb::object to_dlpack(const Tensor& tensor);  // a capsule

void bind_dims(nb::module_& module);
void bind_tensors(nb::module_& module);
void bind_graphs(nb::module_& module);
void bind_border(nb::module_& module);
void bind_segments(nb::module_& module);
void bind_streams(nb::module_& module);
void bind_sessions(nb::module_& module);
void bind_export(nb::module_& module);

}  // namespace tilewright::python
