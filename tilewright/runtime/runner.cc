#include "tilewright/runtime/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/runtime/runner_call.h"
#include "tilewright/runtime/stats.h"
#include "tilewright/runtime/views.h"

namespace tilewright::runtime {
namespace {

// Bytes in front of the first element, where negative strides lead.
std::int64_t reach_back(const View& view) {
  std::int64_t elements = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (view.sizes[i] == 0) return 0;
    elements += (view.sizes[i] - 1) * std::max<std::int64_t>(-view.strides[i], 0);
  }
  return elements * byte_size(view.dtype);
}

// Whether the byte offsets of all elements fit 63 bits and none lies in front of the first.
bool reaches_only_forward(const View& view) {
  std::int64_t last = byte_size(view.dtype);
  for (int axis = 0; axis < view.rank; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    std::int64_t step = 0;
    if (view.sizes[i] <= 1) continue;
    if (view.strides[i] < 0 || __builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &step)) return false;
    if (__builtin_mul_overflow(step, byte_size(view.dtype), &step) || __builtin_add_overflow(last, step, &last))
      return false;
  }
  return true;
}

// Bytes from the first element to behind the last one.
std::int64_t extent(const View& view) {
  std::int64_t last = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (view.sizes[i] == 0) return 0;
    last += (view.sizes[i] - 1) * std::max<std::int64_t>(view.strides[i], 0);
  }
  return (last + 1) * byte_size(view.dtype);
}

std::string describe(const Graph& graph, ValueId value) {
  return fmt::format("input '{}'", graph.value(value).name);
}

}  // namespace

Runner::Context::Context(const Plan& plan, const BackendTraits& traits) : binder(plan, traits) {
  dims.resize(plan.dims.size());
  known = std::make_unique<bool[]>(plan.dims.size());
  buffers.resize(plan.num_buffers);
  buffer_bytes.resize(plan.num_buffers);
  outputs.resize(plan.outputs.size());
  dynamic.resize(plan.values.size());
  packs.resize(plan.packs.size());
  bound.resize(plan.segments.size());
  memory.resize(plan.steps.size());
  regions.resize(plan.steps.size());
  // What an input or a step of this graph binds is its own, whatever has the same name outside.
  std::vector<bool> own(plan.dims.size(), false);
  for (const ValueId input : plan.inputs) {
    for (const Slot slot : plan.values[input].sizes) own[slot] = true;
  }
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kHostCall || step.kind == StepKind::kCall) continue;
    for (const Slot slot : step.late) own[slot] = true;
  }
  for (std::size_t i = 0; i < plan.outer_slots.size(); ++i) {
    const Slot slot = plan.symbol_slots[i];
    if (!own[slot]) outer_symbols.push_back({slot, plan.outer_slots[i], false});
  }
  state.reset(plan);
  for (const auto& [buffer, tensor] : plan.constants) {
    buffers[buffer] = static_cast<std::byte*>(tensor.data());
    buffer_bytes[buffer] = tensor.bytes();
  }
}

void Runner::Context::release_tensors() {
  if (!has_tensors) return;
  for (Tensor& tensor : dynamic) tensor = Tensor();
  has_tensors = false;
}

void Runner::Context::release_large() {
  constexpr std::int64_t kSmall = 4 << 20;
  for (auto& step : memory) {
    for (StateMemory& block : step) {
      if (block.capacity() > kSmall) block.release();
    }
  }
  for (auto& step : regions) {
    for (auto& region : step) {
      if (region != nullptr) region->release_large();
    }
  }
}

void Runner::Context::end_call() {
  arena.end_call(arena_bytes);
  arena_bytes = 0;
}

