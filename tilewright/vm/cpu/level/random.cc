// The random instruction: tensor/philox.h has the definition; this is it without code that other levels share. Four
// words of the stream come out of one block. HOT: no allocation; normal numbers call the mathematical library in
// double.
#include <math.h>

#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

struct Words {
  std::uint64_t seed, offset;
  std::uint64_t block = ~std::uint64_t{0};  // which one `words` holds
  std::uint32_t words[4] = {};

  std::uint32_t word(std::uint64_t j) {
    if (j / 4 != block) fill(j / 4);
    return words[j % 4];
  }
  std::uint64_t wide(std::uint64_t i) {
    const std::uint64_t low = word(2 * i);
    return low | static_cast<std::uint64_t>(word(2 * i + 1)) << 32;
  }
  void fill(std::uint64_t index) {
    block = index;
    const std::uint64_t counter = offset + index;
    std::uint32_t c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32), c2 = 0,
                  c3 = 0;
    std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c0, b = std::uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
      c1 = static_cast<std::uint32_t>(b);
      c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
      c3 = static_cast<std::uint32_t>(a);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
  }
};

float narrow_uniform(DType dtype, std::uint32_t bits) {
  if (dtype == DType::kF16) return static_cast<float>(bits >> 21) * 0x1p-11f;
  if (dtype == DType::kBF16) return static_cast<float>(bits >> 24) * 0x1p-8f;
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
double wide_uniform(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Element i and its neighbour make a pair, of which the even one has the cosine.
double normal(double u, double v, bool odd) {
  const double radius = ::sqrt(-2 * ::log(u)), angle = 2 * 3.141592653589793238 * v;
  return radius * (odd ? ::sin(angle) : ::cos(angle));
}

double normal_at(Words& words, std::uint64_t i, bool wide) {
  const std::uint64_t even = i & ~std::uint64_t{1};
  if (wide) {
    const double u = wide_uniform(words.wide(even)) + 0x1p-53;
    return normal(u, wide_uniform(words.wide(even + 1)), (i & 1) != 0);
  }
  const double u = static_cast<double>(narrow_uniform(DType::kF32, words.word(even)) + 0x1p-24f);
  return normal(u, static_cast<double>(narrow_uniform(DType::kF32, words.word(even + 1))), (i & 1) != 0);
}

constexpr std::int64_t kChunk = 256;

template <typename T, typename Element>
void fill(const Line& to, std::int64_t begin, std::int64_t end, Element element) {
  T buffer[kChunk];
  for (std::int64_t first = begin; first < end; first += kChunk) {
    const std::int64_t now = isa::least(kChunk, end - first);
    T* target = target_line<T>(to.from(first), buffer);
    for (std::int64_t i = 0; i < now; ++i) target[i] = static_cast<T>(element(static_cast<std::uint64_t>(first + i)));
    finish_line<T>(to.from(first), now, target);
  }
}

}  // namespace

void exec_Random(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& f = inst.fields<isa::RandomFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, f), number);
  const Rows key = rows_of<isa::RandomFields>(inst, 0, context, task),
             to = rows_of<isa::RandomFields>(inst, 1, context, task);
  Words words{};
  __builtin_memcpy(&words.seed, key.line.first, 8);
  __builtin_memcpy(&words.offset, key.line.first + key.line.stride, 8);
  words.block = ~std::uint64_t{0};
  const DType dtype = to.line.dtype;
  const bool wide = byte_size(dtype) == 8;
  const std::int64_t begin = task.inner_begin, end = task.inner_end;
  if (f.distribution == 2) {
    return fill<std::int64_t>(to.line, begin, end,
                              [&](std::uint64_t i) { return wide ? words.wide(i) : words.word(i); });
  }
  if (f.distribution == 1) {
    if (wide) return fill<double>(to.line, begin, end, [&](std::uint64_t i) { return normal_at(words, i, true); });
    return fill<float>(to.line, begin, end, [&](std::uint64_t i) { return normal_at(words, i, false); });
  }
  if (wide) return fill<double>(to.line, begin, end, [&](std::uint64_t i) { return wide_uniform(words.wide(i)); });
  fill<float>(to.line, begin, end, [&](std::uint64_t i) { return narrow_uniform(dtype, words.word(i)); });
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
