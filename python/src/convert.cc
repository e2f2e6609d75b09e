// Python values to and from the library's.
#include "src/convert.h"

#include <nanobind/stl/string.h>

#include "src/errors.h"

namespace tilewright::python {

Dim to_dim(nb::handle value) {
  if (nb::isinstance<Dim>(value)) return nb::cast<Dim>(value);
  if (nb::isinstance<nb::float_>(value)) return Dim::real(nb::cast<double>(value));
  return Dim(nb::cast<std::int64_t>(nb::int_(value)));
}

Dims to_dims(nb::handle value) {
  Dims dims;
  for (nb::handle item : nb::iter(value)) dims.push_back(to_dim(item));
  return dims;
}

DType to_dtype(nb::handle value) {
  if (nb::isinstance<DType>(value)) return nb::cast<DType>(value);
  const auto text = nb::cast<std::string>(value);
  if (const auto dtype = parse_dtype(text)) return *dtype;
  throw Failure{fail(ErrorKind::kInvalidArgument, "no dtype has the name '{}'", text)};
}

Ints to_ints(nb::handle value) {
  Ints ints;
  for (nb::handle item : nb::iter(value)) ints.push_back(nb::cast<std::int64_t>(item));
  return ints;
}

std::vector<std::int64_t> strides_or_contiguous(nb::handle strides, std::span<const std::int64_t> sizes) {
  return strides.is_none() ? contiguous_strides(sizes) : to_ints(strides);
}

namespace {

AttrValue to_attr(AttrKind kind, nb::handle value) {
  switch (kind) {
    case AttrKind::kInt:
      return nb::cast<std::int64_t>(value);
    case AttrKind::kFloat:
      return nb::cast<double>(value);
    case AttrKind::kBool:
      return nb::cast<bool>(value);
    case AttrKind::kStr:
      return nb::cast<std::string>(value);
    case AttrKind::kInts:
      return to_ints(value);
    case AttrKind::kDType:
      return to_dtype(value);
    case AttrKind::kDim:
      return to_dim(value);
    case AttrKind::kDims:
      return to_dims(value);
    case AttrKind::kTensor:
      return nb::cast<Tensor>(value);
  }
  throw Failure{fail(ErrorKind::kInternal, "attribute of kind {}", static_cast<int>(kind))};
}

}  // namespace

Attrs to_attrs(Op op, nb::dict values) {
  Attrs attrs;
  for (auto [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const AttrSpec* row = nullptr;
    for (const AttrSpec& spec : info(op).attrs) {
      if (spec.name == name) row = &spec;
    }
    if (row == nullptr) {
      throw Failure{fail(ErrorKind::kInvalidArgument, "'{}' has no attribute '{}'", info(op).text, name)};
    }
    try {
      attrs.set(name, to_attr(row->kind, value));
    } catch (const nb::cast_error&) {
      throw Failure{fail(ErrorKind::kInvalidArgument, "attribute '{}' of '{}' cannot be {}", name, info(op).text,
                         nb::repr(value).c_str())};
    }
  }
  return attrs;
}

nb::object from_attr(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Ints> || std::is_same_v<T, Dims>) {
          nb::list list;
          for (const auto& item : v) list.append(nb::cast(item));
          return list;
        } else {
          return nb::cast(v);
        }
      },
      value);
}

std::shared_ptr<void> hold(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            nb::gil_scoped_acquire gil;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

}  // namespace tilewright::python
