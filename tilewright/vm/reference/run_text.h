// For tests: assembles and verifies a program, and runs it on the reference machine over byte vectors of exactly the
// sizes that it declares, so that an address sanitiser sees every step beyond them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/vm/machine.h"

namespace tilewright::vm::reference {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes to_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> from_bytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(static_cast<void*>(values.data()), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Buffer i holds inputs[i]; the others begin as zeros. Returns all buffers after the run, or nothing after a failed
// check.
inline std::vector<Bytes> run_text(const std::string& text, const std::vector<Bytes>& inputs) {
  const Result<isa::Program> program = isa::assemble(text);
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message << "\n" << text;
    return {};
  }
  if (const Status status = isa::verify_program(*program); !status.ok()) {
    ADD_FAILURE() << status.error().message << "\n" << text;
    return {};
  }
  std::vector<Bytes> buffers;
  std::vector<std::byte*> addresses;
  for (std::size_t i = 0; i < program->buffers.size(); ++i) {
    buffers.push_back(i < inputs.size() ? inputs[i] : Bytes{});
    buffers.back().resize(static_cast<std::size_t>(program->buffers[i].bytes));
  }
  for (Bytes& buffer : buffers) addresses.push_back(buffer.data());
  const Status status = make_reference_machine()->run(program->words, program->scratch_bytes, addresses);
  EXPECT_TRUE(status.ok());
  return buffers;
}

}  // namespace tilewright::vm::reference
