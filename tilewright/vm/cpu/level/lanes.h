// Operations that run lane by lane through staging memory: the strip is stored, a scalar loop changes it, it is loaded
// again. Handlers keep nothing on their own stack, so that their last call stays a jump.
#pragma once

#include "tilewright/vm/cpu/level/strip_engine.h"

namespace tilewright::vm::cpu::TW_LEVEL {

TW_INLINE void stage(StripRun& run, Vectors& v) {
  each(v, [&](f32x& x, int k) TW_LAMBDA { store<float>(run.staging[0] + k * kVectorBytes, x); });
}
TW_INLINE void unstage(const StripRun& run, Vectors& v) {
  each(v, [&](f32x& x, int k) TW_LAMBDA { x = load<float>(run.staging[0] + k * kVectorBytes); });
}
template <typename T, bool one, Way way>
TW_INLINE void stage_operand(StripRun& run, const Operand<T, one, way>& operand, Vectors& v) {
  each(v, [&](f32x&, int k) TW_LAMBDA { store<T>(run.staging[1] + k * kVectorBytes, operand.get(run, k)); });
}

// F is a type with static T call(T) or call(T, T).
template <typename F, typename T>
__attribute__((noinline)) void change_lanes(StripRun& run, std::int64_t count) {
  T* v = reinterpret_cast<T*>(run.staging[0]);
  for (std::int64_t i = 0; i < count; ++i) v[i] = F::call(v[i]);
}
template <typename F, typename T>
__attribute__((noinline)) void change_lanes_with_operand(StripRun& run, std::int64_t count) {
  T* v = reinterpret_cast<T*>(run.staging[0]);
  const T* a = reinterpret_cast<const T*>(run.staging[1]);
  for (std::int64_t i = 0; i < count; ++i) v[i] = F::call(v[i], a[i]);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
