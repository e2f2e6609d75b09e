// Segment: a compiled piece of a stream of eager operations. Inputs are tensors of torch, results go to memory that the
// caller already holds. Calls are re-entrant; the interpreter lock is released while the graph runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "src/convert.h"
#include "src/errors.h"
#include "src/explain_session.h"
#include "src/graph_binding.h"
#include "src/torch_tensor.h"
#include "tilewright/runtime/session.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

struct GivenMemory final : runtime::OutputSink {
  std::vector<std::byte*> pointers;
  Result<std::byte*> allocate(std::size_t output, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return pointers[output];
  }
};

class Segment {
 public:
  Segment(const PyGraph& graph, nb::list output_strides) : graph_(graph.graph) {
    runtime::SessionOptions options;
    for (nb::handle strides : output_strides) options.output_strides.push_back(to_dims(strides));
    session_ = unwrap(runtime::Session::compile(graph_->clone(), options));
  }

  void run(nb::list inputs, nb::list addresses, nb::list numbers);
  nb::dict explain() { return explain_session(*session_, last_inputs_, last_scalars_); }
  std::string plan() const { return print(*session_->plan().graph); }
  void trim() { session_->trim(); }

 private:
  std::shared_ptr<Graph> graph_;
  std::unique_ptr<runtime::Session> session_;
  // Of the last run, for explain(); guarded by the interpreter lock.
  std::vector<runtime::TensorArg> last_inputs_;
  std::vector<DimValue> last_scalars_;
};

void Segment::run(nb::list inputs, nb::list addresses, nb::list numbers) {
  std::vector<runtime::TensorArg> args;
  args.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    args.push_back(read_argument(inputs[i], graph_->type(graph_->inputs()[i]).dtype));
  }
  GivenMemory memory;
  for (nb::handle address : addresses)
    memory.pointers.push_back(static_cast<std::byte*>(PyLong_AsVoidPtr(address.ptr())));
  std::vector<DimValue> scalars;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    DimValue value{};
    if (graph_->scalar_inputs()[i].is_float()) {
      value.real = nb::cast<double>(numbers[i]);
    } else {
      value.integer = nb::cast<std::int64_t>(numbers[i]);
    }
    scalars.push_back(value);
  }
  Status status;
  {
    nb::gil_scoped_release release;
    status = session_->run(args, scalars, memory);
  }
  unwrap(std::move(status));
  last_inputs_ = std::move(args);
  last_scalars_ = std::move(scalars);
}

}  // namespace

void bind_segments(nb::module_& module) {
  nb::class_<Segment>(module, "Segment", "A compiled piece of a stream of eager operations.")
      .def(nb::init<const PyGraph&, nb::list>(), "graph"_a, "output_strides"_a,
           "Compiles a graph whose outputs have these strides, in elements.")
      .def("run", &Segment::run, "inputs"_a, "addresses"_a, "scalars"_a = nb::list(),
           "Reads the input tensors and writes each output to the memory at its address.")
      .def("explain", &Segment::explain, "Kernels, refused merges, passes; bytes moved at the sizes of the last run.")
      .def("trim", &Segment::trim)
      .def_prop_ro("plan", &Segment::plan, "The optimised graph, as text.");
}

}  // namespace tilewright::python
