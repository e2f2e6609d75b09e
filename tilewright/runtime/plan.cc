// Builds a Plan: classifies nodes into steps, finds storage roots and lifetimes, cuts segments at host steps.
#include "tilewright/runtime/plan.h"

#include <algorithm>

#include "tilewright/compiler/kernels.h"
#include "tilewright/graph/bound_symbols.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/runtime/concat_parts.h"
#include "tilewright/runtime/late_sizes.h"
#include "tilewright/runtime/launches.h"
#include "tilewright/runtime/plan_in_place.h"
#include "tilewright/runtime/plan_storage.h"
#include "tilewright/runtime/prepared.h"
#include "tilewright/runtime/stack_steps.h"
#include "tilewright/runtime/unread_positions.h"

namespace tilewright::runtime {
namespace {

bool is_view_op(Op op) {
  return op == Op::kReshape || op == Op::kTranspose || op == Op::kExpand || op == Op::kSlice || op == Op::kFlip ||
         op == Op::kBitcast;
}

bool is_host_step(StepKind kind) {
  switch (kind) {
    case StepKind::kItem:
    case StepKind::kReadCount:
    case StepKind::kHostCall:
    case StepKind::kIf:
    case StepKind::kWhile:
    case StepKind::kScan:
    case StepKind::kCall:
    case StepKind::kAssert:
    case StepKind::kUnique:
      return true;
    default:
      return false;
  }
}

class PlanBuilder {
 public:
  PlanBuilder(std::unique_ptr<Graph> graph, const PlanOptions& options) : options_(options) {
    plan_ = std::make_unique<Plan>();
    plan_->graph = std::move(graph);
    graph_ = plan_->graph.get();
  }

  Result<std::unique_ptr<Plan>> run() {
    TW_TRY(check_ranks());
    add_values();
    add_inputs();
    TW_TRY(add_prepared());
    TW_TRY(add_steps());
    for (NodeId id : graph_->order()) {
      if (graph_->node(id).op == Op::kAssign) TW_TRY(add_step(id));
    }
    add_outputs();
    collect_guards(options_.source != nullptr ? *options_.source : *graph_, plan_->dims, plan_->guards);
    collect_facts(options_.source != nullptr ? *options_.source : *graph_, plan_->dims, plan_->guards);
    if (options_.stack) stack_steps(*plan_);
    drop_unread_positions(*plan_, *graph_);
    order_views(*plan_);
    find_in_place(*plan_, options_);
    find_storage_orders(*plan_);
    TW_TRY(find_late_slots());
    cut_segments();
    find_releases(*plan_);
    find_concat_parts(*plan_);
    if (options_.stack) find_launches(*plan_);
    return std::move(plan_);
  }

 private:
  Status add_steps() {
    for (const StepGroup& group : group_steps(*graph_, options_)) {
      if (group.area != nullptr) TW_TRY(add_speculation(*group.area));
      for (NodeId id : group.nodes) TW_TRY(add_step(id, group.area != nullptr));
    }
    return {};
  }

  Status check_ranks() const {
    for (ValueId id = 0; id < graph_->num_values(); ++id) {
      const TensorType& type = graph_->type(id);
      if (type.shape.size() <= compiler::kMaxTensorRank) continue;
      return fail(ErrorKind::kUnsupported, "'{}': rank {}, at most {} is supported", graph_->value(id).name,
                  type.shape.size(), compiler::kMaxTensorRank);
    }
    return {};
  }

  void add_values() {
    plan_->values.resize(graph_->num_values());
    for (ValueId id = 0; id < graph_->num_values(); ++id) {
      PlanValue& value = plan_->values[id];
      value.dtype = graph_->type(id).dtype;
      value.root = id;
    }
  }

  // Sizes get slots only for values that steps touch.
  void use(ValueId id) {
    PlanValue& value = plan_->values[id];
    if (!value.sizes.empty()) return;
    for (Dim dim : graph_->type(id).shape) value.sizes.push_back(plan_->dims.add(dim));
  }

  std::uint32_t new_buffer() { return plan_->num_buffers++; }

  // The number of its buffer is its place in the inputs + 1.
  void add_input(ValueId id) {
    use(id);
    plan_->inputs.push_back(id);
    plan_->values[id].origin = Origin::kInput;
    plan_->values[id].buffer = new_buffer();
  }

