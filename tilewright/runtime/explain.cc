#include "tilewright/runtime/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tilewright/runtime/plan_text.h"

namespace tilewright::runtime {
namespace {

// Sizes of one call: dims with their values, as far as they follow from the inputs.
class BoundSizes {
 public:
  Status bind(const Graph& graph, std::span<const Sizes> sizes, std::span<const DimValue> scalars) {
    if (sizes.size() != graph.inputs().size()) {
      return fail(ErrorKind::kInvalidArgument, "the graph has {} inputs, sizes of {} given", graph.inputs().size(),
                  sizes.size());
    }
    for (std::size_t i = 0; i < std::min(scalars.size(), graph.scalar_inputs().size()); ++i) {
      symbols_[graph.scalar_inputs()[i]] = scalars[i];
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Value& value = graph.value(graph.inputs()[i]);
      if (sizes[i].size() != value.type.shape.size()) {
        return fail(ErrorKind::kShapeMismatch, "input '{}': expected {} axes ({}), got {}", value.name,
                    value.type.shape.size(), value.type, sizes[i].size());
      }
      for (std::size_t axis = 0; axis < sizes[i].size(); ++axis) {
        if (value.type.shape[axis].is_symbol())
          symbols_.emplace(value.type.shape[axis], DimValue{.integer = sizes[i][axis]});
      }
    }
    bound_ = true;
    return {};
  }

  // Bytes of a value; -1 if a size is not known.
  std::int64_t bytes(const TensorType& type) const {
    std::int64_t total = byte_size(type.dtype);
    for (const Dim dim : type.shape) {
      const std::int64_t value = size(dim);
      if (value < 0 || __builtin_mul_overflow(total, value, &total)) return -1;
    }
    return total;
  }

  bool bound() const { return bound_; }

  // -1 if it is not known.
  std::int64_t size(Dim dim) const {
    if (const auto constant = dim.constant()) return *constant;
    std::vector<Dim> symbols;
    collect_symbols(dim, symbols);
    DimProgram program;
    const DimProgram::Slot slot = program.add(dim);
    std::vector<DimValue> values(program.size());
    for (const DimProgram::Slot one : program.symbol_slots()) {
      const auto known = symbols_.find(program.dim(one));
      if (known == symbols_.end()) return -1;
      values[one] = known->second;
    }
    return program.run(values).ok() ? values[slot].integer : -1;
  }

 private:
  std::unordered_map<Dim, DimValue> symbols_;
  bool bound_ = false;
};

// Bytes of distinct operands and results; -1 if one is not known.
std::int64_t moved(const Graph& graph, std::vector<ValueId> values, const BoundSizes& sizes) {
  if (!sizes.bound()) return -1;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::int64_t total = 0;
  for (const ValueId id : values) {
    const std::int64_t bytes = id < graph.num_values() ? sizes.bytes(graph.type(id)) : byte_size(DType::kI64);
    if (bytes < 0) return -1;
    total += bytes;
  }
  return total;
}

std::vector<ValueId> operands(const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs) {
  std::vector<ValueId> all(inputs);
  all.insert(all.end(), outputs.begin(), outputs.end());
  return all;
}

// Operators that an eager framework runs without moving bytes either.
bool moves_nothing(Op op) {
  switch (op) {
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kExpand:
    case Op::kSlice:
    case Op::kBitcast:
    case Op::kConstant:
    case Op::kScalar:
    case Op::kAssert:
      return true;
    default:
      return false;
  }
}

std::int64_t unfused_bytes(const Graph& graph, const BoundSizes& sizes) {
  std::int64_t total = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.dead || moves_nothing(node.op)) continue;
    const std::int64_t bytes = moved(graph, operands(node.inputs, node.outputs), sizes);
    if (bytes < 0) return -1;
    total += bytes;
  }
  return total;
}

