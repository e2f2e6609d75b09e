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

nb::list describe(const std::vector<onnx::Declared>& values) {
  nb::list out;
  for (const onnx::Declared& value : values) {
    nb::object dtype = nb::none(), shape = nb::none();
    if (value.dtype) dtype = nb::cast(*value.dtype);
    if (value.shape) {
      nb::list sizes;
      for (const Dim dim : *value.shape) sizes.append(dim);
      shape = sizes;
    }
    out.append(nb::make_tuple(value.name, dtype, shape));
  }
  return out;
}

// "tensor", "sequence", "optional tensor" or "optional sequence".
std::vector<std::string> kinds_of(const std::vector<onnx::Declared>& values) {
  std::vector<std::string> out;
  for (const onnx::Declared& value : values) {
    out.push_back(std::string(value.is_optional ? "optional " : "") + (value.is_sequence ? "sequence" : "tensor"));
  }
  return out;
}

// The tensors of a call as its results: a sequence is a list, no value None.
nb::list grouped(std::vector<Tensor> tensors, const std::vector<onnx::Form>& forms) {
  nb::list out;
  if (forms.empty()) {
    for (Tensor& tensor : tensors) out.append(nb::cast(std::move(tensor)));
    return out;
  }
  std::size_t next = 0;
  for (const onnx::Form& form : forms) {
    nb::list items;
    for (std::int64_t i = 0; i < form.count; ++i) items.append(nb::cast(std::move(tensors[next++])));
    if (form.is_sequence) {
      out.append(items);
    } else if (form.count == onnx::Form::kNothing) {
      out.append(nb::none());
    } else {
      out.append(items[0]);
    }
  }
  return out;
}

// An entry of `inputs` is a Tensor, a list of them (a sequence), or None.
nb::list run_model(Model& model, nb::list inputs, nb::list numbers, onnx::StringTable* texts) {
  std::vector<Tensor> tensors;
  std::vector<onnx::Form> forms;
  bool is_plain = true;
  for (nb::handle input : inputs) {
    const std::size_t before = tensors.size();
    if (nb::isinstance<nb::list>(input)) {
      for (nb::handle item : nb::cast<nb::list>(input)) tensors.push_back(nb::cast<Tensor>(item));
      forms.push_back({.count = static_cast<std::int64_t>(tensors.size() - before), .is_sequence = true});
      is_plain = false;
    } else if (input.is_none()) {
      forms.push_back({.count = onnx::Form::kNothing});
      is_plain = false;
    } else {
      tensors.push_back(nb::cast<Tensor>(input));
      forms.emplace_back();
    }
  }
  runtime::CallExtras extras;
  extras.texts = texts;
  if (!is_plain && forms.size() == model.inputs().size()) extras.inputs = forms;
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
  auto results = [&] {
    nb::gil_scoped_release release;
    return model.run(tensors, scalars, nullptr, &extras);
  }();
  return grouped(unwrap(std::move(results)), extras.outputs);
}

// Texts of one call of a model: the numbers of those that go in, the texts of numbers that come out.
class CallTexts {
 public:
  explicit CallTexts(const Model& model) : table(model.texts()) {}
  std::vector<std::int64_t> numbers(const std::vector<std::string>& texts) {
    std::vector<std::int64_t> out;
    out.reserve(texts.size());
    for (const std::string& text : texts) out.push_back(table.number_of(text));
    return out;
  }
  std::vector<std::string> texts(const std::vector<std::int64_t>& numbers) const {
    std::vector<std::string> out;
    out.reserve(numbers.size());
    for (const std::int64_t number : numbers) {
      const std::string* text = table.text_of(number);
      if (text == nullptr) throw nb::value_error("a result is no string");
      out.push_back(*text);
    }
    return out;
  }
  onnx::StringTable table;
};

nb::dict counters() {
  const StatsSnapshot now = stats_snapshot();
  nb::dict out, quantiles;
  out["calls"] = now.calls;
  out["launches"] = now.launches;
  out["machine_ns"] = now.machine_ns;
  out["bytes_written"] = now.bytes_written;
  out["speculations_fused"] = now.speculations_fused;
  out["speculations_split"] = now.speculations_split;
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
      .def_prop_ro(
          "inputs", [](const Model& self) { return describe(self.inputs()); },
          "(name, dtype, shape) of what a call brings; None for what only a call decides. Of a sequence: of its items.")
      .def_prop_ro(
          "outputs", [](const Model& self) { return describe(self.outputs()); },
          "(name, dtype, shape); None for what only a call decides.")
      .def_prop_ro("input_kinds", [](const Model& self) { return kinds_of(self.inputs()); })
      .def_prop_ro("output_kinds", [](const Model& self) { return kinds_of(self.outputs()); })
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
      .def(
          "weight", [](const Model& self, const std::string& name) { return unwrap(self.weight(name)); }, "name"_a)
      .def(
          "run",
          [](Model& self, nb::list inputs, nb::list scalars, CallTexts* texts) {
            return run_model(self, inputs, scalars, texts == nullptr ? nullptr : &texts->table);
          },
          "inputs"_a, "scalars"_a = nb::list(), "texts"_a.none() = nb::none(),
          "An input or result is a Tensor, a list of them (a sequence), or None.");
  nb::class_<CallTexts>(module, "CallTexts", "The strings of one call of a model, which carries them as numbers.")
      .def(nb::init<const Model&>(), "model"_a)
      .def("numbers", &CallTexts::numbers, "texts"_a)
      .def("texts", &CallTexts::texts, "numbers"_a);
}

}  // namespace tilewright::python
