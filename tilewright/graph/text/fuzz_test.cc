// Damaged text: every mutation parses or is refused with a message; none crashes, hangs or takes memory that the text
// does not pay for. Runs about two seconds; set TILEWRIGHT_FUZZ_SEED to start elsewhere.
#include <chrono>
#include <cstdlib>

#include "tilewright/graph/testing.h"
#include "tilewright/graph/text/random_graph.h"

namespace tilewright {
namespace {

constexpr std::string_view kSnippets[] = {"{",
                                          "}",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          ",",
                                          "=",
                                          ":",
                                          "\"",
                                          "\\",
                                          "#",
                                          "\n",
                                          "%",
                                          "0x",
                                          "-",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "1e999",
                                          "nan",
                                          "return",
                                          "fact s0 == 2*s0 + 1\n",
                                          "fact n % 7 == 0\n",
                                          "capture a = x\n",
                                          " as ",
                                          "weight ",
                                          "scalar %f9\n",
                                          "//0",
                                          "% 0",
                                          "f32[n, 0]",
                                          "min(s0, n)",
                                          "broadcast(s0, n)",
                                          "select(s0, 1, n)",
                                          "y = call(x) {",
                                          "shl(1, 99)",
                                          "pow(n, 99)",
                                          "u0",
                                          "x",
                                          "dtype=bool",
                                          "axis=-1",
                                          "\xff",
                                          "sqrt(2)"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text, std::string_view other) {
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
      const std::size_t at = below(text.size() + 1);
      const std::size_t length = std::min(below(20), text.size() - at);
      switch (below(5)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, kSnippets[below(std::size(kSnippets))]);
          break;
        case 2:
          text.insert(at, text.substr(at, length));
          break;
        case 3:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
          break;
        default: {
          const std::size_t from = below(other.size());
          text.insert(at, other.substr(from, below(60)));
        }
      }
    }
    return text;
  }

  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }

 private:
  std::mt19937_64 random_;
};

TEST(TextFuzz, DamagedTextNeverCrashes) {
  const char* given = std::getenv("TILEWRIGHT_FUZZ_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20260101;
  RecordProperty("seed", std::to_string(seed));
  std::vector<std::string> corpus;
  for (std::uint64_t i = 0; i < 20; ++i) corpus.push_back(print(*RandomGraph(seed + i).make(8)));
  corpus.push_back(
      "x: f32[s0]\ny = while(x) {\n s: f32[n]\n c = constant() value=bool[]{0}\n return c\n} {\n s: f32[n]\n"
      " n = concat(s, s) axis=0\n return n\n}\nreturn y\n");
  Mutator mutator(seed);
  int parsed = 0, refused = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end) {
    const std::string& other = corpus[mutator.below(corpus.size())];
    const std::string text = mutator.mutate(corpus[mutator.below(corpus.size())], other);
    const Result<std::unique_ptr<Graph>> graph = parse_graph(text);
    if (!graph.ok()) {
      EXPECT_FALSE(graph.error().message.empty()) << "seed " << seed;
      ++refused;
      continue;
    }
    ++parsed;
    const std::string once = print(**graph);
    const Result<std::unique_ptr<Graph>> again = parse_graph(once);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().message << "\n" << once << "\nfrom\n" << text;
    // Equalities may settle on another rule when they are set again; all else prints the same.
    if ((*graph)->facts.equalities().empty()) {
      ASSERT_EQ(print(**again), once) << "seed " << seed << "\n" << text;
    }
    if (corpus.size() < 200) corpus.push_back(text);
  }
  EXPECT_GT(parsed, 50) << "seed " << seed;
  EXPECT_GT(refused, 50) << "seed " << seed;
}

}  // namespace
}  // namespace tilewright
