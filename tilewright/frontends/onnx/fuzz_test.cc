// Damaged models: every prefix of one, and many with bytes changed, inserted or gone. Each is an error or a graph that
// verifies; under the sanitizers this also looks for reads beyond the bytes. Five seconds, or TILEWRIGHT_FUZZ_SECONDS.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "tilewright/frontends/onnx/load.h"
#include "tilewright/frontends/onnx/model_testing.h"

namespace tilewright::onnx {
namespace {
using namespace testing;

std::string whole_model() {
  const std::string branch = field(5, field(1, "then_branch") + field(6, node("Relu", {"x"}, {"t"}) + output("t"))) +
                             field(5, field(1, "else_branch") + field(6, node("Neg", {"x"}, {"e"}) + output("e")));
  const std::string body = field(1, "F") + field(10, "own") + field(4, "a") + field(5, "b") +
                           field(7, field(1, "a") + field(2, "b") + field(4, "Mish"));
  return model(node("Shape", {"x"}, {"s"}) + node("Reshape", {"x", "s"}, {"r"}) + node("If", {"c"}, {"i"}, branch) +
               node("Slice", {"r", "a", "b", "axes"}, {"l"}) + node("Add", {"l", "l"}, {"y"}) +
               field(1, field(1, "y") + field(2, "z") + field(4, "F") + field(7, "own")) + initializer("a", {0}) +
               initializer("b", {2}) + initializer("axes", {1}) + input("x", 1, dim("B") + dim(8)) + input("c", 9, "") +
               output("z") + output("i")) +
         field(25, body);
}

void expect_error_or_graph(const std::string& bytes) {
  const auto owner = std::make_shared<std::string>(bytes);
  const auto imported = import_bytes({*owner, owner});
  if (imported.ok()) {
    const Status good = verify(*imported->graph);
    ASSERT_TRUE(good.ok()) << good.error().message;
  }
}

TEST(OnnxFuzz, TheWholeModelIsGood) {
  const std::string bytes = whole_model();
  const auto owner = std::make_shared<std::string>(bytes);
  const auto imported = import_bytes({*owner, owner});
  ASSERT_TRUE(imported.ok()) << imported.error().message;
}

TEST(OnnxFuzz, EveryPrefixIsAnErrorOrAGraph) {
  const std::string bytes = whole_model();
  for (std::size_t size = 0; size < bytes.size(); ++size) expect_error_or_graph(bytes.substr(0, size));
}

TEST(OnnxFuzz, ChangedBytesAreAnErrorOrAGraph) {
  const std::string bytes = whole_model();
  const char* seconds = std::getenv("TILEWRIGHT_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds == nullptr ? 5 : std::atoi(seconds));
  std::mt19937_64 random(7);
  while (std::chrono::steady_clock::now() < end) {
    std::string damaged = bytes;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % damaged.size();
      const std::uint64_t kind = random() % 4;
      if (kind < 2)
        damaged[at] =
            static_cast<char>(kind == 0 ? random() : static_cast<std::uint64_t>(damaged[at]) ^ (1u << random() % 8));
      if (kind == 2) damaged.erase(at, 1 + random() % 4);
      if (kind == 3) damaged.insert(at, 1, static_cast<char>(random()));
      if (damaged.empty()) damaged = "x";
    }
    expect_error_or_graph(damaged);
  }
}

}  // namespace
}  // namespace tilewright::onnx
