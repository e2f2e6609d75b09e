// HOT: two passes over a block of scores that lies in L1 or L2: the largest, then the weights and their sum.
#include "tilewright/vm/cpu/level/attention_softmax.h"

#include "tilewright/vm/cpu/level/math_f32.h"
#include "tilewright/vm/cpu/level/matmul_vector.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr int kStep = kLanes<float>;

TW_INLINE float fold_sum(f32x v) {
  float lanes[kStep];
  store<float>(lanes, v);
#pragma GCC unroll 4
  for (int half = kStep / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
TW_INLINE float fold_max(f32x v) {
  float lanes[kStep];
  store<float>(lanes, v);
#pragma GCC unroll 4
  for (int half = kStep / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  }
  return lanes[0];
}

void scale_scores(float* scores, std::int64_t count, float scale, const float* bias) {
  for (std::int64_t i = 0; i < count; i += kStep) {
    const PartMask<float> part(count - i < kStep ? static_cast<int>(count - i) : kStep);
    const f32x add = bias == nullptr ? f32x{} : load_part<float>(bias + i, part);
    store<float>(scores + i, multiply_add<float>(load<float>(scores + i), f32(scale), add));
  }
}

}  // namespace

float softmax_step(float* scores, std::int64_t count, std::int64_t width, float scale, const float* bias,
                   SoftmaxRow& row) {
  constexpr float kInfinity = __builtin_inff();
  const std::int64_t padded = (count + kStep - 1) / kStep * kStep;
  if (bias != nullptr || !(scale > 0)) {
    scale_scores(scores, count, scale, bias);
    scale = 1;
  }
  for (std::int64_t i = count; i < padded; ++i) scores[i] = -kInfinity;
  f32x best = f32(-kInfinity), other = best;
  std::int64_t i = 0;
  for (; i + 2 * kStep <= padded; i += 2 * kStep) {
    best = max_or_second(load<float>(scores + i), best);
    other = max_or_second(load<float>(scores + i + kStep), other);
  }
  if (i < padded) best = max_or_second(load<float>(scores + i), best);
  const float block_largest = fold_max(max_or_second(other, best)) * scale;
  const float largest = block_largest > row.largest ? block_largest : row.largest;
  const float zero = largest == -kInfinity ? 0 : largest;  // nothing attended yet: the weights are e ** -inf = 0
  f32x sum{}, second{};
  const f32x factor = f32(scale), shift = f32(-zero);
  for (i = 0; i + 2 * kStep <= padded; i += 2 * kStep) {
    const f32x a = exp(multiply_add<float>(load<float>(scores + i), factor, shift));
    const f32x b = exp(multiply_add<float>(load<float>(scores + i + kStep), factor, shift));
    store<float>(scores + i, a);
    store<float>(scores + i + kStep, b);
    sum += a;
    second += b;
  }
  if (i < padded) {
    const f32x a = exp(multiply_add<float>(load<float>(scores + i), factor, shift));
    store<float>(scores + i, a);
    sum += a;
  }
  for (i = padded; i < width; ++i) scores[i] = 0;
  const float keep = row.largest == largest ? 1.0f : exp(f32(row.largest - zero))[0];
  row.largest = largest;
  row.sum = row.sum * keep + fold_sum(sum + second);
  return keep;
}

void scale_row(float* values, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; i += kStep) {
    const PartMask<float> part(count - i < kStep ? static_cast<int>(count - i) : kStep);
    store_part<float>(values + i, part, load_part<float>(values + i, part) * f32(factor));
  }
}

void divide_row(float* values, std::int64_t count, float sum) {
  const f32x divisor = f32(sum == 0 ? 1 : sum);
  for (std::int64_t i = 0; i < count; i += kStep) {
    const PartMask<float> part(count - i < kStep ? static_cast<int>(count - i) : kStep);
    store_part<float>(values + i, part, load_part<float>(values + i, part) / divisor);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
