// The extension module tilewright._core.
#include <nanobind/nanobind.h>

#include "src/convert.h"
#include "src/errors.h"

NB_MODULE(_core, module) {
  module.doc() = "Bindings of the Tilewright library.";
  nanobind::set_leak_warnings(false);  // records of compiled graphs may outlive the interpreter's teardown
  tilewright::python::register_errors();
  tilewright::python::bind_dims(module);
  tilewright::python::bind_tensors(module);
  tilewright::python::bind_graphs(module);
  tilewright::python::bind_border(module);
  tilewright::python::bind_segments(module);
  tilewright::python::bind_streams(module);
  tilewright::python::bind_sessions(module);
  tilewright::python::bind_export(module);
}
