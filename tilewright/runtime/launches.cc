#include "tilewright/runtime/launches.h"

namespace tilewright::runtime {

namespace {

// The memory that a launch has touched. A value lies in its root, which may be a part of a concat, which may be part of
// another: parts of one concat do not overlap, so only a value around or inside of another shares memory with it.
class Touched {
 public:
  explicit Touched(const Plan& plan) : plan_(plan), whole_(plan.values.size(), 0), inside_(plan.values.size(), 0) {}

  void add(const std::vector<ValueId>& values, std::size_t launch) {
    for (const ValueId value : values) {
      ValueId root = plan_.values[value].root;
      whole_[root] = launch;
      while (around(root)) inside_[root] = launch;
    }
  }
  bool overlaps(const std::vector<ValueId>& values, std::size_t launch) const {
    for (const ValueId value : values) {
      ValueId root = plan_.values[value].root;
      if (inside_[root] == launch) return true;
      do {
        if (whole_[root] == launch) return true;
      } while (around(root));
    }
    return false;
  }

 private:
  // Moves to the concat that `root` is part of, if it is.
  bool around(ValueId& root) const {
    const auto part_of = plan_.values[root].part_of;
    if (part_of == kNone) return false;
    root = plan_.values[plan_.steps[part_of].outputs[0]].root;
    return true;
  }

  const Plan& plan_;
  std::vector<std::size_t> whole_, inside_;  // by root: the last launch that touched it, or a part of it
};

}  // namespace

void find_launches(Plan& plan) {
  Touched wrote(plan), read(plan);
  std::size_t launch = 0;
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
      step.beside = decided && count > 0 && count < isa::kMaxLaunch && !wrote.overlaps(step.inputs, launch) &&
                    !wrote.overlaps(step.outputs, launch) && !read.overlaps(step.outputs, launch);
      if (!step.beside) {
        ++launch;
        count = 0;
      }
      ++count;
      for (; first_view < i; ++first_view) plan.steps[first_view].beside = step.beside;
      first_view = i + 1;
      read.add(step.inputs, launch);
      wrote.add(step.outputs, launch);
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
