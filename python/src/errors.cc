// Translation of library errors into Python exceptions.
#include "src/errors.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace tilewright::python {

void set_python_error(const Error& error) {
  nb::object type = nb::module_::import_("builtins").attr(info(error.kind).python_exception);
  PyErr_SetString(type.ptr(), error.message.c_str());
}

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      set_python_error(failure.error);
    }
  });
}

}  // namespace tilewright::python