  void add_inputs() {
    plan_->inputs = graph_->inputs();
    plan_->num_graph_inputs = plan_->inputs.size();
    for (const Graph::Capture& capture : graph_->captures()) plan_->inputs.push_back(capture.inner);
    std::vector<ValueId> inputs;
    std::swap(inputs, plan_->inputs);
    for (ValueId id : inputs) add_input(id);
    for (Dim symbol : graph_->scalar_inputs()) plan_->scalar_slots.push_back(plan_->dims.add(symbol));
  }

  // Calls that read weights alone, of the outermost graph.
  Status add_prepared() {
    if (options_.source == nullptr) return {};
    for (const NodeId id : graph_->order()) {
      if (!is_prepared(*graph_, graph_->node(id))) continue;
      const Node& node = graph_->node(id);
      PreparedPlan prepared{.first_result = plan_->inputs.size()};
      for (const ValueId input : node.inputs) {
        const auto at = std::find(graph_->inputs().begin(), graph_->inputs().end(), input);
        prepared.inputs.push_back(static_cast<std::size_t>(at - graph_->inputs().begin()));
      }
      TW_ASSIGN(prepared.plan,
                build_plan(node.regions[0]->clone(), {.panel = options_.panel, .stack = options_.stack}));
      for (const ValueId id : node.outputs) add_input(id);
      prepared_.insert(prepared_.end(), node.outputs.begin(), node.outputs.end());
      plan_->prepared.push_back(std::move(prepared));
    }
    return {};
  }

  PlanAttr plan_attr(const Attrs::Entry& entry) {
    PlanAttr attr{.name = entry.name, .kind = static_cast<AttrKind>(entry.value.index())};
    if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) attr.integers = {*integer};
    if (const auto* flag = std::get_if<bool>(&entry.value)) attr.integers = {*flag ? 1 : 0};
    if (const auto* real = std::get_if<double>(&entry.value)) attr.real = *real;
    if (const auto* text = std::get_if<std::string>(&entry.value)) attr.text = *text;
    if (const auto* ints = std::get_if<Ints>(&entry.value)) attr.integers = *ints;
    if (const auto* dim = std::get_if<Dim>(&entry.value)) attr.slots = {plan_->dims.add(*dim)};
    if (const auto* dims = std::get_if<Dims>(&entry.value)) {
      for (Dim d : *dims) attr.slots.push_back(plan_->dims.add(d));
    }
    return attr;
  }

  Status add_step(NodeId id, bool is_part = false) {
    const Node& node = graph_->node(id);
    if (node.op == Op::kCall && !node.outputs.empty() && is_weight(node.outputs[0])) return {};  // it is prepared
    for (ValueId value : node.inputs) use(value);
    for (ValueId value : node.outputs) use(value);
    Step step{.kind = StepKind::kKernel, .op = node.op, .inputs = node.inputs, .outputs = node.outputs};
    step.name = node.outputs.empty() ? std::string(info(node.op).text) : graph_->value(node.outputs[0]).name;
    if (node.op == Op::kConstant) {
      PlanValue& value = plan_->values[node.outputs[0]];
      value.origin = Origin::kConstant;
      value.buffer = new_buffer();
      plan_->constants.emplace_back(value.buffer, node.attrs.tensor("value").contiguous());
      return {};
    }
    for (const Attrs::Entry& entry : node.attrs.entries()) {
      if (!std::holds_alternative<Tensor>(entry.value)) step.attrs.push_back(plan_attr(entry));
    }
    if (is_view_op(node.op)) {
      step.kind = StepKind::kView;
      PlanValue& value = plan_->values[node.outputs[0]];
      value.origin = Origin::kView;
      value.root = plan_->values[node.inputs[0]].root;
    } else if (node.op == Op::kFused) {
      if (is_part) step.speculation = static_cast<std::uint32_t>(plan_->speculations.size() - 1);
      TW_TRY(add_area(*node.regions[0], node.attrs.text("kind"), step));
    } else if (node.op == Op::kNonZero) {
      return add_nonzero(node, std::move(step));
    } else if (!compiler::has_kernel(node.op)) {
      TW_TRY(add_host_step(node, step));
    }
    plan_->steps.push_back(std::move(step));
    return {};
  }

