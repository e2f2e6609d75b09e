// Elementary functions of f32 vectors, accurate to 3 ulp over the whole range with inf, nan, denormals and signed
// zeros. AVX-512 looks coefficients up in registers (math_tables.h), 16 or 32 intervals; other levels use one
// polynomial or two. No divides on AVX-512. Coefficients are least-maximum fits of the relative error
// (tools/fit_vector_math.py).
#pragma once

#include "tilewright/vm/cpu/level/math_tables.h"
#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// c[0] + x * (c[1] + x * (c[2] + ..))
template <typename... Rest>
TW_INLINE f32x polynomial(f32x x, float c, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    (void)x;
    return f32(c);
  } else {
    return fma(x, polynomial(x, rest...), f32(c));
  }
}

inline constexpr float kMagic = 0x1.8p23f;  // adding it leaves an integer in the low bits of the sum
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e430p-1f, kLn2Low = -0x1.05c610p-29f;

TW_INLINE f32x clamp(f32x x, float low, float high) {  // nan stays
  return max_or_second(f32(low), min_or_second(f32(high), x));
}

#if defined(TW_LEVEL_AVX512)

TW_INLINE f32x look_up16(const float* table, i32x index) {
  return _mm512_permutexvar_ps((__m512i)index, _mm512_load_ps(table));
}
TW_INLINE f32x look_up32(const float* table, i32x index) {
  return _mm512_permutex2var_ps(_mm512_load_ps(table), (__m512i)index, _mm512_load_ps(table + 16));
}
TW_INLINE f32x scale(f32x x, f32x exponent) {
  return _mm512_scalef_ps(x, exponent);
}  // x * 2 ** floor(exponent)

// power * (1 + rest) * 2 ** floor(exponent)
struct Exponential {
  f32x power, rest, exponent;
  TW_INLINE f32x value() const { return scale(fma(power, rest, power), exponent); }
  TW_INLINE f32x times(f32x factor) const {
    const f32x product = power * factor;
    return scale(fma(product, rest, product), exponent);
  }
};
// e ** x * 2 ** bias for -40000 <= x <= 40000; others have to be clamped
template <int bias = 0>
TW_INLINE Exponential exponential(f32x x) {
  const f32x shifted = fma(x, f32(16 * kLog2E), f32(kMagic));
  const f32x n = shifted - f32(kMagic);
  const f32x r = fnma(n, f32(kLn2Low / 16), fnma(n, f32(kLn2High / 16), x));
  const f32x rest = fma(r * r, polynomial(r, 0x1.00022ap-1f, 0x1.555642p-3f), r);
  return {look_up16(kExp2Sixteenths, (i32x)shifted), rest, fma(n, f32(0.0625f), f32(bias))};
}
// 2 ** (x + low) * 2 ** bias
template <int bias = 0>
TW_INLINE f32x exp2(f32x x, f32x low) {
  x = clamp(x, -200.0f, 140.0f);
  const f32x shifted = fma(x, f32(16.0f), f32(kMagic));
  const f32x n = shifted - f32(kMagic);
  const f32x r = fma(n, f32(-0.0625f), x) + low;
  const f32x power = look_up16(kExp2Sixteenths, (i32x)shifted);
  const f32x tail = r * polynomial(r, 0x1.62e430p-1f, 0x1.ec0008p-3f, 0x1.c6ad0ap-5f);
  return scale(fma(power, tail, power), fma(n, f32(0.0625f), f32(bias)));
}

// x = m * 2 ** e, m in [0.75, 1.5); e of 0 is -inf, of inf +inf; m of a negative number is nan.
struct Parts {
  f32x mantissa, exponent;
};
TW_INLINE Parts split(f32x x) {
  const f32x m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  return {m, (f32x)_mm512_getexp_ps(x) - (f32x)_mm512_getexp_ps(m)};
}
TW_INLINE f32x finish_log(f32x y, f32x) {
  return y;
}

