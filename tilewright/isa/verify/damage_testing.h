// For tests: the verifier's verdict on a program given as text, and on the same program with one piece of text
// replaced.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tilewright/isa/program.h"

namespace tilewright::isa::testing {

inline std::string verdict(std::string_view text) {
  const Result<Program> program = assemble(text);
  if (!program.ok()) return "text: " + program.error().message;
  const Status status = verify_program(*program);
  return status.ok() ? "good" : status.error().message;
}

struct Damage {
  std::string_view from, to, message;
};

inline void expect_rejected(std::string_view good, std::initializer_list<Damage> damages) {
  ASSERT_EQ(verdict(good), "good");
  for (const Damage& damage : damages) {
    std::string text(good);
    const std::size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from;
    text.replace(at, damage.from.size(), damage.to);
    EXPECT_EQ(verdict(text), damage.message) << damage.to;
  }
}

}  // namespace tilewright::isa::testing
