// Damaged text: every mutation parses or is refused with a message; none crashes, hangs or takes memory that the text
// does not pay for.
#include "tilewright/base/fuzz_testing.h"
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

// A word or number of `text` at or after `from`: its place and length.
std::pair<std::size_t, std::size_t> word_at(std::string_view text, std::size_t from) {
  const auto in_word = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  while (from < text.size() && !in_word(from)) ++from;
  while (from > 0 && in_word(from - 1)) --from;
  std::size_t end = from;
  while (in_word(end)) ++end;
  return {from, end - from};
}

std::string mutate(std::string text, std::string_view other, testing::FuzzRun& run) {
  for (std::size_t i = 0; i < 1 + run.below(3); ++i) {
    const std::size_t at = run.below(text.size() + 1);
    const std::size_t length = std::min<std::size_t>(run.below(20), text.size() - at);
    switch (run.below(9)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kSnippets[run.below(std::size(kSnippets))]);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(run.below(256));
        break;
      case 4:
        text.insert(at, other.substr(run.below(other.size()), run.below(60)));
        break;
      default: {  // one word becomes another
        const auto [to, old_length] = word_at(text, at);
        const auto [from, new_length] = word_at(text, run.below(text.size() + 1));
        text.replace(to, old_length, text.substr(from, new_length));
      }
    }
  }
  return text;
}

std::vector<std::string> corpus() {
  std::vector<std::string> out;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) out.push_back(print(*RandomGraph(seed).make(8)));
  out.push_back(
      "x: f32[s0]\ny = while(x) {\n s: f32[n]\n c = constant() value=bool[]{0}\n return c\n} {\n s: f32[n]\n"
      " n = concat(s, s) axis=0\n return n\n}\nreturn y\n");
  return out;
}

TEST(TextFuzz, DamagedTextNeverCrashes) {
  const std::vector<std::string> texts = corpus();
  std::uint64_t parsed = 0;
  testing::FuzzRun run;
  while (run.next()) {
    const std::string& other = texts[run.below(texts.size())];
    std::string text = texts[run.below(texts.size())];
    for (std::uint64_t times = 1 + run.below(3); times > 0 && !text.empty(); --times) text = mutate(text, other, run);
    const Result<std::unique_ptr<Graph>> graph = parse_graph(text);
    if (!graph.ok()) {
      ASSERT_FALSE(graph.error().message.empty()) << text;
      continue;
    }
    ++parsed;
    const std::string once = print(**graph);
    const Result<std::unique_ptr<Graph>> again = parse_graph(once);
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << once << "\nfrom\n" << text;
    // Equalities may settle on another rule when they are set again; all else prints the same.
    if ((*graph)->facts.equalities().empty()) {
      ASSERT_EQ(print(**again), once) << text;
    }
  }
  EXPECT_GT(parsed, run.rounds() / 100);
}

}  // namespace
}  // namespace tilewright
