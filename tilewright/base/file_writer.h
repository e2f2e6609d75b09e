// Writes a file that appears whole or not at all: under another name until it is finished, which is then renamed.
// Without finish(), or after an error, nothing is left. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "tilewright/base/result.h"

namespace tilewright {

class FileWriter {
 public:
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Nothing happens after an error, which finish() also gives.
  Status put(std::string_view bytes);
  Status finish();

 private:
  Status reason() const;  // in errno

  std::string path_, partial_;
  int file_ = -1;
  Status status_;
};

}  // namespace tilewright
