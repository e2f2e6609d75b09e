#include "tilewright/runtime/stack_steps.h"

#include <algorithm>

#include "tilewright/runtime/plan_text.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kWindow = 96;  // kernels that a step may overtake

class Stacker {
 public:
  explicit Stacker(Plan& plan) : plan_(plan), writer_(plan.values.size(), kNoStep) {}

  // Steps [begin, end): no host step, no assign.
  void stack(std::size_t begin, std::size_t end) {
    if (end - begin < 3) return;
    find_dependencies(begin, end);
    order_.clear();
    placed_.assign(end - begin, 0);
    for (std::size_t i = begin; i < end; ++i) {
      if (placed_[i - begin] != 0) continue;
      place(i);
      if (stacks(plan_.steps[i])) bring_alike(i);
    }
    std::vector<Step> steps;
    for (std::size_t i : order_) steps.push_back(std::move(plan_.steps[i]));
    std::move(steps.begin(), steps.end(), plan_.steps.begin() + static_cast<std::ptrdiff_t>(begin));
    for (std::size_t i = begin; i < end; ++i) {
      for (ValueId value : plan_.steps[i].outputs) writer_[value] = kNoStep;
    }
  }

 private:
  static constexpr std::size_t kNoStep = SIZE_MAX;

  static bool stacks(const Step& step) {
    return (step.kind == StepKind::kArea || step.kind == StepKind::kKernel) && step.speculation == kNone;
  }

  // Updates write over what they read once nobody else reads it: they stay where they are.
  static bool moves(const Step& step) { return stacks(step) && step.kind == StepKind::kArea; }

  // Depth: kernels on the longest way to the step. Views count nothing.
  void find_dependencies(std::size_t begin, std::size_t end) {
    begin_ = begin;
    end_ = end;
    depth_.assign(end - begin, 0);
    for (std::size_t i = begin; i < end; ++i) {
      const Step& step = plan_.steps[i];
      std::size_t depth = 0;
      for (ValueId value : step.inputs) {
        if (writer_[value] != kNoStep) depth = std::max(depth, depth_[writer_[value] - begin]);
      }
      depth_[i - begin] = depth + (step.kind == StepKind::kView ? 0 : 1);
      for (ValueId value : step.outputs) {
        writer_[value] = i;  // of a speculation the part, which is placed behind the one kernel
      }
    }
  }

  // What the step waits for that is not placed: views only, which can come along, or not.
  bool ready(std::size_t i, int depth) const {
    for (ValueId value : plan_.steps[i].inputs) {
      const std::size_t writer = writer_[value];
      if (writer == kNoStep || placed_[writer - begin_] != 0) continue;
      if (plan_.steps[writer].kind != StepKind::kView || depth == 0 || !ready(writer, depth - 1)) return false;
    }
    return true;
  }

  void place(std::size_t i) {
    for (ValueId value : plan_.steps[i].inputs) {
      const std::size_t writer = writer_[value];
      if (writer != kNoStep && placed_[writer - begin_] == 0) place(writer);
    }
    placed_[i - begin_] = 1;
    order_.push_back(i);
  }

  bool alike(const Step& a, const Step& b) const {
    if (a.kind != b.kind || a.op != b.op) return false;
    return a.kind != StepKind::kArea || plan_.areas[a.area].kind == plan_.areas[b.area].kind;
  }

  void bring_alike(std::size_t first) {
    const std::size_t depth = depth_[first - begin_];
    int count = 1;
    for (std::size_t i = first + 1, seen = 0; i < end_ && seen < kWindow && count < isa::kMaxLaunch; ++i) {
      const Step& step = plan_.steps[i];
      if (placed_[i - begin_] != 0 || step.kind == StepKind::kView) continue;
      ++seen;
      if (depth_[i - begin_] != depth || !moves(step) || !alike(plan_.steps[first], step) || !ready(i, 4)) continue;
      place(i);
      ++count;
    }
  }

  Plan& plan_;
  std::vector<std::size_t> writer_;  // by value: the step of the segment that makes it
  std::vector<std::size_t> depth_;   // by step of the segment
  std::vector<char> placed_;
  std::vector<std::size_t> order_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace

void stack_steps(Plan& plan) {
  Stacker stacker(plan);
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= plan.steps.size(); ++i) {
    const bool border =
        i == plan.steps.size() || is_host_step(plan.steps[i].kind) || plan.steps[i].kind == StepKind::kAssign;
    if (!border) continue;
    stacker.stack(begin, i);
    begin = i + 1;
  }
}

}  // namespace tilewright::runtime
