// The rules of phases and strip programs: operations, lanes and forms that exist, operands whose stream fits the form,
// one lane width, reductions only into the accumulators of the phase.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

enum class Reach { kUnit, kAny, kOne };  // what a form says of the inner stride

struct StripContext {
  const PhaseRules& rules;
  bool scalar;  // the strip runs along the rows
  int first_accumulator, accumulators;
  int lane_bytes = 0;
  StreamSet used = 0;
};

// The inner stride that the strip sees.
std::int64_t strip_stride(const Verifier& v, const StripContext& context, const StreamHead& head) {
  return context.scalar ? head.strides()[v.at.rank - 1] : head.inner_stride;
}

bool check_reach(Verifier& v, const StripContext& context, int stream, Reach reach) {
  const StreamHead& head = v.stream(stream);
  const std::int64_t size = byte_size(head.dtype());
  const std::int64_t stride = strip_stride(v, context, head);
  switch (head.space()) {
    case Space::kBuffer:
    case Space::kScratch:
    case Space::kIota:
      break;
    case Space::kSlot:
      if (reach != Reach::kUnit || head.inner_stride != size || size > context.lane_bytes) {
        return v.reject("stream {}: a slot has unit stride and elements within a lane", stream);
      }
      return true;
    case Space::kTile:
      if (!context.rules.tile_readable || reach != Reach::kUnit || head.dtype() != context.rules.tile ||
          head.inner_stride != 4 || head.offset != 0) {
        return v.reject("stream {}: a tile is the unit {} block of an epilogue, from offset 0", stream,
                        to_string(context.rules.tile));
      }
      return true;
    case Space::kLiteral:
      if (reach != Reach::kOne) return v.reject("stream {}: a literal is one element", stream);
      if (size < 8 && static_cast<Word>(head.offset) >> (8 * size) != 0) {
        return v.reject("stream {}: the literal {:#x} is wider than its dtype", stream, static_cast<Word>(head.offset));
      }
      return true;
    case Space::kAccumulator:
      return v.reject("stream {}: only reductions use an accumulator", stream);
  }
  const std::int64_t unit = head.space() == Space::kIota ? 1 : size;
  if (reach == Reach::kUnit && stride != unit)
    return v.reject("stream {}: stride {}, its form is unit", stream, stride);
  if (reach == Reach::kOne && stride != 0)
    return v.reject("stream {}: stride {}, its form is one element", stream, stride);
  return true;
}

bool check_operand(Verifier& v, StripContext& context, int stream, DType dtype, Reach reach) {
  if (stream >= v.at.streams) return v.reject("stream {} of {}", stream, v.at.streams);
  const StreamHead& head = v.stream(stream);
  if (head.dtype() != dtype)
    return v.reject("stream {}: {}, its operation needs {}", stream, to_string(head.dtype()), to_string(dtype));
  context.used |= StreamSet{1} << stream;
  return check_reach(v, context, stream, reach);
}

bool check_value(Verifier& v, StripContext& context, int stream, Lane lane, bool one) {
  if (stream < v.at.streams && v.stream(stream).space() == Space::kIota) {
    return v.reject("stream {}: only load_iota reads an iota", stream);
  }
  return check_operand(v, context, stream, lane_dtype(lane), one ? Reach::kOne : Reach::kUnit);
}

bool check_load(Verifier& v, StripContext& context, const StripCode& code, DType dtype) {
  constexpr Reach kReach[] = {Reach::kUnit, Reach::kAny, Reach::kOne};
  if (!check_operand(v, context, code.a, dtype, kReach[code.form])) return false;
  return (code.op == StripOp::kLoadIota) == (v.stream(code.a).space() == Space::kIota) ||
         v.reject("stream {}: load_iota reads an iota, and nothing else does", code.a);
}

bool check_reduce(Verifier& v, const StripContext& context, const StripCode& code) {
  if (code.a < context.first_accumulator || code.a >= context.first_accumulator + context.accumulators) {
    return v.reject("stream {} is not an accumulator of its phase", code.a);
  }
  const StreamHead& head = v.stream(code.a);
  const auto kind = static_cast<Word>(code.op) - static_cast<Word>(StripOp::kAccSum);
  if (head.dtype() != lane_dtype(code.lane))
    return v.reject("stream {}: {}, its lane is {}", code.a, to_string(head.dtype()), to_string(lane_dtype(code.lane)));
  return static_cast<Word>(head.inner_stride) >> 32 == kind ||
         v.reject("stream {}: reduction kind {}, its operation needs {}", code.a,
                  static_cast<Word>(head.inner_stride) >> 32, kind);
}

