// Loads and stores of the strip interpreter: every element type to and from every lane type.
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// f16 and bf16 are reached through f32 from both sides.
template <typename To, typename From>
To convert_element(From value) {
  if constexpr (kIsHalf<From>) {
    return isa::convert<To>(static_cast<float>(value));
  } else if constexpr (kIsHalf<To>) {
    return To(isa::convert<float>(value));
  } else {
    return isa::convert<To>(value);
  }
}

void load_iota(const isa::StreamHead& head, int rank, const isa::StripCode& code, const Place& place, bool along_rows,
               Strip& v) {
  std::int64_t start = isa::wrapping_add(head.offset, isa::wrapping_mul(place.position, head.inner_stride));
  for (int d = 0; d < rank; ++d) start = isa::wrapping_add(start, isa::wrapping_mul(place.index[d], head.strides()[d]));
  const std::int64_t step = along_rows ? head.strides()[rank - 1] : head.inner_stride;
  visit_lane(code.lane, [&]<typename L>() {
    for (std::int64_t i = 0; i < v.count; ++i) {
      v.set<L>(i, isa::convert<L>(isa::wrapping_add(start, isa::wrapping_mul(i, step))));
    }
  });
}

}  // namespace

void load(const Frame& frame, const isa::StripCode& code, const Place& place, bool along_rows, Strip& v) {
  const isa::StreamHead& head = frame.at.stream(code.a);
  if (code.op == isa::StripOp::kLoadIota) return load_iota(head, frame.at.rank, code, place, along_rows, v);
  const Elements a = elements(frame, code.a, place, along_rows);
  visit_lane(code.lane, [&]<typename L>() {
    if (code.op == isa::StripOp::kLoadBool) {
      for (std::int64_t i = 0; i < v.count; ++i) set_mask<L>(v, i, a.get<std::uint8_t>(i) != 0);
      return;
    }
    visit(head.dtype(), [&]<typename T>() {
      for (std::int64_t i = 0; i < v.count; ++i) v.set<L>(i, convert_element<L>(a.get<T>(i)));
    });
  });
}

void store(const Frame& frame, const isa::StripCode& code, const Place& place, bool along_rows, const Strip& v) {
  const isa::StreamHead& head = frame.at.stream(code.a);
  const Elements a = elements(frame, code.a, place, along_rows);
  visit_lane(code.lane, [&]<typename L>() {
    if (code.op == isa::StripOp::kStoreBool) {
      for (std::int64_t i = 0; i < v.count; ++i) a.set<std::uint8_t>(i, v.get<IntegerOf<L>>(i) != 0 ? 1 : 0);
      return;
    }
    visit(head.dtype(), [&]<typename T>() {
      for (std::int64_t i = 0; i < v.count; ++i) a.set<T>(i, convert_element<T>(v.get<L>(i)));
    });
  });
}

}  // namespace tilewright::vm::reference
