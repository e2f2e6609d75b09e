// Inside of the reference machine's strip interpreter: the strip in registers (v), as bits, and the parts that strip.cc
// joins.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "tilewright/isa/strip_facts.h"
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {

inline constexpr std::int64_t kStripElements = 64;

// v: each element in the low bytes of a word, to be read as any type of the lane's width.
struct Strip {
  std::uint64_t bits[kStripElements] = {};
  std::int64_t count = 0;

  template <typename T>
  T get(std::int64_t i) const {
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<T>(static_cast<std::uint32_t>(bits[i]));
    } else {
      return std::bit_cast<T>(bits[i]);
    }
  }
  template <typename T>
  void set(std::int64_t i, T value) {
    if constexpr (sizeof(T) == 4) {
      bits[i] = std::bit_cast<std::uint32_t>(value);
    } else {
      bits[i] = std::bit_cast<std::uint64_t>(value);
    }
  }
};

// The integer and the float as wide as T.
template <typename T>
using IntegerOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <typename T>
using RealOf = std::conditional_t<sizeof(T) == 4, float, double>;

template <typename T>
void set_mask(Strip& v, std::int64_t i, bool set) {
  v.set<IntegerOf<T>>(i, set ? IntegerOf<T>{-1} : IntegerOf<T>{0});
}

// Calls f.template operator()<T>() with the C++ type of the lane.
template <typename F>
void visit_lane(isa::Lane lane, F&& f) {
  switch (lane) {
    case isa::Lane::kF32:
      return f.template operator()<float>();
    case isa::Lane::kI32:
      return f.template operator()<std::int32_t>();
    case isa::Lane::kF64:
      return f.template operator()<double>();
    case isa::Lane::kI64:
      return f.template operator()<std::int64_t>();
  }
}

// The elements of an operand along the strip.
struct Elements {
  std::byte* first;
  std::int64_t step;  // bytes

  template <typename T>
  T get(std::int64_t i) const {
    T value;
    std::memcpy(&value, first + i * step, sizeof value);
    return value;
  }
  template <typename T>
  void set(std::int64_t i, T value) const {
    std::memcpy(first + i * step, &value, sizeof value);
  }
};
Elements elements(const Frame& frame, int stream, const Place& place, bool along_rows);

void load(const Frame& frame, const isa::StripCode& code, const Place& place, bool along_rows, Strip& v);
void store(const Frame& frame, const isa::StripCode& code, const Place& place, bool along_rows, const Strip& v);
void apply_unary(const isa::StripCode& code, Strip& v);
void apply_binary(const isa::StripCode& code, const Elements& a, Strip& v);
void apply_ternary(const isa::StripCode& code, const Elements& a, const Elements& b, Strip& v);
void reduce(Frame& frame, const isa::StripCode& code, const Place& place, const Strip& v);

}  // namespace tilewright::vm::reference
