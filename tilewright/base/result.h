// Result<T>: a value, or an Error that says what is wrong, where, and with which values.
// Used wherever the caller's input may be wrong. Our own bugs are TW_CHECK (check.h); exceptions exist only at the
// Python border. An Error is cheap to move and costs nothing on the success path.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tilewright/base/check.h"

#if FMT_VERSION < 100000
// A type of ours with format_as(value) -> text can be an argument of fmt::format. Later versions of fmt do this
// themselves.
template <typename T>
requires requires(const T& value) {
  { format_as(value) } -> std::convertible_to<std::string_view>;
}
struct fmt::formatter<T, char> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const T& value, Context& context) const {
    return fmt::formatter<std::string_view>::format(std::string_view(format_as(value)), context);
  }
};
#endif

namespace tilewright {

enum class ErrorKind {
#define ERROR_KIND(Name, ...) k##Name,
#include "tilewright/base/error_kinds.def"
#undef ERROR_KIND
};

struct ErrorKindInfo {
  const char* text;
  int exit_code;
  int http_status;
  const char* python_exception;
};
const ErrorKindInfo& info(ErrorKind kind);

struct [[nodiscard]] Error {
  ErrorKind kind;
  std::string message;

  // Adds where it happened, once per layer: "node 'y' = matmul: inner dimensions differ: 64 and 32".
  Error in(std::string_view where) && {
    message = fmt::format("{}: {}", where, message);
    return std::move(*this);
  }
};

template <typename... Args>
Error fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  return {kind, fmt::format(text, std::forward<Args>(args)...)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    check();
    return std::get<0>(state_);
  }
  const T& value() const& {
    check();
    return std::get<0>(state_);
  }
  T&& value() && {
    check();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  void check() const {
    if (!ok()) check_failed("Result has a value", __FILE__, __LINE__, std::get<1>(state_).message);
  }
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace tilewright

// Returns the error of `expression` (a Result or Status) from the enclosing function.
#define TW_TRY(expression)                                \
  do {                                                    \
    if (auto tw_status = (expression); !tw_status.ok()) { \
      return std::move(tw_status).error();                \
    }                                                     \
  } while (false)

#define TW_CONCAT_(a, b) a##b
#define TW_CONCAT(a, b) TW_CONCAT_(a, b)
// TW_ASSIGN(auto x, f()): x is the value of f(), or the enclosing function returns its error.
#define TW_ASSIGN(declaration, expression) TW_ASSIGN_(declaration, expression, TW_CONCAT(tw_result_, __LINE__))
#define TW_ASSIGN_(declaration, expression, name) \
  auto name = (expression);                       \
  if (!name.ok()) return std::move(name).error(); \
  declaration = std::move(name).value()
