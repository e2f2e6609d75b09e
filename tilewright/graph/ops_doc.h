// docs/ops.md, generated from ops.def.
#pragma once

#include <string>

namespace tilewright {

std::string ops_markdown();

}  // namespace tilewright