Runner::Runner(const Plan& plan, vm::Machine& machine, const RunnerOptions& options, bool is_region)
    : plan_(plan),
      machine_(machine),
      is_region_(is_region),
      replays_(is_region || options.cache_bytes > 0),
      cache_(options.cache_bytes) {
  std::vector<bool> bound(plan.dims.size(), false);
  for (Slot slot : plan.scalar_slots) bound[slot] = true;
  for (std::uint32_t i = 0; i < plan.inputs.size(); ++i) {
    const std::vector<Slot>& sizes = plan.values[plan.inputs[i]].sizes;
    for (std::uint32_t axis = 0; axis < sizes.size(); ++axis) {
      const Slot slot = sizes[axis];
      if (plan.dims.dim(slot).is_symbol() && !bound[slot]) {
        bound[slot] = true;
        binding_axes_.push_back({i, axis, slot});
      } else {
        checked_axes_.push_back({i, axis, slot});
      }
    }
  }
  for (const PreparedPlan& prepared : plan.prepared) {
    prepared_.push_back(std::make_unique<Prepared>(prepared, machine, options));
  }
  regions_.resize(plan.steps.size());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (const auto& region : plan.steps[step].regions) {
      regions_[step].push_back(std::make_unique<Runner>(*region, machine, options, true));
    }
  }
}

Runner::~Runner() = default;

std::unique_ptr<Runner::Context> Runner::take_context() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto context = std::move(idle_.back());
      idle_.pop_back();
      return context;
    }
  }
  return std::make_unique<Context>(plan_, machine_.traits());
}

void Runner::return_context(std::unique_ptr<Context> context) {
  context->release_tensors();
  context->release_large();
  context->prepared.clear();
  for (auto& pack : context->packs) pack.reset();  // or a replaced weight would live as long as the context
  context->end_call();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
}

void Runner::trim() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
  cache_.clear();
  for (auto& step : regions_) {
    for (auto& region : step) region->trim();
  }
}

Status Runner::run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
                   HostCalls* host, const Outer* outer) {
  std::unique_ptr<Context> context = take_context();
  if (context->arena.base() == nullptr) return fail(ErrorKind::kOutOfMemory, "no address space for an arena");
  Status status = add_prepared(inputs, *context);
  if (status.ok()) {
    if (!prepared_.empty()) inputs = context->inputs;
    status = Call(*this, *context, sink, host).run(inputs, scalars, outer);
  }
  return_context(std::move(context));
  return status;
}

// The inputs of a call, and behind them what is prepared of its weights.
Status Runner::add_prepared(std::span<const TensorArg> inputs, Context& context) {
  if (prepared_.empty()) return {};
  const std::size_t wanted = plan_.prepared[0].first_result;
  if (inputs.size() != wanted) {
    return fail(ErrorKind::kInvalidArgument, "the model takes {} inputs, {} given", wanted, inputs.size());
  }
  context.inputs.assign(inputs.begin(), inputs.end());
  for (const auto& prepared : prepared_) {
    TW_ASSIGN(auto values, prepared->values(inputs));
    context.inputs.insert(context.inputs.end(), values->arguments.begin(), values->arguments.end());
    context.prepared.push_back(std::move(values));
  }
  return {};
}

Status Runner::Call::run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, const Outer* outer) {
  stats().calls.fetch_add(1, std::memory_order_relaxed);
  inputs_ = inputs;
  replays_ = runner_.replays_ && c_.complete && same_as_before(inputs, scalars, outer);
  c_.complete = false;
  if (replays_) {
    point_inputs(inputs);
    TW_TRY(pack_weights(inputs));
  } else {
    TW_TRY(set_inputs(inputs));
    TW_TRY(bind_symbols(inputs, scalars, outer));
    TW_TRY(check_axes(inputs));
    TW_TRY(pack_weights(inputs));
    reset_state();
    c_.threads = runner_.machine_.traits().threads;
  }
  for (segment_ = 0; segment_ < plan_.segments.size(); ++segment_) {
    TW_TRY(run_segment(segment_));
    if (segment_ + 1 < plan_.segments.size()) TW_TRY(run_host_step(plan_.segments[segment_].end));
  }
  c_.complete = true;
  return {};
}

void Runner::Call::reset_state() {
  c_.state.placed.assign(plan_.values.size(), 0);
  c_.state.direct.assign(plan_.outputs.size(), 0);
  c_.state.blocks.clear();
  c_.state.allocator.reset();
}