  Status add_area(const Graph& region, const std::string& kind, Step& step) {
    step.kind = StepKind::kArea;
    step.fused = &region;
    step.area = static_cast<std::uint32_t>(plan_->areas.size());
    auto area = compiler::lower_area(region, kind, plan_->dims);
    if (!area.ok()) return std::move(area).error().in(step.name);
    if (area->kind == compiler::Area::Kind::kContraction) add_packs(step.inputs, *area, step);
    plan_->areas.push_back(std::move(area).value());
    return {};
  }

  // A step for the one kernel of a speculation; its parts follow as steps of their own.
  Status add_speculation(const passes::SpeculativeArea& area) {
    Speculation& added = plan_->speculations.emplace_back();
    added.region = area.region;
    for (std::size_t i = 0; i + 1 < area.equal.size(); i += 2)
      added.equal.emplace_back(plan_->dims.add(area.equal[i]), plan_->dims.add(area.equal[i + 1]));
    Step step{.kind = StepKind::kArea, .op = Op::kFused, .inputs = area.inputs, .outputs = area.outputs};
    step.speculation = static_cast<std::uint32_t>(plan_->speculations.size() - 1);
    step.if_equal = true;
    step.name = graph_->value(area.outputs[0]).name;
    for (ValueId value : step.inputs) use(value);
    for (ValueId value : step.outputs) use(value);
    TW_TRY(add_area(*area.region, area.kind, step));
    plan_->steps.push_back(std::move(step));
    return {};
  }

  void add_packs(const std::vector<ValueId>& inputs, const compiler::Area& area, Step& step) {
    using compiler::PackForm;
    step.pack = add_pack(inputs[area.rhs], area.block == 0 ? PackForm::kMatrix : PackForm::kWords);
    if (area.block == 0) return;
    step.scale_pack = add_pack(inputs[area.scales], PackForm::kColumns);
    if (area.rhs_zero == compiler::AreaNode::kNone) return;
    step.zero_pack = add_pack(inputs[area.rhs_zero], PackForm::kColumns);
  }

  // The right operand of a matmul that is a view of a weight or constant of fixed size is packed once.
  std::uint32_t add_pack(ValueId value, compiler::PackForm form) {
    const ValueId root = plan_->values[value].root;
    const PlanValue& base = plan_->values[root];
    const bool weight = base.origin == Origin::kInput && is_weight(root);
    if (options_.panel == 0 || !(weight || base.origin == Origin::kConstant)) return kNone;
    const bool half = base.dtype == DType::kF16 || base.dtype == DType::kBF16;
    if (base.dtype != DType::kF32 && !half && byte_size(base.dtype) != 1) return kNone;
    for (Dim dim : graph_->type(value).shape) {
      if (!dim.constant()) return kNone;
    }
    if (!views_always_fit(value)) return kNone;
    for (std::size_t i = 0; i < plan_->packs.size(); ++i) {
      if (plan_->packs[i].value == value && plan_->packs[i].form == form) return static_cast<std::uint32_t>(i);
    }
    plan_->packs.push_back({value, root, new_buffer(), form});
    return static_cast<std::uint32_t>(plan_->packs.size() - 1);
  }

  // Whether only ops that are views for any strides stand between a value and its root.
  bool views_always_fit(ValueId value) const {
    while (value != plan_->values[value].root) {
      const Node& node = graph_->node(graph_->value(value).producer);
      if (!always_fits(node)) return false;
      value = node.inputs[0];
    }
    return true;
  }

  bool always_fits(const Node& node) const {
    switch (node.op) {
      case Op::kTranspose:
      case Op::kExpand:
        return true;
      case Op::kSlice:
        return std::ranges::all_of(node.attrs.dims("start"), [](Dim start) { return start.constant().has_value(); });
      case Op::kReshape:
        return passes::same_but_for_units(graph_->type(node.inputs[0]).shape, graph_->type(node.outputs[0]).shape,
                                          graph_->facts);
      default:
        return false;
    }
  }

  bool is_weight(ValueId id) const {
    if (std::binary_search(prepared_.begin(), prepared_.end(), id)) return true;
    for (std::size_t i = 0; i < graph_->inputs().size(); ++i) {
      if (graph_->inputs()[i] == id) return graph_->role(i) == InputRole::kWeight;
    }
    const auto& captures = graph_->captures();
    for (std::size_t i = 0; i < captures.size() && i < options_.weight_captures.size(); ++i) {
      if (captures[i].inner == id) return options_.weight_captures[i];
    }
    return false;
  }

