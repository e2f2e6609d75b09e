#include "tilewright/runtime/binder.h"

#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/runtime/bound_attrs.h"
#include "tilewright/runtime/plan_in_place.h"
#include "tilewright/runtime/views.h"

namespace tilewright::runtime {

using compiler::at;

namespace {
constexpr std::uint32_t kArena = 0;
}  // namespace

void BindState::reset(const Plan& plan) {
  views.resize(plan.values.size());
  placed.assign(plan.values.size(), 0);
  direct.assign(plan.outputs.size(), 0);
  blocks.clear();
  allocator.reset();
}

Status Binder::bind(std::size_t segment, std::span<const DimValue> dims, BindState& state,
                    std::span<const View> outputs, std::vector<isa::Word>& words) {
  dims_ = dims;
  state_ = &state;
  outputs_ = outputs;
  temps_.clear();  // of a bind that failed
  num_fused_ = num_split_ = 0;
  launches_.reset();
  compiler::Emitter out(words);
  place_outputs(segment);
  const Segment& range = plan_.segments[segment];
  std::size_t step = range.begin;
  for (; step < range.end && plan_.steps[step].kind != StepKind::kAssign; ++step) {
    const Step& next = plan_.steps[step];
    if (!is_chosen(next)) {
      end_launch();
      for (ValueId root : next.released) release(root);
      continue;
    }
    if (launches_.ends_before(next) || writes_strided_part(next)) end_launch();
    const std::size_t begin = words.size();
    if (Status status = bind_step(next, out); !status.ok()) return std::move(status).error().in(next.name);
    const bool open = launches_.add(next, begin, !temps_.empty(), words);
    release_temps();
    for (ValueId root : next.released) open ? launches_.keep(root, bytes_of(root)) : release(root);
  }
  end_launch();
  if (segment + 1 == plan_.segments.size()) {
    TW_TRY(finish_outputs(out));
    TW_TRY(copy_aliased_assigns(step, out));
    const std::size_t first = step;
    for (; step < range.end; ++step) {
      TW_TRY(compiler::emit_copy(assigned_[step - first], state_->views[plan_.steps[step].inputs[0]], traits_, out));
    }
    temps_.clear();
  }
  scratch_bytes_ = out.scratch_bytes();
  return {};
}

// Whether the step runs with these sizes. Every speculation has one step that runs if sizes agree: there it is counted.
bool Binder::is_chosen(const Step& step) {
  if (step.speculation == kNone) return true;
  const bool equal = choose(plan_.speculations[step.speculation], dims_);
  if (step.if_equal) ++(equal ? num_fused_ : num_split_);
  return equal == step.if_equal;
}

Status Binder::bind_step(const Step& step, compiler::Emitter& out) {
  switch (step.kind) {
    case StepKind::kArea:
      return bind_area(step, out);
    case StepKind::kView:
      return bind_view(step, out);
    default:
      return bind_kernel(step, out);
  }
}

void Binder::set_sizes(View& view, ValueId value) const {
  const PlanValue& info = plan_.values[value];
  view.dtype = info.dtype;
  view.rank = static_cast<std::int8_t>(info.sizes.size());
  for (std::size_t axis = 0; axis < info.sizes.size(); ++axis) view.sizes[axis] = dims_[info.sizes[axis]].integer;
}

std::int64_t Binder::allocate(ValueId root, std::int64_t bytes) {
  const std::int64_t offset = state_->allocator.allocate(bytes);
  state_->blocks.push_back({root, {offset, bytes}});
  return offset;
}

void Binder::release(ValueId root) {
  auto& blocks = state_->blocks;
  for (std::size_t i = 0; i < blocks.size();) {
    if (blocks[i].first != root) {
      ++i;
      continue;
    }
    state_->allocator.release(blocks[i].second.offset, blocks[i].second.bytes);
    blocks[i] = blocks.back();
    blocks.pop_back();
  }
}

std::int64_t Binder::bytes_of(ValueId root) const {
  std::int64_t bytes = 0;
  for (const auto& [owner, block] : state_->blocks) bytes += owner == root ? block.bytes : 0;
  return bytes;
}

// Whether the step writes a part of a concat whose result is not row-major: the verifier does not follow how such parts
// lie between each other, so they do not share a launch.
bool Binder::writes_strided_part(const Step& step) {
  if (!step.beside) return false;
  return std::any_of(step.outputs.begin(), step.outputs.end(), [&](ValueId value) {
    const std::uint32_t part_of = plan_.values[plan_.values[value].root].part_of;
    if (part_of == kNone) return false;
    const ValueId whole = plan_.steps[part_of].outputs[0];
    place(whole);
    return !is_contiguous(state_->views[whole]) || plan_.values[plan_.values[whole].root].part_of != kNone;
  });
}

void Binder::end_launch() {
  for (const ValueId root : launches_.kept()) release(root);
  launches_.reset();
}

std::int64_t Binder::allocate_temp(std::int64_t bytes) {
  const std::int64_t offset = state_->allocator.allocate(bytes);
  temps_.push_back({offset, bytes});
  return offset;
}

void Binder::release_temps() {
  for (const Block& block : temps_) state_->allocator.release(block.offset, block.bytes);
  temps_.clear();
}

// Gives a computed value memory in the arena, unless it lies in an output already.
void Binder::place(ValueId value) {
  if (state_->placed[value] != 0) return;
  if (plan_.values[value].part_of != kNone && place_part(value)) return;
  state_->placed[value] = 1;
  View& view = state_->views[value];
  set_sizes(view, value);
  const std::vector<std::int8_t>& order = plan_.values[value].order;
  if (order.empty()) {
    set_contiguous(view);
  } else {
    std::int64_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      view.strides[at(order[i])] = stride;
      stride *= view.sizes[at(order[i])];
    }
  }
  view.buffer = kArena;
  view.offset = allocate(value, view.count() * byte_size(view.dtype));
}