// 1 / (1 + e) for 0 <= e <= 1; the rounding of 1 + e is taken back in the Newton step.
TW_INLINE f32x inverse_of_one_plus(f32x e) {
  const f32x d = e + f32(1.0f);
  const f32x guess = _mm512_rcp14_ps(d);
  const f32x rest = fnma(e - (d - f32(1.0f)), guess, fnma(d, guess, f32(1.0f)));
  return fma(guess, rest, guess);
}

// The place of 0 <= a < 32 in the tables.
TW_INLINE i32x interval(f32x a) {
  return (i32x)_mm512_srli_epi32((__m512i)max_or_second(f32(0.109375f), a), 21);
}
#define TW_TABLE_FUNCTION(Name, a)                                                          \
  const i32x index = interval(a);                                                           \
  const f32x t = a - look_up32(k##Name##Center, index);                                     \
  f32x y = fma(t, look_up32(k##Name##5, index), look_up32(k##Name##4, index));              \
  y = fma(t, y, look_up32(k##Name##3, index)), y = fma(t, y, look_up32(k##Name##2, index)); \
  y = fma(t, y, look_up32(k##Name##1, index)), y = fma(t, y, look_up32(k##Name##0, index));

TW_INLINE f32x tanh(f32x x) {
  const f32x a = min_or_second(f32(16.0f), abs(x));
  TW_TABLE_FUNCTION(Tanh, a)
  return (f32x)((i32x)y | sign_bit(x));
}
TW_INLINE f32x erf(f32x x) {
  const f32x a = min_or_second(f32(16.0f), abs(x));
  TW_TABLE_FUNCTION(Erf, a)
  return (f32x)((i32x)y | sign_bit(x));
}

// a * Phi(-a) * 2 ** bias for 0 <= a <= 16.5: a slow function, from a table, times e ** (-a * a / 2), whose reduction
// works on a * a and what the square's rounding left out.
template <int bias>
TW_INLINE f32x gelu_tail(f32x a) {
  TW_TABLE_FUNCTION(GeluTail, a)
  const f32x square = a * a;
  const f32x shifted = fma(square, f32(-8 * kLog2E), f32(kMagic));
  const f32x n = shifted - f32(kMagic);
  const f32x r = fma(n, f32(kLn2High / 8), square) + fma(n, f32(kLn2Low / 8), fms(a, a, square));
  const f32x rest = r * polynomial(r, -0.5f, 0x1.00022ap-3f, -0x1.55574ep-6f);  // e ** (-r / 2) - 1
  return Exponential{look_up16(kExp2Sixteenths, (i32x)shifted), rest, fma(n, f32(0.0625f), f32(bias))}.times(y);
}
TW_INLINE f32x nan_where_minus_inf(f32x y, f32x x) {
  return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(0x00030000), 0);
}
#undef TW_TABLE_FUNCTION

#else

// p * 2 ** n in two steps, so that neither factor leaves the range of f32.
TW_INLINE f32x scale_by_integer(f32x p, i32x n) {
  const i32x half = n >> 1;
  return p * (f32x)((half + i32(127)) << 23) * (f32x)((n - half + i32(127)) << 23);
}
// (1 + rest) * 2 ** exponent
struct Exponential {
  f32x rest;
  i32x exponent;
  TW_INLINE f32x value() const { return scale_by_integer(f32(1.0f) + rest, exponent); }
  TW_INLINE f32x times(f32x factor) const { return scale_by_integer(fma(factor, rest, factor), exponent); }
};
// e ** (x + low) * 2 ** bias for -150 <= x <= 100; others have to be clamped
template <int bias = 0>
TW_INLINE Exponential exponential(f32x x, f32x low) {
  const f32x shifted = fma(x, f32(kLog2E), f32(kMagic));
  const f32x n = shifted - f32(kMagic);
  const f32x r = fnma(n, f32(kLn2Low), fnma(n, f32(kLn2High), x)) + low;
  const f32x tail = polynomial(r, 0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.5558bcp-5f, 0x1.123b5ap-7f, 0x1.6a4440p-10f);
  return {fma(r * r, tail, r), (i32x)shifted - ((i32x)f32(kMagic) - i32(bias))};
}
template <int bias = 0>
TW_INLINE Exponential exponential(f32x x) {
  return exponential<bias>(x, f32(-0.0f));
}  // adding -0 changes nothing
// 2 ** (x + low) * 2 ** bias
template <int bias = 0>
TW_INLINE f32x exp2(f32x x, f32x low) {
  x = clamp(x, -200.0f, 140.0f);
  const f32x shifted = x + f32(kMagic);
  const f32x n = shifted - f32(kMagic);
  const f32x r = (x - n) + low;
  const f32x p = polynomial(r, 1.0f, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6af76p-5f, 0x1.3b2ddep-7f, 0x1.5f0c8ep-10f,
                            0x1.417298p-13f);
  return scale_by_integer(p, (i32x)shifted - ((i32x)f32(kMagic) - i32(bias)));
}

struct Parts {
  f32x mantissa, exponent;
};
TW_INLINE Parts split(f32x x) {
  const i32x tiny = (i32x)(x < f32(0x1p-126f));
  const u32x bits = (u32x)select(tiny, x * f32(0x1p24f), x);
  const i32x e = (i32x)(bits - (u32x)i32(0x3f400000)) >> 23;
  return {(f32x)(bits - ((u32x)e << 23)), to_f32(e - (tiny & i32(24)))};
}
TW_INLINE f32x finish_log(f32x y, f32x x) {  // log of 0, inf, nan and negative numbers
  const f32x infinity = f32(__builtin_inff());
  y = select((i32x)(x < infinity), y, x);
  return select((i32x)(x > f32x{}), y, select((i32x)(x == f32x{}), -infinity, f32(__builtin_nanf(""))));
}

// 1 / (a + b) for a <= b; the rounding of the sum and of the quotient are taken back.
TW_INLINE f32x inverse_of_sum(f32x a, f32x b) {
  const f32x d = a + b;
  const f32x inverse = f32(1.0f) / d;
  return fma(inverse, fnma(a - (d - b), inverse, fnma(d, inverse, f32(1.0f))), inverse);
}
TW_INLINE f32x inverse_of_one_plus(f32x e) {
  return inverse_of_sum(e, f32(1.0f));
}

TW_INLINE f32x tanh(f32x x) {
  const f32x a = abs(x);
  const f32x s = x * x;
  const f32x small =
      fma(x * s, polynomial(s, -0x1.555534p-2f, 0x1.110758p-3f, -0x1.b84184p-5f, 0x1.5241f8p-6f, -0x1.7644e0p-8f), x);
  const f32x e = exponential(min_or_second(f32(20.0f), a) * f32(2.0f)).value();
  const f32x large = f32(1.0f) - f32(2.0f) / (e + f32(1.0f));
  return select((i32x)(a < f32(0.625f)), small, (f32x)((i32x)large | sign_bit(x)));
}
// erfc(a / sqrt 2) * exp(a * a / 2) / 2 for 0 <= a <= 16.5; the exact value is e ** rest times the result.
TW_INLINE f32x normal_tail(f32x a, f32x& rest) {
  constexpr float kPole = 2.34375f;  // in t = 1 / (a + pole) the function is nearly straight, and c0 is nearly an f32
  const f32x d = a + f32(kPole);
  const f32x t = f32(1.0f) / d;
  const f32x sum_rest = min_or_second(a, f32(kPole)) - (d - max_or_second(a, f32(kPole)));
  rest = fnma(sum_rest, t, fnma(d, t, f32(1.0f)));  // what rounding took from t
  const f32x ratio = (a - f32(kPole)) * t;
  const f32x q = fma(ratio, rest, ratio);
  return t * polynomial(q, 0x1.652300p-1f, -0x1.9eaf7cp-2f, 0x1.982a18p-4f, 0x1.663ee8p-6f, -0x1.b5d6a2p-7f,
                        -0x1.1da026p-8f, 0x1.b061dap-10f, 0x1.3f379cp-10f, 0x1.48c0b0p-19f, -0x1.e045bcp-13f,
                        -0x1.1b6178p-14f);
}
TW_INLINE f32x erf(f32x x) {
  const f32x a = min_or_second(f32(4.0f), abs(x));
  const f32x s = a * a;
  const f32x small = fma(x,
                         polynomial(s, 0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d6ap-4f, -0x1.b8028ep-6f, 0x1.54676ep-8f,
                                    -0x1.a80ce2p-11f, 0x1.5f5276p-14f, -0x1.74534ep-20f),
                         x);
  f32x rest;
  const f32x slow = normal_tail(a * f32(1.41421356f), rest);
  const f32x large = fnma(exponential(-s, rest).times(slow), f32(2.0f), f32(1.0f));
  return select((i32x)(a < f32(1.0f)), small, (f32x)((i32x)large | sign_bit(x)));
}

// a * Phi(-a) * 2 ** bias for 0 <= a <= 16.5; what rounding took from a * a goes into the exponential.
template <int bias>
TW_INLINE f32x gelu_tail(f32x a) {
  f32x rest;
  const f32x slow = normal_tail(a, rest) * a;
  const f32x square = a * a;
  return exponential<bias>(square * f32(-0.5f), fma(fms(a, a, square), f32(-0.5f), rest)).times(slow);
}
TW_INLINE f32x nan_where_minus_inf(f32x y, f32x x) {
  return y + min_or_second(f32x{}, x) * f32x{};
}

#endif

TW_INLINE f32x exp(f32x x) {
  return exponential(clamp(x, -150.0f, 100.0f)).value();
}
TW_INLINE f32x exp_of_negative(f32x x) {
  return exponential(max_or_second(f32(-150.0f), x)).value();
}  // x <= 0 or nan
TW_INLINE f32x exp2(f32x x) {
  return exp2(x, f32x{});
}

TW_INLINE f32x expm1(f32x x) {
  x = clamp(x, -25.0f, 89.0f);
  const f32x shifted = fma(x, f32(kLog2E), f32(kMagic));
  const f32x n = shifted - f32(kMagic);
  const f32x r = fnma(n, f32(kLn2Low), fnma(n, f32(kLn2High), x));
  const f32x p = fma(
      r * r,
      polynomial(r, 0x1.000000p-1f, 0x1.555554p-3f, 0x1.5554f6p-5f, 0x1.1112d8p-7f, 0x1.6d3d42p-10f, 0x1.9e75d8p-13f),
      r);
  // 2^n * p + (2^n - 1), at half the scale: 2^128 is no f32. n = 0 keeps p itself, with the sign of zero.
  const i32x exponent = (i32x)shifted - (i32x)f32(kMagic);
  const f32x half = (f32x)((exponent + i32(126)) << 23);
  const f32x y = fma(half, p, half - f32(0.5f));
  return select((i32x)(x != x), x, select((i32x)(n == f32x{}), p, y + y));
}

// sin and cos by reduction to [-pi/4, pi/4]; right up to kLargeAngle, beyond which the callers use libm.
inline constexpr float kLargeAngle = 40000.0f;
template <bool cosine>
TW_INLINE f32x sin_or_cos(f32x x) {
  const f32x shifted = fma(x, f32(0x1.45f306p-1f), f32(kMagic));  // 2 / pi
  const f32x n = shifted - f32(kMagic);
  // pi / 2 in three parts
  const f32x r = fnma(n, f32(-0x1.ee59dap-50f), fnma(n, f32(-0x1.777a5cp-25f), fnma(n, f32(0x1.921fb6p+0f), x)));
  const f32x s = r * r;
  const f32x sine = fma(r * s, polynomial(s, -0x1.555546p-3f, 0x1.11076ep-7f, -0x1.994e34p-13f), r);
  const f32x cosine_ =
      fma(s * s, polynomial(s, 0x1.55554ap-5f, -0x1.6c0c20p-10f, 0x1.99e42cp-16f), fma(s, f32(-0.5f), f32(1.0f)));
  const i32x quadrant = (i32x)shifted + i32(cosine ? 1 : 0);
  const f32x y = select((i32x)((quadrant & i32(1)) != i32(0)), cosine_, sine);
  const f32x signed_y = (f32x)((i32x)y ^ (quadrant & i32(2)) << 30);
  return cosine ? signed_y : select((i32x)(x == f32x{}), x, signed_y);
}

// x ** y for finite x > 0 and finite y: log2 in f64, so that the product is right to f32 precision after its integer
// part.
TW_INLINE f64x log2_f64(f64x mantissa, f64x exponent) {
  // atanh series: log(m) = 2 (s + s^3/3 + ..), s = (m - 1) / (m + 1), |s| <= 1/5
  const f64x s = (mantissa - f64(1.0)) / (mantissa + f64(1.0));
  const f64x q = s * s;
  f64x p = f64(2.0 / 17);
  for (int k = 15; k >= 1; k -= 2) p = fma(p, q, f64(2.0 / k));
  return fma(p * s, f64(1.4426950408889634), exponent);
}
TW_INLINE f32x pow_positive(f32x x, f32x y) {
  const Parts parts = split(x);
  f64x low = log2_f64(low_f64(parts.mantissa), low_f64(parts.exponent)) * low_f64(y);
  f64x high = log2_f64(high_f64(parts.mantissa), high_f64(parts.exponent)) * high_f64(y);
  low = min_or_second(f64(180.0), max_or_second(f64(-180.0), low));
  high = min_or_second(f64(180.0), max_or_second(f64(-180.0), high));
  const f32x z = join_f32(low, high);
  const f32x rest = join_f32(low - low_f64(z), high - high_f64(z));
  return exp2(z, rest);
}
// Lanes that pow_of_ordinary does not serve: 0, inf, nan, and negative numbers to powers that are no integers.
TW_INLINE i32x pow_is_special(f32x x, f32x y) {
  const f32x infinity = f32(__builtin_inff());
  const f32x a = abs(x);
  const i32x integer = (i32x)(trunc(y) == y);
  const i32x ordinary =
      (i32x)(a > f32x{}) & (i32x)(a < infinity) & (i32x)(abs(y) < infinity) & ((i32x)(x > f32x{}) | integer);
  return ~ordinary;
}
TW_INLINE f32x pow_of_ordinary(f32x x, f32x y) {
  const f32x half = y * f32(0.5f);
  const i32x odd = (i32x)(trunc(half) != half);  // of an integer y; others have x > 0
  return (f32x)((i32x)pow_positive(abs(x), y) ^ (sign_bit(x) & odd));
}

// log(1 + f) for f in [-0.25, 0.5].
TW_INLINE f32x log_of_one_plus(f32x f) {
  return fma(f * f,
             polynomial(f, -0x1.000000p-1f, 0x1.5555a4p-2f, -0x1.000044p-2f, 0x1.99696ap-3f, -0x1.54eebep-3f,
                        0x1.28863ep-3f, -0x1.0d95eap-3f, 0x1.aca822p-4f, -0x1.7141c4p-5f),
             f);
}
TW_INLINE f32x log(f32x x) {
  const Parts parts = split(x);
  return finish_log(fma(parts.exponent, f32(kLn2High), log_of_one_plus(parts.mantissa - f32(1.0f))), x);
}
TW_INLINE f32x log2(f32x x) {
  const Parts parts = split(x);
  return finish_log(fma(log_of_one_plus(parts.mantissa - f32(1.0f)), f32(kLog2E), parts.exponent), x);
}
TW_INLINE f32x log10(f32x x) {
  const Parts parts = split(x);
  // log10(2) in two parts of one sign, so that infinite exponents stay infinite.
  const f32x low =
      fma(parts.exponent, f32(0x1.3509f8p-18f), log_of_one_plus(parts.mantissa - f32(1.0f)) * f32(0x1.bcb7b2p-2f));
  return finish_log(fma(parts.exponent, f32(0x1.344p-2f), low), x);
}
TW_INLINE f32x log1p(f32x x) {
  const f32x u = x + f32(1.0f);
  const Parts parts = split(u);
  // (1 + x) / 2^e - 1 without the rounding of u; from 2^24 on u is x.
  const i32x e = to_i32(parts.exponent);
  const f32x inverse = (f32x)(((u32x)i32(127) - (u32x)e) << 23);
  const f32x f = select((i32x)(abs(parts.exponent) < f32(30.0f)), fma(x, inverse, inverse - f32(1.0f)),
                        parts.mantissa - f32(1.0f));
  const f32x y = finish_log(fma(parts.exponent, f32(kLn2High), log_of_one_plus(f)), u);
  return select((i32x)(x == f32x{}), x, y);
}

TW_INLINE f32x sigmoid(f32x x) {
  const f32x e = exponential(-min_or_second(f32(150.0f), abs(x))).value();
  return select((i32x)(x < f32x{}), e, f32(1.0f)) * inverse_of_one_plus(e);
}

// Functions x * s(x) with s(x) + s(-x) = 1 are max(x, 0) - a * s(-a), a = |x|: no digits cancel. The small tail carries
// a factor of 2^32, so that s(-a) keeps its digits where it is a denormal and the product is not yet. The formulas give
// nan at -inf, and so do these.
inline constexpr int kTailBias = 32;
TW_INLINE f32x without_tail(f32x x, f32x tail) {
  return nan_where_minus_inf(fnma(tail, f32(0x1p-32f), max_or_second(f32x{}, x)), x);
}

TW_INLINE f32x silu(f32x x) {
  const f32x a = min_or_second(f32(150.0f), abs(x));
  const f32x e = exponential<kTailBias>(-a).value();
  return without_tail(x, a * inverse_of_one_plus(e * f32(0x1p-32f)) * e);
}

// x * Phi(x)
TW_INLINE f32x gelu(f32x x) {
  return without_tail(x, gelu_tail<kTailBias>(min_or_second(f32(16.5f), abs(x))));
}

// x * sigmoid(2u), u = sqrt(2 / pi) * (x + 0.044715 x^3); the exponent -2u log2(e) is carried in two floats.
TW_INLINE f32x gelu_tanh(f32x x) {
  const f32x a = min_or_second(f32(16.0f), abs(x));
  const f32x s = a * a;
  const f32x s_low = fms(a, a, s);
  const f32x cube = f32(-0x1.a5a7d0p-4f) * s;  // B s, B = A * 0.044715
  const f32x linear = f32(-0x1.26aec2p+1f);    // A = -2 sqrt(2 / pi) log2(e)
  const f32x sum = linear + cube;
  const f32x back = sum - cube;
  f32x sum_low = (linear - back) + (cube - (sum - back));
  sum_low += fms(f32(-0x1.a5a7d0p-4f), s, cube);
  sum_low = fma(f32(-0x1.a5a7d0p-4f), s_low, sum_low);
  sum_low += fma(s, f32(0x1.151aaep-29f), f32(-0x1.bce75ap-27f));
  const f32x z = a * sum;
  const f32x z_low = fma(a, sum_low, fms(a, sum, z));
  const f32x e = exp2<kTailBias>(z, z_low);
  return without_tail(x, a * inverse_of_one_plus(e * f32(0x1p-32f)) * e);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
