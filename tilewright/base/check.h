// TW_CHECK guards our own invariants. No input of a user may reach one: wrong input is a Result (result.h).
#pragma once

#include <string_view>

namespace tilewright {

[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::string_view message);

}  // namespace tilewright

#define TW_CHECK(condition, message)                                       \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::tilewright::check_failed(#condition, __FILE__, __LINE__, message); \
    }                                                                      \
  } while (false)