std::size_t live_nodes(const Graph& graph) {
  std::size_t count = 0;
  for (const NodeId id : graph.order()) count += graph.node(id).dead ? 0 : 1;
  return count;
}

std::vector<std::string> describe(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> out;
  for (const ValueId id : values) {
    out.push_back(id < graph.num_values() ? fmt::format("{}: {}", graph.value(id).name, graph.type(id))
                                          : "count: i64[]");
  }
  return out;
}

// Whether the given sizes choose the form of a speculation that the step is of; without sizes, whether it is the first.
bool is_chosen(const Plan& plan, const Step& step, const BoundSizes& sizes) {
  if (step.speculation == kNone) return true;
  bool equal = true;
  for (const auto& [a, b] : plan.speculations[step.speculation].equal) {
    if (sizes.bound()) equal = equal && sizes.size(plan.dims.dim(a)) == sizes.size(plan.dims.dim(b));
  }
  return equal == step.if_equal;
}

Explanation::Kernel explain_kernel(const Plan& plan, const Step& step, const BoundSizes& sizes) {
  const bool area = step.kind == StepKind::kArea;
  Explanation::Kernel kernel{step.name,
                             std::string(area ? to_string(plan.areas[step.area].kind) : info(step.op).text),
                             step_ops(step),
                             describe(*plan.graph, step.inputs),
                             describe(*plan.graph, step.outputs),
                             step.pack != kNone,
                             moved(*plan.graph, operands(step.inputs, step.outputs), sizes)};
  kernel.chosen = is_chosen(plan, step, sizes);
  if (step.speculation != kNone) {
    kernel.condition = fmt::format("{} {}", step.if_equal ? "if" : "unless",
                                   condition_text(plan, plan.speculations[step.speculation]));
  }
  return kernel;
}

std::string reason(const Step& step) {
  switch (step.kind) {
    case StepKind::kHostCall:
      return fmt::format("no lowering, call {} of the host", step.target);
    case StepKind::kItem:
    case StepKind::kReadCount:
      return "a number that later sizes depend on";
    case StepKind::kUnique:
      return "the result's size follows from the data";
    case StepKind::kAssert:
      return "a condition of the caller";
    default:
      return "control flow";
  }
}

Explanation explain_plan(const Plan& plan, const BoundSizes& sizes);

void add_host_step(const Step& step, Explanation& out) {
  Explanation::HostStep host{step.name, std::string(to_string(step.kind)), reason(step), {}};
  for (const auto& region : step.regions) host.regions.push_back(explain_plan(*region, {}));
  (step.kind == StepKind::kHostCall ? out.fallbacks : out.host_steps).push_back(std::move(host));
}