Status Runner::Call::set_inputs(std::span<const TensorArg> inputs) {
  if (inputs.size() != plan_.inputs.size()) {
    return fail(ErrorKind::kInvalidArgument, "the model takes {} inputs, {} given", plan_.inputs.size(), inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = plan_.inputs[i];
    const PlanValue& value = plan_.values[id];
    const TensorArg& arg = inputs[i];
    if (arg.dtype != value.dtype) {
      return fail(ErrorKind::kDTypeMismatch, "{}: expected {}, got {}", describe(*plan_.graph, id), value.dtype,
                  arg.dtype);
    }
    if (static_cast<std::size_t>(arg.rank) != value.sizes.size()) {
      return fail(ErrorKind::kShapeMismatch, "{}: expected {} axes ({}), got {}", describe(*plan_.graph, id),
                  value.sizes.size(), plan_.graph->type(id), arg.rank);
    }
    View& view = c_.state.views[id];
    view.buffer = value.buffer;
    view.dtype = arg.dtype;
    view.rank = static_cast<std::int8_t>(arg.rank);
    view.sizes = arg.sizes;
    view.strides = arg.strides;
    drop_idle_strides(view);
    view.offset = reach_back(view);
    c_.buffers[value.buffer] = arg.data - view.offset;
    c_.buffer_bytes[value.buffer] = view.offset + extent(view);
  }
  return {};
}

Status Runner::Call::bind_symbols(std::span<const TensorArg> inputs, std::span<const DimValue> scalars,
                                  const Outer* outer) {
  if (scalars.size() != plan_.scalar_slots.size()) {
    return fail(ErrorKind::kInvalidArgument, "the model takes {} scalars, {} given", plan_.scalar_slots.size(),
                scalars.size());
  }
  if (plan_.has_late || plan_.outer_symbols) std::fill_n(c_.known.get(), plan_.dims.size(), false);
  if (outer != nullptr) {
    for (Context::OuterSymbol& symbol : c_.outer_symbols) {
      symbol.known = outer->known[symbol.outer];
      if (!symbol.known) continue;
      c_.dims[symbol.own] = outer->dims[symbol.outer];
      c_.known[symbol.own] = true;
    }
  }
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    c_.dims[plan_.scalar_slots[i]] = scalars[i];
    c_.known[plan_.scalar_slots[i]] = true;
  }
  for (const Axis& axis : runner_.binding_axes_) {
    c_.dims[axis.slot].integer = inputs[axis.input].sizes[axis.axis];
    c_.known[axis.slot] = true;
  }
  return evaluate_dims();
}

Status Runner::Call::evaluate_dims() {
  if (!plan_.has_late && !plan_.outer_symbols) {
    TW_TRY(plan_.dims.run(c_.dims));
    return check_guards(plan_.guards, plan_.dims, c_.dims, {});
  }
  const std::span<const bool> known{c_.known.get(), plan_.dims.size()};
  TW_TRY(plan_.dims.run(c_.dims, known));
  return check_guards(plan_.guards, plan_.dims, c_.dims, known);
}

Status Runner::Call::check_axes(std::span<const TensorArg> inputs) {
  for (const Axis& axis : runner_.checked_axes_) {
    const std::int64_t expected = c_.dims[axis.slot].integer;
    const std::int64_t actual = inputs[axis.input].sizes[axis.axis];
    if (expected == actual) continue;
    stats().guards_failed++;
    const Dim dim = plan_.dims.dim(axis.slot);
    const std::string text = dim.constant() ? fmt::format("{}", expected) : fmt::format("{} = {}", dim, expected);
    return fail(ErrorKind::kShapeMismatch, "{}, axis {}: expected {}, got {}",
                describe(*plan_.graph, plan_.inputs[axis.input]), axis.axis, text, actual);
  }
  return {};
}

