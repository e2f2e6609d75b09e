// TILEWRIGHT_DEBUG: what the library tells of its work on standard error. Read once, when the first graph is compiled.
#pragma once

#include <string_view>

namespace tilewright::runtime {

enum class DebugLevel : int { kSummary = 1, kKernels, kPrograms, kPasses };

bool debugs(DebugLevel level);
void write_debug(std::string_view text);  // one write, so that lines of threads do not mix

}  // namespace tilewright::runtime
