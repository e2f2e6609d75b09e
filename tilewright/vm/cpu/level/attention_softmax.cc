// HOT: two passes over a block of scores that lies in L1 or L2: the largest, then the weights and their sum.
#include "tilewright/vm/cpu/level/attention_softmax.h"

#include "tilewright/vm/cpu/level/math_f32.h"
#include "tilewright/vm/cpu/level/matmul_vector.h"
#include "tilewright/vm/cpu/level/row_phases.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr int kStep = kLanes<float>;

constexpr float kInfinity = __builtin_inff();

// The largest scores times the scale, which is positive.
float largest_of(const float* scores, std::int64_t count, float scale) {
  const std::int64_t whole = count / kStep * kStep;
  f32x best = f32(-kInfinity), other = best;
  std::int64_t i = 0;
  for (; i + 2 * kStep <= whole; i += 2 * kStep) {
    best = max_or_second(load<float>(scores + i), best);
    other = max_or_second(load<float>(scores + i + kStep), other);
  }
  if (i < whole) best = max_or_second(load<float>(scores + i), best);
  if (whole < count) other = max_or_second(FirstLanes(count - whole).load(scores + whole, f32(-kInfinity)), other);
  return max_lanes(max_or_second(other, best)) * scale;
}

// Scales the scores and adds the bias, if there is one; the largest of the results.
float scale_scores(float* scores, std::int64_t count, float scale, const float* bias) {
  const std::int64_t whole = count / kStep * kStep;
  const f32x factor = f32(scale);
  f32x best = f32(-kInfinity);
  for (std::int64_t i = 0; i < whole; i += kStep) {
    const f32x score =
        multiply_add<float>(load<float>(scores + i), factor, bias == nullptr ? f32x{} : load<float>(bias + i));
    store<float>(scores + i, score);
    best = max_or_second(score, best);
  }
  if (whole < count) {
    const PartMask<float> part(static_cast<int>(count - whole));
    const f32x add = bias == nullptr ? f32x{} : load_part<float>(bias + whole, part);
    store<float>(scores + whole, multiply_add<float>(load<float>(scores + whole), factor, add));
    best = max_or_second(FirstLanes(count - whole).load(scores + whole, f32(-kInfinity)), best);
  }
  return max_lanes(best);
}

}  // namespace

float softmax_step(float* scores, std::int64_t count, std::int64_t width, float scale, const float* bias,
                   SoftmaxRow& row) {
  float block_largest;
  if (bias != nullptr || !(scale > 0)) {
    block_largest = scale_scores(scores, count, scale, bias);
    scale = 1;
  } else {
    block_largest = largest_of(scores, count, scale);
  }
  // The last, partial vector is masked in registers: a wide load of what was stored in pieces waits for the stores.
  const std::int64_t whole = count / kStep * kStep, padded = (count + kStep - 1) / kStep * kStep;
  const FirstLanes last(count - whole);
  const float largest = block_largest > row.largest ? block_largest : row.largest;
  const float zero = largest == -kInfinity ? 0 : largest;  // nothing attended yet: the weights are e ** -inf = 0
  f32x sum{}, second{};
  const f32x factor = f32(scale), shift = f32(-zero);
  const auto weight = [&](f32x score) TW_LAMBDA { return exp_of_negative(multiply_add<float>(score, factor, shift)); };
  std::int64_t i = 0;
  for (; i + 2 * kStep <= whole; i += 2 * kStep) {
    const f32x a = weight(load<float>(scores + i));
    const f32x b = weight(load<float>(scores + i + kStep));
    store<float>(scores + i, a);
    store<float>(scores + i + kStep, b);
    sum += a;
    second += b;
  }
  if (i < whole) {
    const f32x a = weight(load<float>(scores + i));
    store<float>(scores + i, a);
    sum += a;
  }
  if (whole < count) {
    const f32x a = weight(last.load(scores + whole, f32(-kInfinity)));
    store<float>(scores + whole, a);
    second += a;
  }
  for (i = padded; i < width; ++i) scores[i] = 0;
  float keep = 0;  // nothing was seen before
  if (row.largest == largest)
    keep = 1;
  else if (row.largest > -kInfinity)
    keep = exp(f32(row.largest - zero))[0];
  row.largest = largest;
  row.sum = row.sum * keep + sum_lanes(sum + second);
  return keep;
}

void scale_row(float* values, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; i += kStep) {
    const PartMask<float> part(count - i < kStep ? static_cast<int>(count - i) : kStep);
    store_part<float>(values + i, part, load_part<float>(values + i, part) * f32(factor));
  }
}

void divide_row(float* values, std::int64_t count, float sum) {
  const f32x divisor = f32(sum);
  for (std::int64_t i = 0; i < count; i += kStep) {
    const PartMask<float> part(count - i < kStep ? static_cast<int>(count - i) : kStep);
    store_part<float>(values + i, part, load_part<float>(values + i, part) / divisor);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
