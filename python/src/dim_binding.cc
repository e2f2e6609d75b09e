// tilewright._core.Dim and DType.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/convert.h"
#include "src/errors.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

struct DimOpRow {
  DimOp op;
  const char* text;
};
constexpr DimOpRow kDimOps[] = {
#define DIM_OP(Name, text, ...) {DimOp::k##Name, text},
#include "tilewright/tensor/dim_ops.def"
#undef DIM_OP
};

Dim make_dim(const std::string& text, nb::args operands) {
  for (const DimOpRow& row : kDimOps) {
    if (text.empty() || text != row.text) continue;
    const Dims values = to_dims(operands);
    return Dim::make(row.op, values);
  }
  throw Failure{fail(ErrorKind::kInvalidArgument, "no dim operation has the name '{}'", text)};
}

nb::any constant_of(Dim dim) {
  nb::object number = nb::none();
  if (const auto integer = dim.constant(); integer && !dim.is_float()) {
    number = nb::int_(*integer);
  } else if (const auto real = dim.real_constant()) {
    number = nb::float_(*real);
  }
  return nb::borrow<nb::any>(number);
}

}  // namespace

void bind_dims(nb::module_& module) {
  nb::enum_<DType> dtypes(module, "DType", "Element type of a tensor.");
#define DTYPE(Name, text, Type, size, ...) dtypes.value(text, DType::k##Name);
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  module.def(
      "byte_size", [](DType dtype) { return byte_size(dtype); }, "dtype"_a, "Bytes of one element.");

  nb::class_<Dim>(module, "Dim", "A size or host scalar: a number, or an expression over symbols that a call binds.")
      .def(
          "__init__", [](Dim* self, nb::handle value) { new (self) Dim(to_dim(value)); }, "value"_a)
      .def_static(
          "symbol", [](const std::string& name) { return Dim::symbol(name); }, "name"_a)
      .def_static(
          "float_symbol", [](const std::string& name) { return Dim::float_symbol(name); }, "name"_a)
      .def_static("make", &make_dim, "operation"_a, "operands"_a,
                  "`operation` (a name of dim_ops.def) of the operands.")
      .def_static(
          "parse", [](const std::string& text) { return unwrap(parse_dim(text)); }, "text"_a)
      .def_prop_ro("constant", &constant_of, "The number, or None if it depends on symbols.")
      .def_prop_ro("is_float", &Dim::is_float)
      .def_prop_ro("is_symbol", &Dim::is_symbol)
      .def_prop_ro("name", [](Dim dim) { return dim.is_symbol() ? dim.name() : std::string(); })
      .def_prop_ro("symbols",
                   [](Dim dim) {
                     std::vector<Dim> symbols;
                     collect_symbols(dim, symbols);
                     return symbols;
                   })
      .def("__add__", [](Dim a, nb::handle b) { return a + to_dim(b); })
      .def("__radd__", [](Dim a, nb::handle b) { return to_dim(b) + a; })
      .def("__sub__", [](Dim a, nb::handle b) { return a - to_dim(b); })
      .def("__rsub__", [](Dim a, nb::handle b) { return to_dim(b) - a; })
      .def("__mul__", [](Dim a, nb::handle b) { return a * to_dim(b); })
      .def("__rmul__", [](Dim a, nb::handle b) { return to_dim(b) * a; })
      .def("__floordiv__", [](Dim a, nb::handle b) { return floordiv(a, to_dim(b)); })
      .def("__mod__", [](Dim a, nb::handle b) { return mod(a, to_dim(b)); })
      .def("__neg__", [](Dim a) { return -a; })
      .def("__eq__",
           [](Dim a, nb::handle b) {
             if (nb::isinstance<Dim>(b)) return a == nb::cast<Dim>(b);
             return nb::isinstance<nb::int_>(b) && a == to_dim(b);
           })
      .def("__hash__", [](Dim a) { return a.id(); })
      .def("__repr__", [](Dim a) { return to_string(a); });
}

}  // namespace tilewright::python