Status Binder::bind_area(const Step& step, compiler::Emitter& out) {
  inputs_.clear();
  results_.clear();
  for (ValueId value : step.inputs) inputs_.push_back(state_->views[value]);
  for (ValueId value : step.outputs) {
    place(value);
    results_.push_back(state_->views[value]);
  }
  const compiler::Area& area = plan_.areas[step.area];
  std::int64_t panel = 0;
  if (step.pack != kNone) {
    panel = traits_.matmul_panel;
    inputs_[area.rhs] = packed_view(plan_.packs[step.pack]);
  }
  if (step.scale_pack != kNone) inputs_[area.scales] = packed_view(plan_.packs[step.scale_pack]);
  if (step.zero_pack != kNone) inputs_[area.rhs_zero] = packed_view(plan_.packs[step.zero_pack]);
  const compiler::TempMemory temp{
      kArena, [](void* self, std::int64_t bytes) { return static_cast<Binder*>(self)->allocate_temp(bytes); }, this};
  return areas_.emit({&area, inputs_, results_, &plan_.dims, dims_, &traits_, temp, panel, step.scale_pack != kNone,
                      step.zero_pack != kNone},
                     out);
}

View Binder::packed_view(const PackPlan& pack) const {
  View view;
  set_sizes(view, pack.value);
  view = compiler::packed_layout(compiler::matrix_of(view, pack.form), traits_.matmul_panel);
  view.buffer = pack.buffer;
  return view;
}

Status Binder::bind_kernel(const Step& step, compiler::Emitter& out) {
  inputs_.clear();
  results_.clear();
  for (ValueId value : step.inputs) inputs_.push_back(state_->views[value]);
  if (step.in_place) state_->views[step.outputs[0]] = inputs_[0];
  for (ValueId value : step.outputs) {
    if (!step.in_place) place(value);
    results_.push_back(state_->views[value]);
  }
  const StepAttrs attrs(step.attrs, plan_.dims, dims_);
  const compiler::TempMemory temp{
      kArena, [](void* self, std::int64_t bytes) { return static_cast<Binder*>(self)->allocate_temp(bytes); }, this};
  return compiler::emit_kernel({step.op, inputs_, results_, &attrs, &traits_, step.counts, temp}, out);
}

Status Binder::bind_view(const Step& step, compiler::Emitter& out) {
  const ValueId target = step.outputs[0];
  const View from = state_->views[step.inputs[0]];
  View& to = state_->views[target];
  if (state_->placed[target] != 0) return {};  // an output: its producer writes through it
  set_sizes(to, target);
  const StepAttrs attrs(step.attrs, plan_.dims, dims_);
  switch (step.op) {
    case Op::kTranspose:
      transpose_view(from, attrs.integers("perm"), to);
      return {};
    case Op::kExpand:
      expand_view(from, to);
      return {};
    case Op::kFlip:
      flip_view(from, attrs.integers("axes"), to);
      return {};
    case Op::kBitcast:
      to.buffer = from.buffer;
      to.offset = from.offset;
      to.strides = from.strides;
      return {};
    case Op::kSlice: {
      std::array<std::int64_t, compiler::kMaxTensorRank> start{};
      const auto given = attrs.integers("start");
      std::copy(given.begin(), given.end(), start.begin());
      slice_view(from, {start.data(), given.size()}, attrs.integers("step"), to);
      return {};
    }
    default:
      break;
  }
  if (reshape_view(from, to)) return {};
  end_launch();
  View source = from;
  View copy = from;
  set_contiguous(copy);
  copy.buffer = kArena;
  copy.offset = allocate(target, copy.count() * byte_size(copy.dtype));
  TW_TRY(compiler::emit_copy(source, copy, traits_, out));
  TW_CHECK(reshape_view(copy, to), "contiguous memory reads as any shape");
  return {};
}