bool check_code(Verifier& v, StripContext& context, Word word) {
  const StripCode code = decode_strip(word);
  const StripFacts& facts = kStripFacts[static_cast<std::size_t>(code.op)];
  switch (facts.shape) {
    case StripShape::kLoad:
      return check_load(v, context, code, facts.dtype);
    case StripShape::kStore:
      return check_operand(v, context, code.a, facts.dtype, code.form == 0 ? Reach::kUnit : Reach::kAny) &&
             check_writable(v, code.a);
    case StripShape::kBinary:
      return check_value(v, context, code.a, code.lane, (code.form & 1) != 0);
    case StripShape::kTernary:
      return check_value(v, context, code.a, code.lane, (code.form & 1) != 0) &&
             check_value(v, context, code.b, code.lane, (code.form & 2) != 0);
    case StripShape::kReduce:
      return check_reduce(v, context, code);
    case StripShape::kPair: {
      const StripPair pair = split_pair(word);
      return check_code(v, context, pair.first) && check_code(v, context, pair.second);
    }
    default:
      return true;
  }
}

bool check_strip_program(Verifier& v, const PhaseHead& phase, StripContext& context) {
  const int words = phase.words();
  if (words == 0) return v.reject("a strip program without end");
  for (int i = 0; i < words; ++i) {
    const Word word = phase.code()[i];
    if (!strip_exists(word)) return v.reject("strip instruction {}: {:#x} does not exist", i, word);
    const StripCode code = decode_strip(word);
    if ((code.op == StripOp::kEnd) != (i == words - 1))
      return v.reject("strip instruction {}: end is the last one, and only it", i);
    if (i == 0) {
      context.lane_bytes = lane_bytes(code.lane);
      const StripFacts& facts = kStripFacts[static_cast<std::size_t>(code.op)];
      const bool pair = facts.shape == StripShape::kPair;
      const StripShape shape = pair ? kStripFacts[static_cast<std::size_t>(facts.first)].shape : facts.shape;
      if (shape != StripShape::kLoad && shape != StripShape::kEnd) return v.reject("strip instruction 0 is not a load");
    }
    if (lane_bytes(code.lane) != context.lane_bytes)
      return v.reject("strip instruction {}: lanes of both widths in one program", i);
    if (!check_code(v, context, word)) return false;
  }
  return true;
}

bool check_accumulators(Verifier& v, const StripContext& context, PhaseUse& use) {
  if (context.first_accumulator + context.accumulators > v.at.streams) {
    return v.reject("accumulators {} to {} of {} streams", context.first_accumulator,
                    context.first_accumulator + context.accumulators - 1, v.at.streams);
  }
  for (int i = context.first_accumulator; i < context.first_accumulator + context.accumulators; ++i) {
    const StreamHead& head = v.stream(i);
    if (head.space() != Space::kAccumulator) return v.reject("stream {} is not an accumulator", i);
    const DType dtype = head.dtype();
    if (dtype != lane_dtype(Lane::kF32) && dtype != lane_dtype(Lane::kI32) && dtype != lane_dtype(Lane::kF64) &&
        dtype != lane_dtype(Lane::kI64)) {
      return v.reject("stream {}: an accumulator of {}, which is no lane", i, to_string(dtype));
    }
    const Word kind = static_cast<Word>(head.inner_stride) >> 32;
    if (kind > static_cast<Word>(ReduceKind::kSumSquare)) return v.reject("stream {}: unknown reduction {}", i, kind);
    const bool of_rows = context.rules.accumulator_bytes < 0;
    const std::int64_t bytes = of_rows ? kSlotBytes : context.rules.accumulator_bytes * byte_size(dtype);
    if (bytes > 0 && !check_range(v, i, head.offset, head.offset, bytes)) return false;
    if (!of_rows) continue;
    const auto target = static_cast<std::uint32_t>(head.inner_stride);
    if (target >= static_cast<std::uint32_t>(v.at.streams))
      return v.reject("stream {}: target {} of {} streams", i, target, v.at.streams);
    const StreamHead& to = v.stream(static_cast<int>(target));
    if ((to.space() != Space::kBuffer && to.space() != Space::kScratch) || to.dtype() != dtype) {
      return v.reject("stream {}: target {} is not a buffer or scratch of {}", i, target, to_string(dtype));
    }
    if (!check_writable(v, static_cast<int>(target))) return false;
    use.rows |= StreamSet{1} << target;
  }
  return true;
}

