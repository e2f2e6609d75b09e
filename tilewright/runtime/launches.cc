#include "tilewright/runtime/launches.h"

#include "tilewright/runtime/concat_parts.h"

namespace tilewright::runtime {

void find_launches(Plan& plan) {
  // The last launch that wrote or read a root.
  std::vector<std::size_t> wrote(plan.values.size(), 0), read(plan.values.size(), 0);
  std::size_t launch = 0;
  const auto touches = [&](const std::vector<ValueId>& values, const std::vector<std::size_t>& marks) {
    for (const ValueId value : values) {
      if (marks[storage_of(plan, value)] == launch) return true;
    }
    return false;
  };
  for (const Segment& segment : plan.segments) {
    ++launch;
    int count = 0;
    bool after_speculation = false;
    std::size_t first_view = segment.begin;  // of the views since the last kernel: they stand in the launch of the next
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      Step& step = plan.steps[i];
      if (step.kind == StepKind::kView) continue;
      if (step.kind == StepKind::kAssign) break;
      // What runs around the forms of a speculation is not known here.
      const bool decided = step.speculation == kNone && !after_speculation;
      after_speculation = step.speculation != kNone;
      step.beside = decided && count > 0 && count < isa::kMaxLaunch && !touches(step.inputs, wrote) &&
                    !touches(step.outputs, wrote) && !touches(step.outputs, read);
      if (!step.beside) {
        ++launch;
        count = 0;
      }
      ++count;
      for (; first_view < i; ++first_view) plan.steps[first_view].beside = step.beside;
      first_view = i + 1;
      for (const ValueId value : step.inputs) read[storage_of(plan, value)] = launch;
      for (const ValueId value : step.outputs) wrote[storage_of(plan, value)] = launch;
    }
  }
}

void Launches::reset() {
  kept_.clear();
  kept_bytes_ = 0;
  count_ = 0;
}

bool Launches::add(const Step& step, std::size_t begin, bool has_temps, std::vector<isa::Word>& words) {
  if (words.size() == begin) return count_ > 0;
  const bool single = isa::Inst(words.data() + begin).num_words() == words.size() - begin;
  // Nothing may run beside a copy that a view made, which its readers read in the view's place, nor beside a step with
  // temporary memory, which is free for the next step at once.
  const bool closed = step.kind == StepKind::kView || has_temps;
  const int streams = isa::Inst(words.data() + begin).num_streams();
  const bool joins = step.beside && single && !closed && count_ > 0 && count_ < isa::kMaxLaunch &&
                     streams_ + streams <= 8 * isa::kMaxStreams;
  if (joins) words[begin] |= isa::kBeside;
  count_ = closed ? 0 : joins ? count_ + 1 : 1;
  streams_ = joins ? streams_ + streams : streams;
  return count_ > 0;
}

void Launches::keep(ValueId root, std::int64_t bytes) {
  kept_.push_back(root);
  kept_bytes_ += bytes;
}

}  // namespace tilewright::runtime
