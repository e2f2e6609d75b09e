// Writes an exported model to its files: under another name first, so that a file is there whole or not at all.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tilewright/frontends/onnx/export/export.h"

namespace tilewright::onnx {
namespace {

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fail(ErrorKind::kInvalidArgument, "cannot write: {}", std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

Status write_file(const std::string& path, const std::vector<std::string_view>& pieces) {
  const std::string partial = fmt::format("{}.{}.partial", path, getpid());
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return fail(ErrorKind::kInvalidArgument, "{}: cannot write: {}", path, std::strerror(errno));
  Status status;
  for (std::size_t i = 0; i < pieces.size() && status.ok(); ++i) status = write_all(file, pieces[i]);
  if (::close(file) != 0 && status.ok()) {
    status = fail(ErrorKind::kInvalidArgument, "cannot write: {}", std::strerror(errno));
  }
  if (status.ok() && std::rename(partial.c_str(), path.c_str()) != 0) {
    status = fail(ErrorKind::kInvalidArgument, "cannot write: {}", std::strerror(errno));
  }
  if (status.ok()) return {};
  ::unlink(partial.c_str());
  return std::move(status).error().in(path);
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
