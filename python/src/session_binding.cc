// tilewright._core.Model (a stored model that runs without Python), the process counters and the thread pool.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "src/convert.h"
#include "src/errors.h"
#include "src/graph_binding.h"
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/stats.h"
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
  const Graph& graph = model.source();
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& names = graph.output_names();
    out.append(
        typed_name(graph, graph.outputs()[i], i < names.size() ? names[i] : graph.value(graph.outputs()[i]).name));
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
  const runtime::Stats& stats = runtime::stats();
  nb::dict out;
  out["calls"] = stats.calls.load();
  out["launches"] = stats.launches.load();
  out["bytes_written"] = stats.bytes_written.load();
  out["programs_encoded"] = stats.programs_encoded.load();
  out["cache_hits"] = stats.cache_hits.load();
  out["guards_failed"] = stats.guards_failed.load();
  out["host_calls"] = stats.host_calls.load();
  out["weights_packed"] = stats.weights_packed.load();
  out["packed_bytes"] = stats.packed_bytes.load();
  out["cached_program_bytes"] = stats.cached_program_bytes.load();
  const std::size_t count = std::min<std::size_t>(stats.encode_count.load(), runtime::Stats::kSamples);
  std::vector<std::int64_t> times(count);
  for (std::size_t i = 0; i < count; ++i) times[i] = stats.encode_ns[i].load();
  std::ranges::sort(times);
  nb::dict quantiles;
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}}) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(count));
    quantiles[name] = count == 0 ? 0 : times[std::min(place, count - 1)];
  }
  out["encode_ns"] = quantiles;
  out["encode_total_ns"] = stats.encode_total_ns.load();
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
      .def_prop_ro("outputs", &outputs_of)
      .def_prop_ro("scalars", [](const Model& self) { return self.source().scalar_inputs(); })
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
