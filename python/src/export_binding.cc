// tilewright._core.export_onnx: graphs, files and models as ONNX files.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/convert.h"
#include "src/errors.h"
#include "src/graph_binding.h"
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/model_source.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

runtime::OnnxExportOptions to_options(int opset, bool standard_only, bool simplify, std::int64_t external_from) {
  runtime::OnnxExportOptions options;
  options.onnx.opset = opset;
  options.onnx.standard_only = standard_only;
  options.onnx.external_from = external_from;
  options.simplify = simplify;
  return options;
}

nb::dict to_dict(const runtime::OnnxExportReport& report) {
  nb::dict out;
  out["bytes"] = report.bytes;
  out["has_external_file"] = report.has_external_file;
  out["notes"] = report.notes;
  nb::dict operators;
  for (const auto& [name, count] : report.operators) operators[name.c_str()] = count;
  out["operators"] = operators;
  return out;
}

nb::list rules() {
  nb::list out;
  for (const onnx::ExportRule& rule : onnx::export_rules()) {
    const auto text = [](std::string_view view) { return nb::str(view.data(), view.size()); };
    out.append(nb::make_tuple(text(rule.op), text(rule.onnx), rule.since, text(rule.reason)));
  }
  return out;
}

}  // namespace

void bind_export(nb::module_& module) {
  module.attr("DEFAULT_EXPORT_OPSET") = onnx::kDefaultExportOpset;
  module.attr("OLDEST_EXPORT_OPSET") = onnx::kOldestExportOpset;
  module.attr("NEWEST_EXPORT_OPSET") = onnx::newest_export_opset();
  module.def("export_rules", &rules, "(op, what it becomes in ONNX, oldest opset, why it is not exported).");
  module.def(
      "export_graph",
      [](const PyGraph& graph, const std::map<std::string, Tensor>& weights,
         const std::map<std::string, std::string>& metadata, const std::string& path, int opset, bool standard_only,
         bool simplify, std::int64_t external_from) {
        const auto options = to_options(opset, standard_only, simplify, external_from);
        return to_dict(unwrap(runtime::save_onnx(*graph.graph, weights, metadata, path, options)));
      },
      "graph"_a, "weights"_a, "metadata"_a, "path"_a, "opset"_a, "standard_only"_a, "simplify"_a, "external_from"_a);
  module.def(
      "export_file",
      [](const std::string& source, const std::string& path, int opset, bool standard_only, bool simplify,
         std::int64_t external_from) {
        const auto options = to_options(opset, standard_only, simplify, external_from);
        return to_dict(unwrap(runtime::save_onnx(unwrap(runtime::read_source(source)), path, options)));
      },
      "source"_a, "path"_a, "opset"_a, "standard_only"_a, "simplify"_a, "external_from"_a);
  module.def(
      "export_model",
      [](const runtime::Model& model, const std::string& path, int opset, bool standard_only, bool simplify,
         std::int64_t external_from) {
        return to_dict(unwrap(model.export_onnx(path, to_options(opset, standard_only, simplify, external_from))));
      },
      "model"_a, "path"_a, "opset"_a, "standard_only"_a, "simplify"_a, "external_from"_a);
}

}  // namespace tilewright::python
