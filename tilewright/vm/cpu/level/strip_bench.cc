// Time of strip programs, softmax and layer norm over the time of loops fused by hand with the same functions
// (AVX-512). Both run in turn in one process and the low quantile of their thread CPU times is compared, so that other
// load on the machine cancels. Chains A and B are those of the design study: A = gelu(1.5x + .25) + r, B = eight cheap
// operations.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tilewright/isa/strip_facts.h"
#include "tilewright/vm/cpu/levels.h"

#if defined(__x86_64__)
namespace tilewright::vm::cpu {
namespace {

// As the compiler writes it: neighbours that make a pair are one instruction.
std::vector<isa::Word> in_pairs(const std::vector<isa::Word>& code) {
  std::vector<isa::Word> joined;
  for (const isa::Word word : code) {
    const isa::Word pair = joined.empty() ? 0 : isa::join_pair(joined.back(), word);
    if (pair != 0)
      joined.back() = pair;
    else
      joined.push_back(word);
  }
  return joined;
}

}  // namespace
}  // namespace tilewright::vm::cpu

#include <immintrin.h>
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 warns about its own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define TW_LEVEL avx512
#define TW_LEVEL_AVX512 1
#include "tilewright/vm/cpu/level/math_f32.h"

namespace tilewright::vm::cpu {
namespace {

using avx512::f32x;
using isa::Lane;
using isa::StripOp;
using isa::Word;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Two functions in turn; their times at the 10 % quantile, in ns per element.
template <typename Fused, typename Ours>
void compare(benchmark::State& state, std::int64_t elements, Fused fused, Ours ours) {
  std::vector<double> fused_ns, our_ns;
  const std::int64_t repeats = std::max<std::int64_t>(1, 400'000 / elements);
  for (auto _ : state) {
    const double start = cpu_ns();
    for (std::int64_t i = 0; i < repeats; ++i) fused();
    const double middle = cpu_ns();
    for (std::int64_t i = 0; i < repeats; ++i) ours();
    const double end = cpu_ns();
    fused_ns.push_back(middle - start), our_ns.push_back(end - middle);
  }
  const auto quantile = [&](std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 10] / static_cast<double>(repeats * elements);
  };
  const double base = quantile(fused_ns), own = quantile(our_ns);
  state.counters["fused_ns"] = base;
  state.counters["own_ns"] = own;
  state.counters["own_over_fused"] = own / base;
}

struct Arrays {
  explicit Arrays(std::int64_t count) : x(padded(count)), r(padded(count)), y(padded(count)) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = std::sin(static_cast<float>(i)) * 2;
      r[i] = std::cos(static_cast<float>(i));
    }
  }
  static std::size_t padded(std::int64_t count) { return static_cast<std::size_t>(count) + 64; }
  static float* align(std::vector<float>& v) {
    return v.data() + (64 - reinterpret_cast<std::uintptr_t>(v.data()) % 64) % 64 / 4;
  }
  std::vector<float> x, r, y;
};

Word op(StripOp what, int form = 0, std::uint16_t a = 0) {
  return isa::strip_word(what, Lane::kF32, form, a);
}

// One map instruction over n elements: streams x, r, y and literals from number 3 on.
std::vector<Word> map_instruction(std::int64_t n, const std::vector<float>& literals, const std::vector<Word>& code) {
  std::vector<Word> words{0, 1, static_cast<Word>(n), 1, static_cast<Word>(n)};
  for (std::uint32_t buffer = 0; buffer < 3; ++buffer) {
    words.insert(words.end(), {isa::StreamHead::pack(isa::Space::kBuffer, DType::kF32, buffer), 0, 4});
  }
  for (const float literal : literals) {
    Word bits = 0;
    std::memcpy(&bits, &literal, sizeof literal);
    words.insert(words.end(), {isa::StreamHead::pack(isa::Space::kLiteral, DType::kF32), bits, 0});
  }
  words.insert(words.end(), {Word{code.size()} << 16, 0});
  words.insert(words.end(), code.begin(), code.end());
  words[0] = isa::inst_head(isa::Opcode::kMap, static_cast<std::uint32_t>(words.size()), 0,
                            static_cast<int>(3 + literals.size()));
  return words;
}

// Runs instructions on the AVX-512 level in this thread.
struct Runner {
  std::vector<Word> words;
  std::vector<std::byte*> buffers;
  TaskContext context;
  TaskHandler handler;
  Runner(std::vector<Word> code, std::vector<float*> memory) : words(std::move(code)) {
    for (float* each : memory) buffers.push_back(reinterpret_cast<std::byte*>(each));
    context = {buffers.data(), nullptr, nullptr, nullptr, nullptr};
    handler = avx512::level_table().handlers[words[0] & 0xffff];
  }
  void operator()() const { handler(isa::Inst(words.data()), context, 0); }
};

