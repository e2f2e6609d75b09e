// Accumulators: identities, accumulating a strip, and the value at the end. Float sums run in f64 whatever the lane, in
// the order of the elements.
#include <limits>

#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

using isa::ReduceKind;

Sum identity(const isa::StreamHead& head) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool narrow = byte_size(head.dtype()) == 4;
  switch (static_cast<ReduceKind>(static_cast<Word>(head.inner_stride) >> 32)) {
    case ReduceKind::kProd:
      return {1, 1};
    case ReduceKind::kMax:
      return {-kInfinity, narrow ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min()};
    case ReduceKind::kMin:
      return {kInfinity, narrow ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max()};
    case ReduceKind::kAnd:
      return {0, -1};
    case ReduceKind::kSum:
    case ReduceKind::kOr:
    case ReduceKind::kSumSquare:
      return {0, 0};
  }
  __builtin_unreachable();
}

void accumulate(isa::StripOp op, double value, double& sum) {
  switch (op) {
    case isa::StripOp::kAccSum:
      sum += value;
      return;
    case isa::StripOp::kAccProd:
      sum *= value;
      return;
    case isa::StripOp::kAccMax:
      sum = isa::larger(sum, value);
      return;
    case isa::StripOp::kAccMin:
      sum = isa::smaller(sum, value);
      return;
    case isa::StripOp::kAccSumSquare:
      sum += value * value;
      return;
    default:
      check_failed("the operation exists", __FILE__, __LINE__, "reduction, float lane");
  }
}

void accumulate(isa::StripOp op, std::int64_t value, std::int64_t& sum) {
  switch (op) {
    case isa::StripOp::kAccSum:
      sum = isa::wrapping_add(sum, value);
      return;
    case isa::StripOp::kAccProd:
      sum = isa::wrapping_mul(sum, value);
      return;
    case isa::StripOp::kAccMax:
      sum = isa::larger(sum, value);
      return;
    case isa::StripOp::kAccMin:
      sum = isa::smaller(sum, value);
      return;
    case isa::StripOp::kAccOr:
      sum |= value;
      return;
    case isa::StripOp::kAccAnd:
      sum &= value;
      return;
    default:
      check_failed("the operation exists", __FILE__, __LINE__, "reduction, integer lane");
  }
}

}  // namespace

void reset_sums(Frame& frame, const isa::PhaseHead& phase, std::int64_t width) {
  if (phase.b() != 0) frame.sums.resize(static_cast<std::size_t>(frame.at.streams));
  for (int i = phase.a(); i < phase.a() + phase.b(); ++i) {
    frame.sums[static_cast<std::size_t>(i)].assign(static_cast<std::size_t>(width), identity(frame.at.stream(i)));
  }
}

void reduce(Frame& frame, const isa::StripCode& code, const Place& place, const Strip& v) {
  std::vector<Sum>& sums = frame.sums[code.a];
  visit_lane(code.lane, [&]<typename L>() {
    for (std::int64_t i = 0; i < v.count; ++i) {
      Sum& sum = sums[sums.size() == 1 ? 0 : static_cast<std::size_t>(place.tile_position + i)];
      if constexpr (std::is_floating_point_v<L>) {
        accumulate(code.op, double{v.get<L>(i)}, sum.real);
      } else {
        accumulate(code.op, std::int64_t{v.get<L>(i)}, sum.integer);
      }
    }
  });
}

void store_sum(const Frame& frame, int stream, const Sum& sum, std::byte* to) {
  const Elements out{to, 0};
  switch (frame.at.stream(stream).dtype()) {
    case DType::kF32:
      return out.set(0, static_cast<float>(sum.real));
    case DType::kF64:
      return out.set(0, sum.real);
    case DType::kI32:
      return out.set(0, static_cast<std::int32_t>(sum.integer));
    default:
      return out.set(0, sum.integer);
  }
}

}  // namespace tilewright::vm::reference
