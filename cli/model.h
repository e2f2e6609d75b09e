// A file as something that can be called: a graph in text form.
#pragma once

#include <memory>
#include <string>

#include "tilewright/runtime/session.h"

namespace tilewright::cli {

Result<std::unique_ptr<Graph>> read_graph(const std::string& path);
Result<std::unique_ptr<runtime::Session>> open_session(const std::string& path,
                                                       const runtime::SessionOptions& options = {});

}  // namespace tilewright::cli
