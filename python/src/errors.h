// Errors of the library as Python exceptions: the kind's row in base/error_kinds.def names the exception class.
#pragma once

#include <utility>

#include "tilewright/base/result.h"

namespace tilewright::python {

struct Failure {  // thrown at the border only; translated by register_errors()
  Error error;
};

void register_errors();
void set_python_error(const Error& error);

template <typename T>
T unwrap(Result<T> result) {
  if (!result.ok()) throw Failure{std::move(result).error()};
  return std::move(result).value();
}

inline void unwrap(Status status) {
  if (!status.ok()) throw Failure{std::move(status).error()};
}

}  // namespace tilewright::python
