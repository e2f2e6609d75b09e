#include "tilewright/runtime/debug.h"

#include <cstdio>
#include <cstdlib>

namespace tilewright::runtime {

bool debugs(DebugLevel level) {
  static const int given = [] {
    const char* text = std::getenv("TILEWRIGHT_DEBUG");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return given >= static_cast<int>(level);
}

void write_debug(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace tilewright::runtime