  // Three steps: count on the device, read the count, write the positions.
  Status add_nonzero(const Node& node, Step step) {
    const auto count = static_cast<ValueId>(plan_->values.size());
    plan_->values.push_back({.dtype = DType::kI64, .root = count});
    const Slot symbol = plan_->dims.add(node.attrs.dim("count"));
    Step counting{.kind = StepKind::kKernel,
                  .op = node.op,
                  .inputs = step.inputs,
                  .outputs = {count},
                  .counts = true,
                  .name = step.name};
    Step reading{.kind = StepKind::kReadCount, .op = node.op, .inputs = {count}, .late = {symbol}, .name = step.name};
    step.kind = StepKind::kKernel;
    plan_->steps.push_back(std::move(counting));
    plan_->steps.push_back(std::move(reading));
    plan_->steps.push_back(std::move(step));
    return {};
  }

  void make_dynamic(const std::vector<ValueId>& values) {
    for (ValueId id : values) {
      plan_->values[id].origin = Origin::kDynamic;
      plan_->values[id].buffer = new_buffer();
    }
  }

  Status add_host_step(const Node& node, Step& step) {
    switch (node.op) {
      case Op::kAssign:
        step.kind = StepKind::kAssign;
        return {};
      case Op::kAssert:
        step.kind = StepKind::kAssert;
        return {};
      case Op::kItem:
        step.kind = StepKind::kItem;
        step.late = {plan_->dims.add(node.attrs.dim("symbol"))};
        return {};
      case Op::kUnique:
        step.kind = StepKind::kUnique;
        step.late = {plan_->dims.add(node.attrs.dim("count"))};
        break;
      case Op::kHostCall:
        step.kind = StepKind::kHostCall;
        step.target = node.attrs.integer("target");
        break;
      case Op::kIf:
        step.kind = StepKind::kIf;
        break;
      case Op::kWhile:
        step.kind = StepKind::kWhile;
        step.carried = node.inputs.size();
        break;
      case Op::kScan:
        step.kind = StepKind::kScan;
        step.carried = static_cast<std::size_t>(node.attrs.integer("carried"));
        step.conditional = node.attrs.flag("conditional");
        step.trips = plan_->dims.add(node.attrs.dim("trips"));
        if (step.conditional) step.count = plan_->dims.add(node.attrs.dims("count")[0]);
        break;
      case Op::kCall:
        step.kind = StepKind::kCall;
        break;
      default:
        return fail(ErrorKind::kUnsupported, "'{}': op {} has no kernel in the runtime", step.name, info(node.op).text);
    }
    make_dynamic(node.outputs);
    collect_late(node, step);
    for (const auto& region : node.regions) {
      std::vector<ValueId> outer;
      PlanOptions options = region_options(step);
      for (const Graph::Capture& capture : region->captures()) {
        use(capture.outer);
        outer.push_back(capture.outer);
        options.weight_captures.push_back(is_weight(capture.outer));
      }
      step.captures.push_back(std::move(outer));
      options.speculative = options_.speculative;
      options.speculated = region.get();
      TW_ASSIGN(auto plan, build_plan(region->clone(), options));
      for (Slot slot : plan->symbol_slots) plan->outer_slots.push_back(plan_->dims.add(plan->dims.dim(slot)));
      step.regions.push_back(std::move(plan));
    }
    return {};
  }

  // The body of a loop, its last region, may write its next state over the one before.
  PlanOptions region_options(const Step& step) const {
    PlanOptions options{.panel = options_.panel, .stack = options_.stack};
    const bool body = step.kind == StepKind::kScan || (step.kind == StepKind::kWhile && step.regions.size() == 1);
    if (!body) return options;
    options.first_donated = step.kind == StepKind::kScan ? 1 : 0;
    options.num_donated = step.carried;
    options.first_next = step.conditional ? 1 : 0;
    return options;
  }

