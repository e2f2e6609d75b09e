// A model as an ONNX file. By default the graph is first simplified by the passes that change no form of execution:
// what it computes is spelled with fewer and larger operators.
#pragma once

#include "tilewright/frontends/onnx/export/export.h"
#include "tilewright/runtime/model_file.h"

namespace tilewright::runtime {

struct OnnxExportOptions {
  onnx::ExportOptions onnx;
  bool simplify = true;  // false: the graph as it was read
};

// What was written.
struct OnnxExportReport {
  std::int64_t bytes = 0;  // of both files
  bool has_external_file = false;
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, int>> operators;
};

Result<onnx::ExportedModel> export_onnx(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                        const std::map<std::string, std::string>& metadata,
                                        const OnnxExportOptions& options = {});

// To a file. Large constants lie beside it, in a file of its name with ".data" behind.
Result<OnnxExportReport> save_onnx(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                   const std::map<std::string, std::string>& metadata, const std::string& path,
                                   OnnxExportOptions options = {});
Result<OnnxExportReport> save_onnx(const ModelContents& contents, const std::string& path,
                                   const OnnxExportOptions& options = {});

}  // namespace tilewright::runtime