__attribute__((noinline)) void fused_a(const float* x, const float* r, float* y, std::int64_t n) {
  using namespace avx512;
  for (std::int64_t i = 0; i < n; i += 32) {
    for (std::int64_t k = i; k < i + 32; k += 16) {
      const f32x u = gelu(load<float>(x + k) * f32(1.5f) + f32(0.25f));
      store<float>(y + k, u + load<float>(r + k));
    }
  }
}

__attribute__((noinline)) void fused_b(const float* x, const float* r, float* y, std::int64_t n) {
  using namespace avx512;
  for (std::int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 4
    for (int k = 0; k < 64; k += 16) {
      const f32x other = load<float>(r + i + k);
      f32x v = load<float>(x + i + k) * f32(1.5f) + f32(0.25f);
      v = max_or_second(f32x{}, v);
      v = v * other - f32(0.75f);
      v = max_or_second(v, f32(-1.0f));
      v = min_or_second(v, f32(1.0f));
      store<float>(y + i + k, v + other);
    }
  }
}

template <typename Fused>
void chain(benchmark::State& state, Fused fused, const std::vector<float>& literals, const std::vector<Word>& code) {
  if (!__builtin_cpu_supports("avx512dq")) return state.SkipWithError("needs AVX-512");
  const std::int64_t n = state.range(0);
  Arrays arrays(n);
  float *x = Arrays::align(arrays.x), *r = Arrays::align(arrays.r), *y = Arrays::align(arrays.y);
  compare(
      state, n, [&] { fused(x, r, y, n); }, Runner(map_instruction(n, literals, in_pairs(code)), {x, r, y}));
}
void chain_a(benchmark::State& state) {
  chain(state, fused_a, {1.5f, 0.25f},
        {op(StripOp::kLoadF32, 0, 0), op(StripOp::kMul, 1, 3), op(StripOp::kAdd, 1, 4), op(StripOp::kGelu),
         op(StripOp::kAdd, 0, 1), op(StripOp::kStoreF32, 0, 2), op(StripOp::kEnd)});
}
void chain_b(benchmark::State& state) {
  chain(state, fused_b, {1.5f, 0.25f, 0.75f, -1.0f, 1.0f},
        {op(StripOp::kLoadF32, 0, 0), isa::strip_word(StripOp::kFma, Lane::kF32, isa::kOneOne, 3, 4),
         op(StripOp::kRelu), op(StripOp::kMul, 0, 1), op(StripOp::kSub, 1, 5), op(StripOp::kMax, 1, 6),
         op(StripOp::kMin, 1, 7), op(StripOp::kAdd, 0, 1), op(StripOp::kStoreF32, 0, 2), op(StripOp::kEnd)});
}

// ---- Rows
// -------------------------------------------------------------------------------------------------------------
__mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1u << count) - 1);
}

__attribute__((noinline)) void fused_softmax(const float* x, float* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    std::int64_t i = 0;
    const std::int64_t whole = n / 16 * 16;
    const __mmask16 last = first_lanes(n - whole);
    __m512 peak = _mm512_set1_ps(-INFINITY);
    for (i = 0; i < whole; i += 16) peak = _mm512_max_ps(peak, _mm512_loadu_ps(x + i));
    peak = _mm512_mask_max_ps(peak, last, peak, _mm512_maskz_loadu_ps(last, x + i));
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(peak));
    __m512 sum = _mm512_setzero_ps();
    for (i = 0; i < whole; i += 16) {
      const __m512 e = avx512::exp_of_negative(_mm512_sub_ps(_mm512_loadu_ps(x + i), top));
      sum = _mm512_add_ps(sum, e);
      _mm512_storeu_ps(y + i, e);
    }
    const __m512 e = avx512::exp_of_negative(_mm512_sub_ps(_mm512_mask_loadu_ps(top, last, x + i), top));
    sum = _mm512_mask_add_ps(sum, last, sum, e);
    _mm512_mask_storeu_ps(y + i, last, e);
    const __m512 factor = _mm512_set1_ps(1.0f / _mm512_reduce_add_ps(sum));
    for (i = 0; i < whole; i += 16) _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_loadu_ps(y + i), factor));
    _mm512_mask_storeu_ps(y + i, last, _mm512_mul_ps(_mm512_maskz_loadu_ps(last, y + i), factor));
  }
}