Status Runner::Call::pack_weights(std::span<const TensorArg> inputs) {
  if (plan_.packs.empty()) return {};
  const std::lock_guard lock(runner_.pack_mutex_);
  runner_.packs_.resize(plan_.packs.size());
  const std::int64_t panel = runner_.machine_.traits().matmul_panel;
  for (std::size_t i = 0; i < plan_.packs.size(); ++i) {
    const PackPlan& pack = plan_.packs[i];
    auto& [known, held] = runner_.packs_[i];
    const PlanValue& root = plan_.values[pack.root];
    std::uint64_t identity = reinterpret_cast<std::uint64_t>(&plan_), version = 0;
    const std::byte* data = c_.buffers[root.buffer];
    if (root.origin == Origin::kInput) {
      const TensorArg& arg = inputs[root.buffer - 1];
      identity = arg.identity;
      version = arg.version;
    }
    const bool same =
        held && identity != 0 && known.identity == identity && known.version == version && known.data == data;
    if (!same) {
      PackKey key{identity, version, data, panel, pack_view(pack), pack.form};
      auto packed = packed_weight(key, c_.buffers[root.buffer], c_.buffer_bytes[root.buffer], runner_.machine_);
      if (!packed.ok()) return std::move(packed).error();
      known = key;
      held = std::move(packed).value();
    }
    c_.packs[i] = held;
    c_.buffers[pack.buffer] = held->data;
    c_.buffer_bytes[pack.buffer] = held->bytes;
  }
  return {};
}

// The operand as a view of its weight: the view ops between them, on fixed sizes.
View Runner::Call::pack_view(const PackPlan& pack) {
  std::vector<NodeId> chain;
  for (ValueId value = pack.value; value != pack.root;) {
    const NodeId producer = plan_.graph->value(value).producer;
    chain.push_back(producer);
    value = plan_.graph->node(producer).inputs[0];
  }
  if (plan_.values[pack.root].origin == Origin::kConstant) set_constant_views();  // packing comes before the first bind
  View view = c_.state.views[pack.root];
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const Node& node = plan_.graph->node(*it);
    View next = view;
    next.rank = static_cast<std::int8_t>(plan_.values[node.outputs[0]].sizes.size());
    for (std::size_t axis = 0; axis < plan_.values[node.outputs[0]].sizes.size(); ++axis) {
      next.sizes[axis] = c_.dims[plan_.values[node.outputs[0]].sizes[axis]].integer;
    }
    TW_CHECK(apply_fixed_view(node, view, next), "packs are made only over views");
    view = next;
  }
  view.buffer = 0;
  return view;
}

Status Runner::Call::start_output(std::uint32_t output) {
  const PlanOutput& plan = plan_.outputs[output];
  const PlanValue& value = plan_.values[plan.value];
  View& view = c_.outputs[output];
  view.dtype = value.dtype;
  view.rank = static_cast<std::int8_t>(value.sizes.size());
  view.buffer = plan.buffer;
  view.offset = 0;
  for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) view.sizes[axis] = c_.dims[value.sizes[axis]].integer;
  set_contiguous(view);
  for (std::size_t axis = 0; axis < plan.strides.size(); ++axis)
    view.strides[axis] = c_.dims[plan.strides[axis]].integer;
  const auto rank = static_cast<std::size_t>(view.rank);
  if (!reaches_only_forward(view)) {
    return fail(ErrorKind::kShapeMismatch, "output {}: sizes [{}] and strides [{}] reach beyond any memory", output,
                fmt::join(view.sizes.data(), view.sizes.data() + rank, ", "),
                fmt::join(view.strides.data(), view.strides.data() + rank, ", "));
  }
  c_.buffer_bytes[plan.buffer] = extent(view);
  return ask_output(output);
}

Status Runner::Call::ask_output(std::uint32_t output) {
  const View& view = c_.outputs[output];
  const auto rank = static_cast<std::size_t>(view.rank);
  auto memory = sink_.allocate(output, view.dtype, {view.sizes.data(), rank}, {view.strides.data(), rank});
  if (!memory.ok()) return std::move(memory).error();
  c_.buffers[plan_.outputs[output].buffer] = *memory;
  return {};
}

}  // namespace tilewright::runtime
