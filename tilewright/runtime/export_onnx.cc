#include "tilewright/runtime/export_onnx.h"

#include "tilewright/passes/pass.h"

namespace tilewright::runtime {
namespace {

// Passes that prepare the execution of a graph: an exported model is for other engines.
constexpr std::string_view kOnlyToRun[] = {"inline_composites", "widen_products", "split_reduces", "sink_reshapes",
                                           "fuse_areas"};

Result<std::unique_ptr<Graph>> simplified(const Graph& graph) {
  std::unique_ptr<Graph> out = graph.clone();
  passes::PipelineOptions options;
  options.skip.assign(std::begin(kOnlyToRun), std::end(kOnlyToRun));
  TW_TRY(passes::run_pipeline(*out, options));
  return out;
}

}  // namespace

Result<onnx::ExportedModel> export_onnx(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                        const std::map<std::string, std::string>& metadata,
                                        const OnnxExportOptions& options) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const auto weight = weights.find(value.name);
    if (weight == weights.end() || fits(weight->second, value.type)) continue;
    return fail(ErrorKind::kShapeMismatch, "weight '{}': expected {}, got {}", value.name, value.type,
                describe_type(weight->second));
  }
  if (!options.simplify) return onnx::export_graph(graph, weights, metadata, options.onnx);
  TW_ASSIGN(const std::unique_ptr<Graph> simple, simplified(graph));
  return onnx::export_graph(*simple, weights, metadata, options.onnx);
}

Result<OnnxExportReport> save_onnx(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                   const std::map<std::string, std::string>& metadata, const std::string& path,
                                   OnnxExportOptions options) {
  options.onnx.external_file = path.substr(path.rfind('/') + 1) + ".data";
  TW_ASSIGN(const onnx::ExportedModel model, export_onnx(graph, weights, metadata, options));
  TW_TRY(onnx::write_model(model, options.onnx, path));
  OnnxExportReport report{0, !model.external.empty(), model.notes, model.operators};
  for (const auto* pieces : {&model.model, &model.external}) {
    for (const std::string_view piece : *pieces) report.bytes += std::ssize(piece);
  }
  return report;
}

Result<OnnxExportReport> save_onnx(const ModelContents& contents, const std::string& path,
                                   const OnnxExportOptions& options) {
  if (!contents.question.empty()) {
    return fail(ErrorKind::kUnsupported, "the structure of the model depends on {}, which only a call can tell",
                contents.question);
  }
  return save_onnx(*contents.graph, contents.weights, contents.metadata, path, options);
}

}  // namespace tilewright::runtime
