#include "tilewright/tensor/dim_program.h"

#include <algorithm>

#include "tilewright/tensor/dim_arithmetic.h"
#include "tilewright/tensor/dim_table.h"

namespace tilewright {
namespace {

// "5": the value of a slot of an integer or f64 expression.
std::string text(DimValue value, bool is_float) {
  return is_float ? fmt::format("{}", value.real) : fmt::format("{}", value.integer);
}

std::string_view reason(DimFault fault) {
  switch (fault) {
    case DimFault::kOverflow:
      return "integer overflow";
    case DimFault::kDivisionByZero:
      return "division by zero";
    case DimFault::kBroadcast:
      return "sizes do not broadcast";
    case DimFault::kNegativeExponent:
      return "negative exponent of an integer power";
    case DimFault::kNegativeShift:
      return "negative shift";
    case DimFault::kNone:
      break;
  }
  return "no error";
}

ErrorKind kind_of(DimFault fault) {
  return fault == DimFault::kBroadcast ? ErrorKind::kShapeMismatch : ErrorKind::kInvalidArgument;
}

}  // namespace

DimProgram::Slot DimProgram::add(Dim dim) {
  const Slot slot = slot_of(dim);
  is_root_[slot] = true;
  return slot;
}

DimProgram::Slot DimProgram::slot_of(Dim dim) {
  if (const auto found = slots_.find(dim); found != slots_.end()) return found->second;
  if (dim.is_symbol()) {
    symbols_.push_back(new_slot(dim));
    return symbols_.back();
  }
  if (dim.op() == DimOp::kConst || dim.op() == DimOp::kFloatConst) {
    DimValue value{};
    if (dim.is_float())
      value.real = DimTable::real(dim);
    else
      value.integer = DimTable::integer(dim);
    constants_.push_back({new_slot(dim), value});
    return constants_.back().slot;
  }
  const std::span<const Dim> operands = dim.operands();
  Slot in[3] = {};
  in[0] = slot_of(operands[0]);
  // A long sum is a chain of sums of two: s0 + s1 shares a slot with the head of s0 + s1 + s2.
  for (std::size_t i = 2; info(dim.op()).operands < 0 && i < operands.size(); ++i) {
    in[1] = slot_of(operands[i - 1]);
    const Dim head =
        DimTable::intern(dim.op(), {operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(i)}, false);
    in[0] = step(head, {in[0], in[1], 0});
  }
  if (info(dim.op()).operands < 0)
    in[1] = slot_of(operands.back());
  else
    for (std::size_t i = 1; i < operands.size(); ++i) in[i] = slot_of(operands[i]);
  return step(dim, {in[0], in[1], in[2]});
}

DimProgram::Slot DimProgram::new_slot(Dim dim) {
  const auto slot = static_cast<Slot>(dims_.size());
  dims_.push_back(dim);
  is_root_.push_back(false);
  slots_.emplace(dim, slot);
  return slot;
}

DimProgram::Slot DimProgram::step(Dim dim, std::array<Slot, 3> in) {
  if (const auto found = slots_.find(dim); found != slots_.end()) return found->second;
  const bool in_float = computes_in_float(dim.is_float(), dim.operands());
  const Slot target = new_slot(dim);
  steps_.push_back({dim.op(), in_float, target, in[0], in[1], in[2]});
  return target;
}

namespace {

template <typename Step>
inline DimFault execute(const Step& step, DimValue* values) {
  const DimValue a = values[step.a], b = values[step.b], c = values[step.c];
  DimValue& out = values[step.target];
  if (!step.is_float) return apply_integer(step.op, {a.integer, b.integer, c.integer}, out.integer);
  return apply_float(step.op, {a, b, c}, out);
}

}  // namespace

Status DimProgram::run(std::span<DimValue> values, std::span<const bool> known) const {
  TW_CHECK(values.size() >= dims_.size(), "one value per slot");
  for (const Constant& constant : constants_) values[constant.slot] = constant.value;
  if (!known.empty()) return run_known(values, known);
  for (const Step& step : steps_) {
    if (execute(step, values.data()) != DimFault::kNone) [[unlikely]]
      return run_with_faults(values, {});
  }
  return {};
}

Status DimProgram::run_known(std::span<DimValue> values, std::span<const bool> known) const {
  TW_CHECK(known.size() >= dims_.size(), "one mask entry per slot");
  // Knowledge of inner slots follows from the symbols; up to this many slots it fits the stack.
  constexpr std::size_t kOnStack = 16384;
  bool on_stack[kOnStack];
  std::vector<std::uint8_t> on_heap;
  bool* ready = on_stack;
  if (dims_.size() > kOnStack) {
    on_heap.resize(dims_.size());
    ready = reinterpret_cast<bool*>(on_heap.data());
  }
  for (const Constant& constant : constants_) ready[constant.slot] = true;
  for (const Slot slot : symbols_) ready[slot] = known[slot];
  for (const Step& step : steps_) {
    const std::size_t operands = info(step.op).operands < 0 ? 2 : static_cast<std::size_t>(info(step.op).operands);
    ready[step.target] = ready[step.a] && (operands < 2 || ready[step.b]) && (operands < 3 || ready[step.c]);
    if (!ready[step.target]) continue;
    if (execute(step, values.data()) != DimFault::kNone) [[unlikely]]
      return run_with_faults(values, known);
  }
  return {};
}

// Entered only when a step has no result. A fault matters if it reaches an expression that was asked for: the branch of
// a select that is not taken, or the second operand of a decided `and`, may divide by zero.
Status DimProgram::run_with_faults(std::span<DimValue> values, std::span<const bool> known) const {
  enum class State : std::uint8_t { kUnknown, kReady, kFaulty };
  std::vector<State> state(dims_.size(), State::kUnknown);
  std::vector<Slot> origin(dims_.size());  // of a faulty slot: the step that failed
  std::vector<DimFault> faults(dims_.size(), DimFault::kNone);
  for (const Constant& constant : constants_) state[constant.slot] = State::kReady;
  for (const Slot slot : symbols_) state[slot] = known.empty() || known[slot] ? State::kReady : State::kUnknown;
  for (const Step& step : steps_) {
    const std::size_t operands = info(step.op).operands < 0 ? 2 : static_cast<std::size_t>(info(step.op).operands);
    const Slot in[3] = {step.a, step.b, step.c};
    State& result = state[step.target];
    result = State::kReady;
    for (std::size_t i = 0; i < operands; ++i) {
      if (state[in[i]] == State::kUnknown) result = State::kUnknown;
    }
    if (result == State::kUnknown) continue;
    for (std::size_t i = 0; i < operands && !(step.op == DimOp::kSelect && i > 0); ++i) {
      if (state[in[i]] != State::kFaulty) continue;
      const bool decided = (step.op == DimOp::kAnd || step.op == DimOp::kOr) && state[in[1 - i]] == State::kReady &&
                           (values[in[1 - i]].integer != 0) == (step.op == DimOp::kOr);
      if (decided) {
        values[in[i]] = values[in[1 - i]];
        continue;
      }
      result = State::kFaulty;
      origin[step.target] = origin[in[i]];
    }
    if (step.op == DimOp::kSelect && result == State::kReady) {
      const Slot taken = values[step.a].integer != 0 ? step.b : step.c;
      result = state[taken];
      origin[step.target] = origin[taken];
    }
    if (result == State::kReady) {
      faults[step.target] = execute(step, values.data());
      if (faults[step.target] != DimFault::kNone) {
        result = State::kFaulty;
        origin[step.target] = step.target;
      }
    }
    if (result == State::kFaulty && is_root_[step.target]) {
      return fault_error(values, origin[step.target], faults[origin[step.target]]);
    }
  }
  return {};
}

Error DimProgram::fault_error(std::span<const DimValue> values, Slot slot, DimFault fault) const {
  const Dim failed = dims_[slot];
  std::string message = fmt::format("{}: {}", reason(fault), to_string(failed));
  std::vector<Dim> named(failed.operands().begin(), failed.operands().end());
  collect_symbols(failed, named);
  std::string_view separator = " with ";
  std::vector<Dim> told;
  for (const Dim dim : named) {
    const auto found = slots_.find(dim);
    if (dim.real_constant() || found == slots_.end() || std::find(told.begin(), told.end(), dim) != told.end())
      continue;
    told.push_back(dim);
    message += fmt::format("{}{} = {}", separator, to_string(dim), text(values[found->second], dim.is_float()));
    separator = ", ";
  }
  return {kind_of(fault), std::move(message)};
}

}  // namespace tilewright