__attribute__((noinline)) void fused_layer_norm(const float* x, const float* w, const float* b, float* y,
                                                std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const std::int64_t whole = n / 16 * 16;
    const __mmask16 last = first_lanes(n - whole);
    __m512 sum = _mm512_maskz_loadu_ps(last, x + whole);
    for (std::int64_t i = 0; i < whole; i += 16) sum = _mm512_add_ps(sum, _mm512_loadu_ps(x + i));
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / static_cast<float>(n));
    const __m512 rest = _mm512_maskz_sub_ps(last, _mm512_maskz_loadu_ps(last, x + whole), mean);
    __m512 squares = _mm512_mul_ps(rest, rest);
    for (std::int64_t i = 0; i < whole; i += 16) {
      const __m512 d = _mm512_sub_ps(_mm512_loadu_ps(x + i), mean);
      squares = _mm512_fmadd_ps(d, d, squares);
    }
    const __m512 scale =
        _mm512_set1_ps(1.0f / std::sqrt(_mm512_reduce_add_ps(squares) / static_cast<float>(n) + 1e-5f));
    for (std::int64_t i = 0; i < whole; i += 16) {
      const __m512 d = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(x + i), mean), scale);
      _mm512_storeu_ps(y + i, _mm512_fmadd_ps(d, _mm512_loadu_ps(w + i), _mm512_loadu_ps(b + i)));
    }
    const __m512 d = _mm512_mul_ps(rest, scale);
    _mm512_mask_storeu_ps(
        y + whole, last,
        _mm512_fmadd_ps(d, _mm512_maskz_loadu_ps(last, w + whole), _mm512_maskz_loadu_ps(last, b + whole)));
  }
}

// One rows instruction of one native phase: streams from, to, weight, bias, eps.
std::vector<Word> native_instruction(isa::PhaseOp phase, std::int64_t rows, std::int64_t n) {
  std::vector<Word> words{0, 1, static_cast<Word>(n), static_cast<Word>(rows), static_cast<Word>(rows)};
  const auto stream = [&words](isa::Space space, std::uint32_t buffer, Word offset, std::int64_t inner,
                               std::int64_t row) {
    words.push_back(isa::StreamHead::pack(space, DType::kF32, buffer));
    words.push_back(offset);
    words.push_back(static_cast<Word>(inner)), words.push_back(static_cast<Word>(row));
  };
  stream(isa::Space::kBuffer, 0, 0, 4, n * 4), stream(isa::Space::kBuffer, 3, 0, 4, n * 4);
  stream(isa::Space::kBuffer, 1, 0, 4, 0), stream(isa::Space::kBuffer, 2, 0, 4, 0);
  stream(isa::Space::kLiteral, 0, 0x3727c5ac, 0, 0);  // 1e-5
  words.push_back(Word{static_cast<std::uint16_t>(phase)} | Word{1} << 48);
  words.push_back(Word{2} | Word{3} << 16 | Word{4} << 32);
  words[0] = isa::inst_head(isa::Opcode::kRows, static_cast<std::uint32_t>(words.size()), 1, 5);
  return words;
}

template <isa::PhaseOp phase>
void rows_bench(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx512dq")) return state.SkipWithError("needs AVX-512");
  const std::int64_t n = state.range(0), rows = std::max<std::int64_t>(1, 65536 / n);
  Arrays arrays(rows * n), affine(n);
  const std::vector<Word> words = native_instruction(phase, rows, n);
  float *x = Arrays::align(arrays.x), *y = Arrays::align(arrays.y), *w = Arrays::align(affine.x),
        *b = Arrays::align(affine.r);
  compare(
      state, rows * n,
      [&] {
        if (phase == isa::PhaseOp::kSoftmax)
          fused_softmax(x, y, rows, n);
        else
          fused_layer_norm(x, w, b, y, rows, n);
      },
      Runner(words, {x, w, b, y}));
}

BENCHMARK(chain_a)->Arg(2 << 10)->Arg(32 << 10)->Arg(512 << 10)->Arg(8 << 20)->Iterations(60);
BENCHMARK(chain_b)->Arg(2 << 10)->Arg(32 << 10)->Arg(512 << 10)->Arg(8 << 20)->Iterations(60);
BENCHMARK(rows_bench<isa::PhaseOp::kSoftmax>)
    ->Arg(17)
    ->Arg(100)
    ->Arg(384)
    ->Arg(768)
    ->Arg(1023)
    ->Arg(2048)
    ->Arg(5003)
    ->Iterations(100);
BENCHMARK(rows_bench<isa::PhaseOp::kLayerNorm>)
    ->Arg(17)
    ->Arg(100)
    ->Arg(384)
    ->Arg(768)
    ->Arg(1023)
    ->Arg(2048)
    ->Arg(5003)
    ->Iterations(100);

}  // namespace
}  // namespace tilewright::vm::cpu
#pragma GCC pop_options
#endif
