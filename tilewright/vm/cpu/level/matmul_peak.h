// The multiply-add peak of one core, measured in the run that reports shares of it: clocks move with load and
// neighbours.
#pragma once

#include <ctime>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <string_view>

namespace tilewright::vm::testing {

inline double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"), noinline)) inline double multiply_add_512(int rounds) {
  __m512 sums[20];
  __m512 factor = _mm512_set1_ps(1.0f);
  asm volatile("" : "+v"(factor));
  for (__m512& sum : sums) sum = factor;
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 20
    for (int j = 0; j < 20; ++j) sums[j] = _mm512_fmadd_ps(sums[j], factor, factor);
  }
  for (__m512& sum : sums) asm volatile("" ::"v"(sum));
  return 20.0 * 32 * rounds;
}
__attribute__((target("avx2,fma"), noinline)) inline double multiply_add_256(int rounds) {
  __m256 sums[12];
  __m256 factor = _mm256_set1_ps(1.0f);
  asm volatile("" : "+x"(factor));
  for (__m256& sum : sums) sum = factor;
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) sums[j] = _mm256_fmadd_ps(sums[j], factor, factor);
  }
  for (__m256& sum : sums) asm volatile("" ::"x"(sum));
  return 12.0 * 16 * rounds;
}
#endif

// Floating-point operations per second of one core with the vectors of a level; 0 where there is no probe. Takes about
// 5 ms.
inline double peak_flops([[maybe_unused]] std::string_view level) {
  double best = 0;
#if defined(__x86_64__)
  for (int i = 0; i < 20 && level != "portable"; ++i) {
    const double start = thread_seconds();
    const double flops = level == "avx512" ? multiply_add_512(3000) : multiply_add_256(3000);
    const double rate = flops / (thread_seconds() - start);
    if (rate > best) best = rate;
  }
#endif
  return best;
}

}  // namespace tilewright::vm::testing