  // Symbols that are bound when the step has run. What a call passes through may be any symbol of its results.
  void collect_late(const Node& node, Step& step) {
    if (step.kind == StepKind::kUnique) return;
    if (step.kind != StepKind::kCall) {
      for (const Dim symbol : bound_symbols(*graph_, node)) step.late.push_back(plan_->dims.add(symbol));
      return;
    }
    for (ValueId id : node.outputs) {
      for (std::size_t axis = 0; axis < graph_->type(id).shape.size(); ++axis) {
        if (graph_->type(id).shape[axis].is_symbol()) step.late.push_back(plan_->values[id].sizes[axis]);
      }
    }
  }

  void add_outputs() {
    for (std::size_t i = 0; i < graph_->outputs().size(); ++i) {
      const ValueId value = graph_->outputs()[i];
      use(value);
      PlanOutput output{.value = value, .buffer = new_buffer()};
      if (i < options_.output_strides.size()) {
        for (Dim stride : options_.output_strides[i]) output.strides.push_back(plan_->dims.add(stride));
      }
      plan_->outputs.push_back(std::move(output));
    }
  }

  void cut_segments() {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
      if (!is_host_step(plan_->steps[i].kind)) continue;
      plan_->segments.push_back({begin, i, {}});
      begin = i + 1;
    }
    plan_->segments.push_back({begin, plan_->steps.size(), {}});
    for (PlanOutput& output : plan_->outputs) {
      const std::size_t scan = scan_before_output(output);
      output.stacked = scan != SIZE_MAX;
      const std::size_t segment = output.stacked ? scan
                                                 : std::max(computed_in(*plan_, plan_->values[output.value].root),
                                                            sized_in(*plan_, output.value));
      plan_->segments[segment].outputs_started.push_back(static_cast<std::uint32_t>(&output - plan_->outputs.data()));
    }
  }

  // The segment in front of the scan that can stack its elements in this output: its size is known, it is row-major
  // and the first with this value. SIZE_MAX: none.
  std::size_t scan_before_output(const PlanOutput& output) const {
    for (const Slot slot : plan_->values[output.value].sizes) {
      if (plan_->late_slots[slot]) return SIZE_MAX;
    }
    for (const PlanOutput& other : plan_->outputs) {
      if (&other == &output) break;
      if (other.value == output.value) return SIZE_MAX;
    }
    for (std::size_t s = 0; s + 1 < plan_->segments.size(); ++s) {
      const Step& step = plan_->steps[plan_->segments[s].end];
      if (step.kind != StepKind::kScan || step.conditional || !output.strides.empty()) continue;
      const auto stacked = step.outputs.begin() + static_cast<std::ptrdiff_t>(step.carried);
      if (std::find(stacked, step.outputs.end(), output.value) != step.outputs.end()) return s;
    }
    return SIZE_MAX;
  }

  Status find_late_slots() {
    for (Slot slot : plan_->dims.symbol_slots()) plan_->symbol_slots.push_back(slot);
    std::vector<Dim> bound(graph_->scalar_inputs());
    for (ValueId id : plan_->inputs) {
      for (Dim dim : graph_->type(id).shape) {
        if (dim.is_symbol()) bound.push_back(dim);
      }
    }
    std::vector<Dim> late;
    for (const Step& step : plan_->steps) {
      for (Slot slot : step.late) late.push_back(plan_->dims.dim(slot));
    }
    plan_->late_slots.assign(plan_->dims.size(), false);
    for (Slot slot = 0; slot < plan_->dims.size(); ++slot) {
      std::vector<Dim> symbols;
      collect_symbols(plan_->dims.dim(slot), symbols);
      for (Dim symbol : symbols) {
        if (std::find(bound.begin(), bound.end(), symbol) != bound.end()) continue;
        if (std::find(late.begin(), late.end(), symbol) == late.end()) {
          plan_->outer_symbols = true;  // a region: the graph around it knows the value
          continue;
        }
        plan_->late_slots[slot] = plan_->has_late = true;
      }
    }
    return {};
  }

  const PlanOptions& options_;
  std::unique_ptr<Plan> plan_;
  Graph* graph_ = nullptr;
  std::vector<ValueId> prepared_;  // sorted
};

}  // namespace

Result<std::unique_ptr<Plan>> build_plan(std::unique_ptr<Graph> graph, const PlanOptions& options) {
  return PlanBuilder(std::move(graph), options).run();
}

}  // namespace tilewright::runtime