void Binder::place_outputs(std::size_t segment) {
  for (std::uint32_t output : plan_.segments[segment].outputs_started)
    state_->direct[output] = place_output(output) ? 1 : 0;
}

// Walks from an output back through reshapes and transposes to the computed value, so that its kernel writes the
// output.
bool Binder::place_output(std::uint32_t output) {
  ValueId value = plan_.outputs[output].value;
  const ValueId root = plan_.values[value].root;
  if (plan_.values[root].origin != Origin::kComputed || state_->placed[root] != 0) return false;
  return place_through(value, outputs_[output]);
}

// A piece of a concat lies in the concat's result.
bool Binder::place_part(ValueId value) {
  const PlanValue& info = plan_.values[value];
  const Step& concat = plan_.steps[info.part_of];
  place(concat.outputs[0]);
  const StepAttrs attrs(concat.attrs, plan_.dims, dims_);
  const std::size_t axis = at(attrs.integer("axis"));
  View view = state_->views[concat.outputs[0]];
  for (std::uint32_t i = 0; i < info.part; ++i) {
    const std::int64_t size = dims_[plan_.values[concat.inputs[i]].sizes[axis]].integer;
    view.offset += size * view.strides[axis] * byte_size(view.dtype);
  }
  view.sizes[axis] = dims_[plan_.values[concat.inputs[info.part]].sizes[axis]].integer;
  return place_through(concat.inputs[info.part], view);
}

// The root of `value` is written so that `value` is `view`, if the views between allow it.
bool Binder::place_through(ValueId value, View view) {
  const ValueId root = plan_.values[value].root;
  // The chain of views, then from the value backwards.
  while (value != root) {
    const Node& node = plan_.graph->node(plan_.graph->value(value).producer);
    const ValueId source = node.inputs[0];
    View inner;
    set_sizes(inner, source);
    if (node.op == Op::kReshape) {
      if (!reshape_view(view, inner)) return false;
    } else if (node.op == Op::kTranspose) {
      const Ints& perm = node.attrs.ints("perm");
      inner.buffer = view.buffer;
      inner.offset = view.offset;
      for (std::size_t axis = 0; axis < perm.size(); ++axis) inner.strides[at(perm[axis])] = view.strides[axis];
    } else if (is_update(node.op)) {
      inner = view;  // in place
    } else {
      return false;
    }
    view = inner;
    value = source;
  }
  if (view.dtype != plan_.values[root].dtype) return false;
  state_->views[root] = view;
  state_->placed[root] = 1;
  return true;
}

Status Binder::finish_outputs(compiler::Emitter& out) {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    if (state_->direct[i] != 0 || plan_.outputs[i].kept || plan_.outputs[i].stacked) continue;
    TW_TRY(compiler::emit_copy(state_->views[plan_.outputs[i].value], outputs_[i], traits_, out));
  }
  return {};
}

// A value that is a view of caller memory may change when a buffer is written: it is copied before the first write.
Status Binder::copy_aliased_assigns(std::size_t first, compiler::Emitter& out) {
  assigned_.resize(plan_.steps.size() - first);
  for (std::size_t step = first; step < plan_.steps.size(); ++step) {
    const ValueId value = plan_.steps[step].inputs[1];
    assigned_[step - first] = state_->views[value];
    if (compiler::same_elements(assigned_[step - first], state_->views[plan_.steps[step].inputs[0]])) continue;
    if (plan_.values[plan_.values[value].root].origin != Origin::kInput) continue;
    const View from = state_->views[value];
    View copy = from;
    set_contiguous(copy);
    copy.buffer = kArena;
    copy.offset = allocate_temp(copy.count() * byte_size(copy.dtype));
    TW_TRY(compiler::emit_copy(from, copy, traits_, out));
    assigned_[step - first] = copy;
  }
  return {};
}

}  // namespace tilewright::runtime
