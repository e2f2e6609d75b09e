#include "tilewright/runtime/concat_parts.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

constexpr std::uint32_t kMany = UINT32_MAX - 1;

class Parts {
 public:
  explicit Parts(Plan& plan) : plan_(plan), reader_(plan.values.size(), kNone), writer_(plan.values.size(), kNone) {}

  void run() {
    for (const Segment& segment : plan_.segments) {
      for (std::size_t i = segment.begin; i < segment.end; ++i) {
        if (plan_.steps[i].op == Op::kConcat && plan_.steps[i].kind == StepKind::kKernel) found_ = true;
      }
    }
    if (!found_) return;
    find_readers();
    for (const Segment& segment : plan_.segments) mark(segment);
  }

 private:
  // Per root, the only step that reads any part of it.
  void read(ValueId value, std::uint32_t step) {
    std::uint32_t& reader = reader_[plan_.values[value].root];
    reader = reader == kNone ? step : kMany;
  }

  void find_readers() {
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (step.kind != StepKind::kView) {
        for (ValueId value : step.inputs) read(value, i);
      }
      for (const auto& captures : step.captures) {
        for (ValueId value : captures) read(value, kMany);
      }
    }
    for (const PlanOutput& output : plan_.outputs) read(output.value, kMany);
  }

  void mark(const Segment& segment) {
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      const Step& step = plan_.steps[i];
      if (step.kind == StepKind::kArea && step.speculation == kNone) {
        for (ValueId value : step.outputs) writer_[value] = static_cast<std::uint32_t>(i);
      }
    }
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      const Step& step = plan_.steps[i];
      if (step.op != Op::kConcat || step.kind != StepKind::kKernel) continue;
      for (std::uint32_t k = 0; k < step.inputs.size(); ++k) {
        PlanValue& root = plan_.values[plan_.values[step.inputs[k]].root];
        const ValueId id = plan_.values[step.inputs[k]].root;
        if (reader_[id] != i || writer_[id] == kNone || writer_[id] < segment.begin) continue;
        if (root.origin != Origin::kComputed || !root.order.empty()) continue;
        root.part_of = static_cast<std::uint32_t>(i);
        root.part = k;
      }
    }
  }

  Plan& plan_;
  std::vector<std::uint32_t> reader_, writer_;  // by root
  bool found_ = false;
};

}  // namespace

void find_concat_parts(Plan& plan) {
  Parts(plan).run();
}

}  // namespace tilewright::runtime