Explanation explain_plan(const Plan& plan, const BoundSizes& sizes) {
  Explanation out;
  const Graph& graph = *plan.graph;
  out.nodes_after = live_nodes(graph);
  out.speculations = plan.speculations.size();
  out.bytes_fused = sizes.bound() ? 0 : -1;
  for (const Step& step : plan.steps) {
    for (const Slot slot : step.late) {
      if (plan.late_slots[slot]) out.late_symbols.push_back(to_string(plan.dims.dim(slot)));
    }
    if (step.kind == StepKind::kView) {
      ++out.views;
    } else if (is_host_step(step.kind)) {
      add_host_step(step, out);
    } else {
      Explanation::Kernel kernel = explain_kernel(plan, step, sizes);
      if (kernel.chosen)
        out.bytes_fused = kernel.bytes < 0 || out.bytes_fused < 0 ? -1 : out.bytes_fused + kernel.bytes;
      out.kernels.push_back(std::move(kernel));
    }
  }
  std::sort(out.late_symbols.begin(), out.late_symbols.end());
  out.late_symbols.erase(std::unique(out.late_symbols.begin(), out.late_symbols.end()), out.late_symbols.end());
  for (const Segment& segment : plan.segments) {
    const auto encodes = [&](const Step& step) { return step.kind != StepKind::kView; };
    out.programs += std::any_of(plan.steps.begin() + static_cast<std::ptrdiff_t>(segment.begin),
                                plan.steps.begin() + static_cast<std::ptrdiff_t>(segment.end), encodes);
  }
  for (const PackPlan& pack : plan.packs) {
    out.packed_weights.push_back(fmt::format("{}: {}", graph.value(pack.root).name, graph.type(pack.value)));
  }
  for (const PreparedPlan& prepared : plan.prepared) out.prepared.push_back(explain_plan(*prepared.plan, {}));
  return out;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "" : fmt::format(" ({:.1f} %)", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_explanation(const Explanation& given, const std::string& indent, std::string& out) {
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    out += indent + fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  const auto chosen = std::count_if(given.kernels.begin(), given.kernels.end(),
                                    [](const Explanation::Kernel& kernel) { return kernel.chosen; });
  line("{} kernels in {} programs, {} views", chosen, given.programs, given.views);
  if (given.speculations != 0) line("{} kernels are one or several, as sizes agree", given.speculations);
  for (const Explanation::Kernel& kernel : given.kernels) {
    line("  {} '{}': {}{}{}{}{}", kernel.kind, kernel.name, fmt::join(kernel.ops, " "),
         kernel.packed ? ", packed weight" : "", kernel.bytes >= 0 ? fmt::format(", {} bytes", kernel.bytes) : "",
         kernel.condition.empty() ? "" : ", ", kernel.condition);
    line("    {} -> {}", fmt::join(kernel.reads, ", "), fmt::join(kernel.writes, ", "));
  }
  if (given.bytes_unfused >= 0 && given.bytes_fused >= 0) {
    line("bytes moved: {} one by one, {} fused{}", given.bytes_unfused, given.bytes_fused,
         percent(given.bytes_fused, given.bytes_unfused));
  }
  for (const Explanation::HostStep& step : given.fallbacks) line("fallback '{}': {}", step.name, step.reason);
  for (const Explanation::HostStep& step : given.host_steps) {
    line("on the host: {} '{}': {}", step.kind, step.name, step.reason);
    for (const Explanation& region : step.regions) print_explanation(region, indent + "    ", out);
  }
  for (const Explanation& prepared : given.prepared) {
    line("once, and when a weight has changed:");
    print_explanation(prepared, indent + "    ", out);
  }
  if (!given.late_symbols.empty()) line("late symbols: {}", fmt::join(given.late_symbols, ", "));
  if (!given.packed_weights.empty()) line("packed weights: {}", fmt::join(given.packed_weights, ", "));
}

}  // namespace

Result<Explanation> explain(const Session& session, std::span<const Sizes> sizes, std::span<const DimValue> scalars) {
  BoundSizes bound;
  if (!sizes.empty()) TW_TRY(bound.bind(session.source(), sizes, scalars));
  Explanation out = explain_plan(session.plan(), bound);
  out.nodes_before = live_nodes(session.source());
  out.passes = session.passes();
  for (const passes::PassReport& pass : out.passes) {
    out.refused.insert(out.refused.end(), pass.fused.refused.begin(), pass.fused.refused.end());
  }
  out.bytes_unfused = bound.bound() ? unfused_bytes(session.source(), bound) : -1;
  return out;
}

std::string to_string(const Explanation& explanation) {
  std::string out = fmt::format("{} nodes, {} after the passes\n", explanation.nodes_before, explanation.nodes_after);
  for (const passes::PassReport& pass : explanation.passes) {
    out += fmt::format("  {:<28}{:>10.1f} us{}\n", pass.name, pass.micros, pass.changed ? "  changed" : "");
  }
  print_explanation(explanation, "", out);
  for (const passes::FuseRefusal& refusal : explanation.refused) {
    out += fmt::format("not fused: '{}' into '{}': {}\n", refusal.producer, refusal.consumer, refusal.reason);
  }
  return out;
}

}  // namespace tilewright::runtime