bool check_row_operand(Verifier& v, std::uint16_t stream, bool written, PhaseUse& use) {
  if (stream >= v.at.streams) return v.reject("stream {} of {}", stream, v.at.streams);
  const StreamHead& head = v.stream(stream);
  if ((head.space() != Space::kBuffer && head.space() != Space::kScratch) || head.dtype() != DType::kF32 ||
      head.inner_stride != 4) {
    return v.reject("stream {} is not f32 of unit stride in a buffer or scratch", stream);
  }
  use.elements |= StreamSet{1} << stream;
  return !written || check_writable(v, stream);
}

bool check_optional_row_operand(Verifier& v, std::uint16_t stream, PhaseUse& use) {
  return stream == kNoStream || check_row_operand(v, stream, false, use);
}

bool check_number(Verifier& v, std::uint16_t stream, std::string_view name) {
  if (stream >= v.at.streams) return v.reject("stream {} of {}", stream, v.at.streams);
  const StreamHead& head = v.stream(stream);
  const bool good =
      head.space() == Space::kLiteral && head.dtype() == DType::kF32 && static_cast<Word>(head.offset) >> 32 == 0;
  return good || v.reject("stream {}: {} is not an f32 literal", stream, name);
}

bool check_softmax(Verifier& v, const PhaseHead& phase, PhaseUse& use) {
  const bool scaled = phase.op() == PhaseOp::kScaledSoftmax;
  if (scaled ? (phase.second >> 32) != 0 : phase.second != 0)
    return v.reject("a field of the phase without a meaning is not 0");
  if (!check_row_operand(v, phase.a(), false, use) || !check_row_operand(v, phase.b(), true, use)) return false;
  return !scaled || (check_number(v, phase.c(), "scale") && check_optional_row_operand(v, phase.d(), use));
}

bool check_norm(Verifier& v, const PhaseHead& phase, PhaseUse& use) {
  const bool sums = phase.op() == PhaseOp::kSumLayerNorm || phase.op() == PhaseOp::kSumRmsNorm;
  if (!sums && phase.f() != 0) return v.reject("a field of the phase without a meaning is not 0");
  if (!check_row_operand(v, phase.a(), false, use) || !check_row_operand(v, phase.b(), true, use)) return false;
  if (!check_optional_row_operand(v, phase.c(), use) || !check_optional_row_operand(v, phase.d(), use)) return false;
  return check_number(v, phase.e(), "eps") && (!sums || check_row_operand(v, phase.f(), false, use));
}

bool check_strip_phase(Verifier& v, const PhaseHead& phase, const PhaseRules& rules, bool scalar, PhaseUse& use) {
  const int accumulators = scalar ? 0 : phase.b();
  if (phase.second != 0 || (scalar && phase.first >> 32 != 0))
    return v.reject("a field of the phase without a meaning is not 0");
  StripContext context{rules, scalar, accumulators == 0 ? 0 : phase.a(), accumulators};
  if (!check_accumulators(v, context, use) || !check_strip_program(v, phase, context)) return false;
  (scalar ? use.rows : use.elements) |= context.used;
  return true;
}

}  // namespace

bool check_phase(Verifier& v, const PhaseHead& phase, const PhaseRules& rules, PhaseUse& use) {
  const PhaseOp op = phase.op();
  if (op == PhaseOp::kStrip || op == PhaseOp::kScalar)
    return check_strip_phase(v, phase, rules, op == PhaseOp::kScalar, use);
  if (phase.words() != 0) return v.reject("strip instructions in a phase that runs none");
  switch (op) {
    case PhaseOp::kSoftmax:
    case PhaseOp::kLogSoftmax:
    case PhaseOp::kScaledSoftmax:
      return check_softmax(v, phase, use);
    case PhaseOp::kLayerNorm:
    case PhaseOp::kRmsNorm:
    case PhaseOp::kSumLayerNorm:
    case PhaseOp::kSumRmsNorm:
      return check_norm(v, phase, use);
    default:
      return v.reject("unknown phase {}", static_cast<int>(op));
  }
}

bool check_plain_strip(Verifier& v, const PhaseHead* phase, const PhaseRules& rules, PhaseUse& use) {
  if (phase == nullptr) return v.reject("a phase is missing or cut off");
  if (phase->op() != PhaseOp::kStrip || phase->b() != 0)
    return v.reject("a phase that is not a strip phase without accumulators");
  return check_phase(v, *phase, rules, use);
}

}  // namespace tilewright::isa
