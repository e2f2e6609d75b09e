// Writes a graph as an ONNX model: what the layers above use of the exporter. ops.def says what each operator becomes.
// A file that onnx.checker accepts, without libprotobuf; the same graph and options give the same bytes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/graph/graph.h"

namespace tilewright::onnx {

inline constexpr int kOldestExportOpset = 13;
inline constexpr int kDefaultExportOpset = 20;
int newest_export_opset();  // the newest that the installed `onnx` package defined when the library was built

struct ExportOptions {
  int opset = kDefaultExportOpset;
  bool standard_only = false;  // no operators of com.microsoft, which onnxruntime adds to the standard ones
  // Constants of a model that has this many bytes of them lie in a file beside it: protobuf ends at 2 GiB.
  std::int64_t external_from = std::int64_t{1} << 30;
  std::string external_file = "model.onnx.data";  // its name, without a folder
};

// A model as it will be written. Its parts are views of memory that `storage` and the weights keep.
struct ExportedModel {
  std::vector<std::string_view> model;                 // one after the other
  std::vector<std::string_view> external;              // the file beside it; none: there is none
  std::vector<std::string> notes;                      // what ONNX has no way to say and was left out
  std::vector<std::pair<std::string, int>> operators;  // of the model with their numbers, by name
  std::shared_ptr<void> storage;

  std::string bytes() const;
};

// `weights`: values by the name of the graph input; a weight without one stays an input. `metadata`: kept in the model;
// element types that a dtype only carries (load.h) are restored at its border. An error names the op, the value and the
// opset.
Result<ExportedModel> export_graph(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                   const std::map<std::string, std::string>& metadata, const ExportOptions& options);

// Both files appear whole or not at all. `options.external_file` lies in the folder of `path`.
Status write_model(const ExportedModel& exported, const ExportOptions& options, const std::string& path);

// docs/onnx_export.md.
std::string export_markdown();

// "gelu" -> what it becomes, the oldest opset, and why not (empty: it is exported).
struct ExportRule {
  std::string_view op, onnx;
  int since;
  std::string_view reason;
};
std::vector<ExportRule> export_rules();

}  // namespace tilewright::onnx
