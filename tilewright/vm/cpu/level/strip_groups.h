// Which source file implements which rows of strip_ops.def. Every row and lane falls into exactly one group, and each
// group's file walks the whole table and takes its own: a row that nobody implements does not compile.
// The including file defines kGroup and fill_lane<op, lane>(tables), then calls fill_group(tables).
#pragma once

#include "tilewright/vm/cpu/level/strip_engine.h"

namespace tilewright::vm::cpu::TW_LEVEL {

enum class Group { kEnd, kLoads, kStores, kArithmetic, kOperands, kMath, kLanewise, kReductions, kPairs };

// f32 functions that run on vectors (math_f32.h); their f64 forms run lane by lane in libm.
consteval bool is_vector_math(StripOp op) {
  switch (op) {
    case StripOp::kExp:
    case StripOp::kExp2:
    case StripOp::kExpm1:
    case StripOp::kLog:
    case StripOp::kLog2:
    case StripOp::kLog10:
    case StripOp::kLog1p:
    case StripOp::kSin:
    case StripOp::kCos:
    case StripOp::kTanh:
    case StripOp::kErf:
    case StripOp::kSigmoid:
    case StripOp::kGelu:
    case StripOp::kGeluTanh:
    case StripOp::kSilu:
    case StripOp::kPow:
      return true;
    default:
      return false;
  }
}

consteval bool is_lanewise(StripOp op, Lane lane) {
  const bool is_float = lane == Lane::kF32 || lane == Lane::kF64;
  switch (op) {
    case StripOp::kTan:
    case StripOp::kAsin:
    case StripOp::kAcos:
    case StripOp::kAtan:
    case StripOp::kSinh:
    case StripOp::kCosh:
    case StripOp::kAsinh:
    case StripOp::kAcosh:
    case StripOp::kAtanh:
    case StripOp::kErfc:
    case StripOp::kErfinv:
    case StripOp::kLgamma:
    case StripOp::kDigamma:
    case StripOp::kPow:
    case StripOp::kAtan2:
    case StripOp::kHypot:
    case StripOp::kNextAfter:
    case StripOp::kMod:
    case StripOp::kRem:
      return true;
    case StripOp::kFloorDiv:
    case StripOp::kTruncDiv:
      return !is_float;
    default:
      return is_vector_math(op);
  }
}

consteval Group group_of(StripOp op, isa::StripShape shape, Lane lane) {
  switch (shape) {
    case isa::StripShape::kEnd:
      return Group::kEnd;
    case isa::StripShape::kLoad:
      return Group::kLoads;
    case isa::StripShape::kStore:
      return Group::kStores;
    case isa::StripShape::kReduce:
      return Group::kReductions;
    case isa::StripShape::kTernary:
      return Group::kOperands;
    case isa::StripShape::kPair:
      return Group::kPairs;
    case isa::StripShape::kUnary:
    case isa::StripShape::kBinary:
      break;
  }
  if (lane == Lane::kF32 && is_vector_math(op)) return Group::kMath;
  if (is_lanewise(op, lane)) return Group::kLanewise;
  return shape == isa::StripShape::kUnary ? Group::kArithmetic : Group::kOperands;
}

}  // namespace tilewright::vm::cpu::TW_LEVEL

// TW_FILL_GROUP(group): the rows of strip_ops.def that belong to `group`, given to fill_lane<op, shape, lane>(tables).
#define TW_FILL_GROUP_LANE(op, shape, lanes, lane, group)                                 \
  if constexpr ((lanes & 1u << static_cast<int>(lane)) != 0) {                            \
    if constexpr (group_of(op, shape, lane) == group) fill_lane<op, shape, lane>(tables); \
  }
#define TW_DEFINE_FILL_ROW(group)                              \
  namespace {                                                  \
  template <StripOp op, isa::StripShape shape, unsigned lanes> \
  void fill_row(StripTables& tables) {                         \
    TW_FILL_GROUP_LANE(op, shape, lanes, Lane::kF32, group)    \
    TW_FILL_GROUP_LANE(op, shape, lanes, Lane::kI32, group)    \
    TW_FILL_GROUP_LANE(op, shape, lanes, Lane::kF64, group)    \
    TW_FILL_GROUP_LANE(op, shape, lanes, Lane::kI64, group)    \
    (void)tables;                                              \
  }                                                            \
  }
