// Writes an exported model to its files, each of which is there whole or not at all.
#include "tilewright/base/file_writer.h"
#include "tilewright/frontends/onnx/export/export.h"

namespace tilewright::onnx {
namespace {

Status write_file(const std::string& path, const std::vector<std::string_view>& pieces) {
  FileWriter file(path);
  for (const std::string_view piece : pieces) TW_TRY(file.put(piece));
  return file.finish();
}

}  // namespace

Status write_model(const ExportedModel& exported, const ExportOptions& options, const std::string& path) {
  if (!exported.external.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    TW_TRY(write_file(folder + options.external_file, exported.external));
  }
  return write_file(path, exported.model);
}

}  // namespace tilewright::onnx
