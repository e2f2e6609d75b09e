// tilewright._core.Model (a stored model that runs without Python), the process counters and the thread pool.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "src/convert.h"
#include "src/errors.h"
#include "src/graph_binding.h"
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/stats_snapshot.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::python {
using namespace nb::literals;
using runtime::Model;
namespace {

std::unique_ptr<Model> load_model(nb::object source) {
  if (nb::isinstance<nb::bytes>(source)) {
    const auto bytes = nb::cast<nb::bytes>(source);
    return unwrap(Model::load(std::as_bytes(std::span(bytes.c_str(), bytes.size()))));
  }
  return unwrap(Model::load(nb::cast<std::string>(nb::str(source))));
}

nb::tuple typed_name(const Graph& graph, ValueId value, const std::string& name) {
  nb::list shape;
  for (const Dim dim : graph.type(value).shape) shape.append(dim);
  return nb::make_tuple(name, graph.type(value).dtype, shape);
}

nb::list inputs_of(const Model& model) {
  nb::list out;
  for (const std::size_t input : model.data_inputs()) {
    const ValueId value = model.source().inputs()[input];
    out.append(typed_name(model.source(), value, model.source().value(value).name));
  }
  return out;
}

nb::list outputs_of(const Model& model) {
  nb::list out;
  for (const onnx::DeclaredOutput& output : model.outputs()) {
    nb::object dtype = nb::none(), shape = nb::none();
    if (output.dtype) dtype = nb::cast(*output.dtype);
    if (output.shape) {
      nb::list sizes;
      for (const Dim dim : *output.shape) sizes.append(dim);
      shape = sizes;
    }
    out.append(nb::make_tuple(output.name, dtype, shape));
  }
  return out;
}

std::vector<Tensor> run_model(Model& model, const std::vector<Tensor>& inputs, nb::list numbers) {
  std::vector<DimValue> scalars;
  for (std::size_t i = 0; i < model.source().scalar_inputs().size() && i < nb::len(numbers); ++i) {
    DimValue value{};
    if (model.source().scalar_inputs()[i].is_float()) {
      value.real = nb::cast<double>(numbers[i]);
    } else {
      value.integer = nb::cast<std::int64_t>(numbers[i]);
    }
    scalars.push_back(value);
  }
  nb::gil_scoped_release release;
  return unwrap(model.run(inputs, scalars));
}

nb::dict counters() {
  const StatsSnapshot now = stats_snapshot();
  nb::dict out, quantiles;
  out["calls"] = now.calls;
  out["launches"] = now.launches;
  out["machine_ns"] = now.machine_ns;
  out["bytes_written"] = now.bytes_written;
  out["programs_encoded"] = now.programs_encoded;
  out["cache_hits"] = now.cache_hits;
  out["guards_failed"] = now.guards_failed;
  out["host_calls"] = now.host_calls;
  out["weights_packed"] = now.weights_packed;
  out["packed_bytes"] = now.packed_bytes;
  out["cached_program_bytes"] = now.cached_program_bytes;
  out["arena_bytes"] = now.arena_bytes;
  out["resident_bytes"] = now.resident_bytes;
  quantiles["p50"] = now.encode_p50_ns;
  quantiles["p90"] = now.encode_p90_ns;
  quantiles["p99"] = now.encode_p99_ns;
  quantiles["max"] = now.encode_max_ns;
  out["encode_ns"] = quantiles;
  out["encode_total_ns"] = now.encode_total_ns;
  return out;
}

}  // namespace

void bind_sessions(nb::module_& module) {
  module.def("counters", &counters, "Counters of the process: calls, launches, programs, bytes, encode times in ns.");
  module.def("set_num_threads", &vm::cpu::set_num_threads, "count"_a);
  module.def("num_threads", &vm::cpu::num_threads);
  module.def(
      "save_model",
      [](const PyGraph& graph, std::map<std::string, Tensor> weights, nb::list strides,
         std::map<std::string, std::string> metadata, const std::string& path) {
        runtime::ModelExtras extras{{}, std::move(metadata)};
        for (nb::handle row : strides) extras.output_strides.push_back(row.is_none() ? Dims() : to_dims(row));
        unwrap(runtime::save_model(*graph.graph, weights, extras, path));
      },
      "graph"_a, "weights"_a, "output_strides"_a, "metadata"_a, "path"_a);
  nb::class_<Model>(module, "Model", "A compiled model with its weights.")
      .def_static("load", &load_model, "source"_a, "Reads a model file from a path or from bytes.")
      .def_prop_ro("inputs", &inputs_of, "(name, dtype, shape) of what a call brings.")
      .def_prop_ro("outputs", &outputs_of, "(name, dtype, shape); None for what only a call decides.")
      .def_prop_ro("scalars", [](const Model& self) { return self.source().scalar_inputs(); })
      .def_prop_ro("metadata", &Model::metadata,
                   "Texts by key: of whoever saved the model, and \"tilewright.*\" for the library.")
      .def("weight_names", &Model::weight_names)
      .def(
          "set_weights", [](Model& self, std::map<std::string, Tensor> weights) { unwrap(self.set_weights(weights)); },
          "weights"_a)
      .def(
          "save", [](const Model& self, const std::string& path) { unwrap(self.save(path)); }, "path"_a)
      .def("trim", &Model::trim)
      .def("run", &run_model, "inputs"_a, "scalars"_a = nb::list());
}

}  // namespace tilewright::python
