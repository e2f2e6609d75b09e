// Graphs that come with fused areas, damaged: each is refused with a message, or means what the oracle says it means.
// Runs about two seconds; TILEWRIGHT_FUZZ_SEED starts elsewhere.
#include <chrono>
#include <cstdlib>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/oracle_testing.h"

namespace tilewright::runtime::testing {
namespace {

constexpr std::string_view kGraphs[] = {
    "x: f32[B, 24]\ny: f32[B, 24]\ng: f32[24]\na = add(x, y)\nb = layer_norm(a, g) num_axes=1 eps=0.01\nc = gelu(b)\n"
    "s = reduce_sum(c) axes=[1]\nreturn b, s\n",
    "x: f32[B, 24]\ny: f32[B, 24]\ng: f32[24]\na = mul(x, g)\np = softmax(a) axis=1\nq = mul(p, y)\nreturn q\n",
    "x: f32[B, 24]\ny: f32[B, 24]\ng: f32[24]\ne = exp(x)\ns = reduce_max(e) axes=[0]\nn = neg(s)\nm = sub(n, g)\n"
    "return m\n",
    "x: f32[B, 24]\ny: f32[B, 24]\ng: f32[24]\nt = transpose(y) perm=[1, 0]\nm = matmul(x, t)\nr = relu(m)\n"
    "u = matmul(r, y)\nv = add(u, g)\nw = silu(v)\nreturn w\n",
    "x: f32[B, 24]\ny: f32[B, 24]\ng: f32[24]\nc = gt(x, y)\nk = scalar() dtype=f32 value=3\nd = select(c, x, k)\n"
    "i = cast(d) dtype=i64\nj = iota() dtype=i64 shape=[B, 24] axis=0\nl = add(i, j)\nh = cast(l) dtype=f16\n"
    "return d, l, h\n",
};

constexpr std::string_view kOps[] = {
    "neg",    "exp",     "add",    "mul",    "max",     "reduce_sum", "reduce_max", "reduce_any",
    "matmul", "softmax", "cast",   "expand", "reshape", "transpose",  "nonzero",    "item",
    "iota",   "scalar",  "sort",   "gather", "select",  "layer_norm", "rms_norm",   "gelu",
    "lt",     "flip",    "concat", "cumsum", "fused",   "is_finite",  "bit_not",    "logical_not"};
constexpr std::string_view kKinds[] = {"map", "rows", "columns", "matmul", "nothing"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }

  std::string apply(std::string text) {
    for (std::size_t i = 0; i < 1 + below(3); ++i) {
      const std::size_t open = text.find('{');
      if (open == std::string::npos) return text;
      std::size_t at = open + below(text.size() - open);
      switch (below(6)) {
        case 0:  // an operator
          at = text.find("= ", at);
          if (at != std::string::npos) replace_word(text, at + 2, std::string(kOps[below(std::size(kOps))]));
          break;
        case 1:  // the kind
          at = text.find("kind=", below(text.size()));
          if (at != std::string::npos) replace_word(text, at + 5, std::string(kKinds[below(std::size(kKinds))]));
          break;
        case 2: {  // a name or number by another
          const std::string word = word_at(text, open + below(text.size() - open));
          replace_word(text, at, word);
          break;
        }
        case 3:  // a digit
          at = text.find_first_of("0123456789", at);
          if (at != std::string::npos) text[at] = static_cast<char>('0' + below(10));
          break;
        case 4: {  // a line goes
          const std::size_t begin = text.rfind('\n', at), end = text.find('\n', at);
          if (begin != std::string::npos && end != std::string::npos && begin < end) text.erase(begin, end - begin);
          break;
        }
        default: {  // or comes twice
          const std::size_t begin = text.rfind('\n', at), end = text.find('\n', at);
          if (begin != std::string::npos && end != std::string::npos && begin < end)
            text.insert(end, text.substr(begin, end - begin));
        }
      }
    }
    return text;
  }

 private:
  static std::string word_at(const std::string& text, std::size_t at) {
    while (at < text.size() && !is_word(text[at])) ++at;
    std::size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    while (at < text.size() && is_word(text[at])) ++at;
    return text.substr(begin, at - begin);
  }
  static void replace_word(std::string& text, std::size_t at, const std::string& by) {
    while (at < text.size() && !is_word(text[at])) ++at;
    while (at > 0 && is_word(text[at - 1])) --at;
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    text.replace(at, end - at, by);
  }
  std::mt19937_64 random_;
};

std::string fused_text(std::string_view text) {
  const auto graph = parse_or_die(text);
  TW_CHECK(passes::run_pipeline(*graph).ok(), "the pipeline runs");
  return print(*graph);
}

// Where both give a number, they agree; what jumps between them after damage (casts of other values) is left alone.
void expect_alike(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].dtype(), want[i].dtype());
    ASSERT_TRUE(
        std::equal(got[i].sizes().begin(), got[i].sizes().end(), want[i].sizes().begin(), want[i].sizes().end()));
    if (got[i].dtype() != DType::kF32) continue;
    for (std::int64_t k = 0; k < got[i].count(); ++k) {
      const double a = got[i].data_as<float>()[k], b = want[i].data_as<float>()[k];
      if (!std::isfinite(b) || std::abs(b) > 1e6) continue;
      ASSERT_NEAR(a, b, 1e-2 * std::max(1.0, std::abs(b))) << "result " << i << ", element " << k;
    }
  }
}

TEST(DamagedAreas, AreRefusedOrMeanWhatTheySay) {
  const char* given = std::getenv("TILEWRIGHT_FUZZ_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20260101;
  std::vector<std::string> corpus;
  for (const std::string_view text : kGraphs) corpus.push_back(fused_text(text));
  for (const std::string& text : corpus) ASSERT_NE(text.find("fused("), std::string::npos);
  Damage damage(seed);
  int parsed = 0, refused = 0, ran = 0;
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, {5, 24}, 1), random_tensor(DType::kF32, {5, 24}, 2),
                                   random_tensor(DType::kF32, {24}, 3)};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2000);
  while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure()) {
    const std::string text = damage.apply(corpus[damage.below(corpus.size())]);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << text);
    auto graph = parse_graph(text);
    if (!graph.ok()) {
      ++refused;
      continue;
    }
    ++parsed;
    if ((*graph)->inputs().size() != inputs.size()) continue;
    const auto want = eval(**graph, inputs);
    SessionOptions options;
    options.machine = machines()[damage.below(machines().size())].get();
    auto session = Session::compile((*graph)->clone(), options);
    if (!session.ok()) {
      EXPECT_NE(session.error().kind, ErrorKind::kInternal) << session.error().message;
      continue;
    }
    const auto got = (*session)->run(inputs);
    if (!got.ok()) {
      EXPECT_NE(got.error().kind, ErrorKind::kInternal) << got.error().message;
      continue;
    }
    if (!want.ok()) continue;  // the oracle checks what the plan need not
    ++ran;
    expect_alike(*got, *want);
  }
  EXPECT_GT(parsed, 20) << "seed " << seed;
  EXPECT_GT(refused, 20) << "seed " << seed;
  EXPECT_GT(ran, 10) << "seed " << seed;
}

}  // namespace
}  // namespace tilewright::runtime::testing
