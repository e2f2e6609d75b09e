#include "tilewright/runtime/plan_in_place.h"

#include <algorithm>
#include <utility>

namespace tilewright::runtime {

bool is_update(Op op) {
  return op == Op::kUpdateSlice || op == Op::kIndexPut || op == Op::kScatterElements;
}

namespace {

constexpr std::size_t kAlways = SIZE_MAX;

class InPlace {
 public:
  InPlace(Plan& plan, const PlanOptions& options) : plan_(plan), graph_(*plan.graph), options_(options) {
    may_write_.resize(plan.values.size(), false);
    for (std::size_t i = 0; i < options.num_donated; ++i) may_write_[donated(i)] = true;
    for (const Step& step : plan.steps) {
      if (step.kind == StepKind::kAssign) may_write_[step.inputs[0]] = true;
      if (step.kind != StepKind::kIf && step.kind != StepKind::kWhile && step.kind != StepKind::kScan) continue;
      for (const ValueId output : step.outputs) may_write_[output] = true;
    }
  }

  void run() {
    const auto updates = [](const Step& step) { return step.kind == StepKind::kKernel && is_update(step.op); };
    if (std::none_of(plan_.steps.begin(), plan_.steps.end(), updates)) return;
    members_.resize(plan_.values.size());
    for (ValueId id = 0; id < plan_.values.size(); ++id) members_[plan_.values[id].root].push_back(id);
    find_last_reads();
    std::vector<char> sunk(plan_.values.size(), 0);
    for (std::size_t i = 0; i < plan_.steps.size();) {
      const ValueId result = updates(plan_.steps[i]) ? plan_.steps[i].outputs[0] : 0;
      const bool first = updates(plan_.steps[i]) && std::exchange(sunk[result], 1) == 0;
      if (!first || !sink(i)) ++i;
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (updates(plan_.steps[i]) && may_update(i)) mark(plan_.steps[i]);
    }
  }

  // By updates in place alone: then both are the same elements for all sizes.
  void find_kept() {
    for (std::size_t i = 0; i < options_.num_donated; ++i) {
      PlanOutput& output = plan_.outputs[options_.first_next + i];
      ValueId value = output.value;
      while (plan_.values[value].root != value && is_update(producer(value).op)) value = producer(value).inputs[0];
      output.kept = value == donated(i);
    }
  }

 private:
  // Steps count from 1; views are not reads, their readers are.
  void find_last_reads() {
    last_read_.assign(plan_.values.size(), 0);
    seen_by_host_.assign(plan_.values.size(), kAlways);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (step.kind == StepKind::kView) continue;
      for (std::size_t k = step.kind == StepKind::kAssign ? 1 : 0; k < step.inputs.size(); ++k) {
        last_read_[step.inputs[k]] = i + 1;
        std::size_t& first = seen_by_host_[plan_.values[step.inputs[k]].root];
        if (step.kind == StepKind::kHostCall) first = std::min(first, i);
      }
      for (const auto& captures : step.captures) {
        for (const ValueId value : captures) last_read_[value] = i + 1;
      }
    }
    for (const PlanOutput& output : plan_.outputs) last_read_[output.value] = kAlways;
  }

  ValueId donated(std::size_t i) const { return graph_.inputs()[options_.first_donated + i]; }
  const Node& producer(ValueId value) const { return graph_.node(graph_.value(value).producer); }

  bool may_update(std::size_t index) const {
    const Step& step = plan_.steps[index];
    const ValueId x = step.inputs[0], root = plan_.values[x].root;
    if (plan_.values[root].origin != Origin::kComputed && !may_write_[root]) return false;
    if (seen_by_host_[root] < index) return false;  // a result of the host may share its memory
    for (std::size_t k = 1; k < step.inputs.size(); ++k) {
      if (plan_.values[step.inputs[k]].root == root) return false;
    }
    for (ValueId value = x; value != root; value = producer(value).inputs[0]) {
      if (producer(value).op == Op::kExpand) return false;  // one element may be many
    }
    return std::all_of(members_[root].begin(), members_[root].end(), [&](ValueId member) {
      return last_read_[member] <= index + 1 || is_part_of(member, step.outputs[0]);
    });
  }

  // Whether `value` is a view of `whole`, or a later state of it.
  bool is_part_of(ValueId value, ValueId whole) const {
    for (; value != whole; value = producer(value).inputs[0]) {
      if (plan_.values[value].root == value) return false;
    }
    return true;
  }

  // Moves an update behind the last reader of what it would write over, if nothing up to there reads its result.
  bool sink(std::size_t index) {
    const Step& step = plan_.steps[index];
    const ValueId root = plan_.values[step.inputs[0]].root, result = step.outputs[0];
    std::size_t last = 0;  // counts from 1
    for (const ValueId member : members_[root]) last = std::max(last, last_read_[member]);
    if (last == kAlways || last <= index + 1) return false;
    const auto is_result = [&](ValueId value) { return plan_.values[value].root == result; };
    for (std::size_t i = index + 1; i < last; ++i) {
      const Step& between = plan_.steps[i];
      if (between.kind == StepKind::kAssign) return false;
      if (std::any_of(between.inputs.begin(), between.inputs.end(), is_result)) return false;
      for (const auto& captures : between.captures) {
        if (std::any_of(captures.begin(), captures.end(), is_result)) return false;
      }
    }
    const auto begin = plan_.steps.begin() + static_cast<std::ptrdiff_t>(index);
    std::rotate(begin, begin + 1, plan_.steps.begin() + static_cast<std::ptrdiff_t>(last));
    find_last_reads();
    return true;
  }

  void mark(Step& step) {
    step.in_place = true;
    const ValueId result = step.outputs[0], root = plan_.values[step.inputs[0]].root;
    plan_.values[result].origin = Origin::kView;
    for (const ValueId member : members_[result]) {
      plan_.values[member].root = root;
      members_[root].push_back(member);
    }
    members_[result].clear();
    if (plan_.values[root].origin != Origin::kComputed) plan_.written_buffers.push_back(plan_.values[root].buffer);
  }

  Plan& plan_;
  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<bool> may_write_;                // by root: memory that may be written
  std::vector<std::size_t> last_read_;         // by value
  std::vector<std::size_t> seen_by_host_;      // by root: the first call of the host that reads it
  std::vector<std::vector<ValueId>> members_;  // by root
};

}  // namespace

void find_in_place(Plan& plan, const PlanOptions& options) {
  InPlace in_place(plan, options);
  in_place.run();
  in_place.find_kept();
}

}  // namespace tilewright::runtime
