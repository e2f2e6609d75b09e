// tilewright._core.Tensor: memory of the library as numpy or DLPack, and theirs as tensors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "src/convert.h"
#include "src/errors.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::Bfloat;
  switch (kind(dtype)) {
    case 'f':
      code = dtype == DType::kBF16 ? Code::Bfloat : Code::Float;
      break;
    case 'i':
      code = Code::Int;
      break;
    case 'u':
      code = Code::UInt;
      break;
    default:
      code = Code::Bool;
      break;
  }
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(byte_size(dtype) * 8), 1};
}

DType from_dlpack_dtype(nb::dlpack::dtype wanted) {
#define DTYPE(Name, ...) \
  if (dlpack_dtype(DType::k##Name) == wanted) return DType::k##Name;
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  throw Failure{fail(ErrorKind::kDTypeMismatch, "no dtype is DLPack's code {} with {} bits and {} lanes", wanted.code,
                     wanted.bits, wanted.lanes)};
}

Tensor from_array(nb::ndarray<nb::ro, nb::device::cpu> array, nb::handle object) {
  std::vector<std::int64_t> sizes(array.ndim()), strides(array.ndim());
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    sizes[i] = static_cast<std::int64_t>(array.shape(i));
    strides[i] = array.stride(i);
  }
  return Tensor(from_dlpack_dtype(array.dtype()), std::move(sizes), std::move(strides), const_cast<void*>(array.data()),
                hold(nb::borrow(object)));
}

// What is wrong with an object that is no array of the CPU.
Error why_no_array(nb::handle object) {
  if (nb::hasattr(object, "device")) {
    const std::string device = nb::str(nb::object(object.attr("device"))).c_str();
    if (device != "cpu") return fail(ErrorKind::kInvalidArgument, "expected memory of device cpu, got {}", device);
  }
  if (!nb::hasattr(object, "__dlpack__")) {
    return fail(ErrorKind::kDTypeMismatch, "expected an array, got {}", nb::type_name(object.type()).c_str());
  }
  try {
    object.attr("__dlpack__")();
  } catch (const nb::python_error& error) {
    return fail(ErrorKind::kInvalidArgument, "{}", nb::str(nb::handle(error.value())).c_str());
  }
  return fail(ErrorKind::kInvalidArgument, "expected numbers in the machine's byte order, got {}",
              nb::type_name(object.type()).c_str());
}

Tensor from_object(nb::object object) {
  nb::ndarray<nb::ro, nb::device::cpu> array;
  if (!nb::try_cast(object, array)) throw Failure{why_no_array(object)};
  return from_array(array, object);
}

template <typename Framework>
nb::ndarray<Framework> export_array(const Tensor& tensor) {
  std::vector<std::size_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
  auto* held = new Tensor(tensor);
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return nb::ndarray<Framework>(tensor.data(), tensor.rank(), sizes.data(), owner, tensor.strides().data(),
                                dlpack_dtype(tensor.dtype()), nb::device::cpu::value, 0);
}

Tensor from_pointer(nb::handle dtype, const std::vector<std::int64_t>& sizes, std::uintptr_t address,
                    nb::handle strides, nb::handle owner) {
  return Tensor(to_dtype(dtype), sizes, strides_or_contiguous(strides, sizes), reinterpret_cast<void*>(address),
                owner.is_none() ? nullptr : hold(nb::borrow(owner)));
}

Tensor copied(const Tensor& tensor) {
  const Tensor flat = tensor.contiguous();
  Tensor out(flat.dtype(), {flat.sizes().begin(), flat.sizes().end()});
  if (flat.bytes() > 0) std::memcpy(out.data(), flat.data(), static_cast<std::size_t>(flat.bytes()));
  return out;
}

}  // namespace

nb::object to_dlpack(const Tensor& tensor) {
  return export_array<nb::array_api>(tensor).cast().attr("__dlpack__")();
}

void bind_tensors(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", "A strided view of memory with an owner.")
      .def(
          "__init__", [](Tensor* self, nb::object array) { new (self) Tensor(from_object(std::move(array))); },
          "array"_a, "A view of a numpy array or of anything with DLPack; it is kept alive.")
      .def_static("from_pointer", &from_pointer, "dtype"_a, "sizes"_a, "address"_a, "strides"_a = nb::none(),
                  "owner"_a = nb::none(), "A view of memory at an address. Strides in elements; owner is kept alive.")
      .def("copy", &copied, "The same values in contiguous memory of its own.")
      .def("numpy", &export_array<nb::numpy>, "A numpy array over the same memory.")
      .def("__dlpack__", [](const Tensor& self, nb::kwargs) { return to_dlpack(self); })
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(1, 0); })
      .def_prop_ro("dtype", &Tensor::dtype)
      .def_prop_ro("address", [](const Tensor& self) { return reinterpret_cast<std::uintptr_t>(self.data()); })
      .def_prop_ro("shape",
                   [](const Tensor& self) {
                     return nb::tuple(nb::cast(std::vector<std::int64_t>(self.sizes().begin(), self.sizes().end())));
                   })
      .def_prop_ro("strides", [](const Tensor& self) {
        return nb::tuple(nb::cast(std::vector<std::int64_t>(self.strides().begin(), self.strides().end())));
      });
}

}  // namespace tilewright::python
