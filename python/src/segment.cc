// Segment: compiling and running.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "src/segment.h"

#include "src/convert.h"
#include "src/errors.h"
#include "src/explain_session.h"
#include "src/segment_undo.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

struct GivenMemory final : runtime::OutputSink {
  std::span<std::byte* const> pointers;
  Result<std::byte*> allocate(std::size_t output, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return pointers[output];
  }
};

}  // namespace

Segment::Segment(const PyGraph& graph, nb::list output_strides) : graph_(graph.graph) {
  runtime::SessionOptions options;
  for (nb::handle strides : output_strides) options.output_strides.push_back(to_dims(strides));
  session_ = unwrap(runtime::Session::compile(graph_->clone(), options));
  at_risk_ = inputs_at_risk(session_->plan());
}

void Segment::run(std::vector<runtime::TensorArg> inputs, std::span<std::byte* const> outputs,
                  std::span<const double> reals, std::span<const std::int64_t> integers) {
  std::vector<DimValue> scalars;
  std::size_t real = 0, integer = 0;
  for (const Dim symbol : graph_->scalar_inputs()) {
    DimValue value{};
    if (symbol.is_float()) {
      value.real = reals[real++];
    } else {
      value.integer = integers[integer++];
    }
    scalars.push_back(value);
  }
  GivenMemory memory;
  memory.pointers = outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].dtype = graph_->type(graph_->inputs()[i]).dtype;
  Status status;
  {
    nb::gil_scoped_release release;
    SegmentUndo undo;
    for (const std::size_t input : at_risk_) undo.keep(inputs[input]);
    status = session_->run(inputs, scalars, memory);
    if (!status) undo.restore();
  }
  unwrap(std::move(status));
  last_inputs_ = std::move(inputs);
  last_scalars_ = std::move(scalars);
}

nb::dict Segment::explain() {
  return explain_session(*session_, last_inputs_, last_scalars_);
}

void bind_segments(nb::module_& module) {
  nb::class_<Segment>(module, "Segment", "A compiled piece of a stream of eager operations.")
      .def(nb::init<const PyGraph&, nb::list>(), "graph"_a, "output_strides"_a,
           "Compiles a graph whose outputs have these strides, in elements.")
      .def("explain", &Segment::explain, "Kernels, refused merges, passes; bytes moved at the sizes of the last run.")
      .def("trim", &Segment::trim)
      .def_prop_ro("plan", &Segment::plan, "The optimised graph, as text.");
}

}  // namespace tilewright::python
