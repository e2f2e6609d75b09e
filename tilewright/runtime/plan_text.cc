#include "tilewright/runtime/plan_text.h"

#include <fmt/format.h>

namespace tilewright::runtime {
namespace {

std::string value_text(const Plan& plan, ValueId id) {
  if (id >= plan.graph->num_values()) return "(count)";
  const Value& value = plan.graph->value(id);
  return fmt::format("{}: {}", value.name, value.type);
}

std::string values_text(const Plan& plan, const std::vector<ValueId>& values) {
  std::string out;
  for (const ValueId id : values) out += (out.empty() ? "" : ", ") + value_text(plan, id);
  return out;
}

class PlanPrinter {
 public:
  std::string print(const Plan& plan) {
    print_plan(plan);
    return std::move(out_);
  }

 private:
  void line(std::string_view text) {
    out_.append(indent_, ' ');
    out_ += text;
    out_ += '\n';
  }

  void print_plan(const Plan& plan) {
    for (const ValueId id : plan.inputs)
      line(fmt::format("input {} in buffer {}", value_text(plan, id), plan.values[id].buffer));
    for (const PreparedPlan& prepared : plan.prepared) {
      line("prepared of weights");
      indent_ += 2;
      print_plan(*prepared.plan);
      indent_ -= 2;
    }
    for (const PackPlan& pack : plan.packs) {
      line(fmt::format("packed {} of {} in buffer {}", value_text(plan, pack.value), plan.graph->value(pack.root).name,
                       pack.buffer));
    }
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
      const Segment& segment = plan.segments[s];
      line(fmt::format("segment {}", s));
      indent_ += 2;
      for (std::size_t i = segment.begin; i < segment.end; ++i) print_step(plan, plan.steps[i]);
      indent_ -= 2;
      if (s + 1 < plan.segments.size()) print_step(plan, plan.steps[segment.end]);
    }
    for (const PlanOutput& output : plan.outputs) {
      std::string strides;
      for (const Slot slot : output.strides) strides += (strides.empty() ? "" : ", ") + to_string(plan.dims.dim(slot));
      line(fmt::format("output {} in buffer {}{}", value_text(plan, output.value), output.buffer,
                       strides.empty() ? "" : fmt::format(" strides [{}]", strides)));
    }
  }

  void print_step(const Plan& plan, const Step& step) {
    std::string text(to_string(step.kind));
    if (step.kind == StepKind::kArea) text = to_string(plan.areas[step.area].kind);
    text += fmt::format(" {{{}}}", fmt::join(step_ops(step), " "));
    if (step.counts) text += " counting";
    text += fmt::format(" ({}) -> {}", values_text(plan, step.inputs), values_text(plan, step.outputs));
    if (step.pack != kNone) text += " packed";
    if (step.speculation != kNone) {
      text += fmt::format(" {} {}", step.if_equal ? "if" : "unless",
                          condition_text(plan, plan.speculations[step.speculation]));
    }
    for (const Slot slot : step.late) {
      if (plan.late_slots[slot]) text += fmt::format(" binds {}", plan.dims.dim(slot));
    }
    std::string released;
    for (const ValueId id : step.released) {
      if (id < plan.graph->num_values()) released += (released.empty() ? "" : " ") + plan.graph->value(id).name;
    }
    if (!released.empty()) text += fmt::format("  frees {}", released);
    line(text);
    for (std::size_t i = 0; i < step.regions.size(); ++i) {
      indent_ += 2;
      line(fmt::format("region {}", i));
      indent_ += 2;
      print_plan(*step.regions[i]);
      indent_ -= 4;
    }
  }

  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string plan_text(const Plan& plan) {
  return PlanPrinter().print(plan);
}

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::kArea:
      return "area";
    case StepKind::kKernel:
      return "kernel";
    case StepKind::kView:
      return "view";
    case StepKind::kItem:
      return "read scalar";
    case StepKind::kReadCount:
      return "read count";
    case StepKind::kHostCall:
      return "host call";
    case StepKind::kIf:
      return "if";
    case StepKind::kWhile:
      return "while";
    case StepKind::kScan:
      return "scan";
    case StepKind::kCall:
      return "call";
    case StepKind::kAssert:
      return "assert";
    case StepKind::kUnique:
      return "unique";
    case StepKind::kAssign:
      return "assign";
  }
  __builtin_unreachable();
}

bool is_host_step(StepKind kind) {
  return kind != StepKind::kArea && kind != StepKind::kKernel && kind != StepKind::kView && kind != StepKind::kAssign;
}

std::string_view to_string(compiler::Area::Kind kind) {
  switch (kind) {
    case compiler::Area::Kind::kMap:
      return "map";
    case compiler::Area::Kind::kRows:
      return "rows";
    case compiler::Area::Kind::kColumns:
      return "columns";
    case compiler::Area::Kind::kContraction:
      return "matmul";
  }
  __builtin_unreachable();
}

std::vector<std::string> step_ops(const Step& step) {
  std::vector<std::string> ops;
  if (step.op != Op::kFused) return {std::string(info(step.op).text)};
  for (const NodeId id : step.fused->order()) ops.emplace_back(info(step.fused->node(id).op).text);
  return ops;
}

std::string condition_text(const Plan& plan, const Speculation& speculation) {
  std::string out;
  for (const auto& [a, b] : speculation.equal) {
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", plan.dims.dim(a), plan.dims.dim(b));
  }
  return out;
}

}  // namespace tilewright::runtime
