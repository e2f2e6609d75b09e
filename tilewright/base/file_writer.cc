#include "tilewright/base/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tilewright {

FileWriter::FileWriter(std::string path)
    : path_(std::move(path)), partial_(fmt::format("{}.{}.partial", path_, getpid())) {
  file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) status_ = reason();
}

FileWriter::~FileWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial_.c_str());
}

Status FileWriter::reason() const {
  return fail(ErrorKind::kInvalidArgument, "{}: cannot write: {}", path_, std::strerror(errno));
}

Status FileWriter::put(std::string_view bytes) {
  while (status_.ok() && !bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return status_ = reason();
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return status_;
}

Status FileWriter::finish() {
  if (!status_.ok()) return status_;
  const int file = std::exchange(file_, -1);
  if (::close(file) == 0 && std::rename(partial_.c_str(), path_.c_str()) == 0) return {};
  status_ = reason();
  ::unlink(partial_.c_str());
  return status_;
}

}  // namespace tilewright
