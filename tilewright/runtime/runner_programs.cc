// Programs of a call: found in the cache or bound and encoded, then run.
#include <time.h>

#include "tilewright/isa/written.h"
#include "tilewright/runtime/debug.h"
#include "tilewright/runtime/runner_call.h"
#include "tilewright/runtime/stats.h"
#include "tilewright/runtime/views.h"

namespace tilewright::runtime {
namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

// What a bound segment depends on: every known symbol, the strides of what comes from outside, and the threads that
// share the tasks.
void Runner::Call::make_key(std::size_t segment) {
  c_.key.clear();
  c_.key.push_back(static_cast<std::int64_t>(segment) | runner_.machine_.traits().threads << 32);
  const bool partial = plan_.has_late || plan_.outer_symbols;
  for (Slot slot : plan_.symbol_slots) {
    if (partial && !c_.known[slot]) continue;
    c_.key.push_back(c_.dims[slot].integer);
  }
  for (ValueId value : plan_.inputs) add_layout(value);
  for (const Step& step : plan_.steps) {
    for (ValueId value : step.outputs) {
      if (plan_.values[value].origin == Origin::kDynamic && c_.dynamic[value].data() != nullptr) add_layout(value);
    }
  }
}

void Runner::Call::add_layout(ValueId value) {
  const View& view = c_.state.views[value];
  if (is_contiguous(view)) return;
  c_.key.push_back(static_cast<std::int64_t>(value) | std::int64_t{1} << 40);
  for (int axis = 0; axis < view.rank; ++axis) c_.key.push_back(view.strides[static_cast<std::size_t>(axis)]);
}

Status Runner::Call::run_segment(std::size_t segment) {
  if (replays_) {
    for (std::uint32_t output : plan_.segments[segment].outputs_started) TW_TRY(ask_output(output));
    stats().cache_hits.fetch_add(1, std::memory_order_relaxed);
  } else {
    for (std::uint32_t output : plan_.segments[segment].outputs_started) TW_TRY(start_output(output));
    TW_TRY(find_program(segment));
  }
  const BoundSegment& bound = *c_.bound[segment];
  if (!c_.arena.ensure(bound.arena_bytes)) {
    return fail(ErrorKind::kOutOfMemory, "the call needs {} bytes, the arena holds {}", bound.arena_bytes,
                c_.arena.capacity());
  }
  c_.arena_bytes = std::max(c_.arena_bytes, bound.arena_bytes);
  c_.buffers[0] = c_.arena.base();
  if (bound.words().empty()) return {};
  stats().launches.fetch_add(1, std::memory_order_relaxed);
  stats().bytes_written.fetch_add(bound.bytes_written, std::memory_order_relaxed);
  if (bound.num_fused + bound.num_split != 0) {
    stats().speculations_fused.fetch_add(bound.num_fused, std::memory_order_relaxed);
    stats().speculations_split.fetch_add(bound.num_split, std::memory_order_relaxed);
  }
  // A trip of a loop takes about 100 ns: looking at the clock around it would take as long.
  if (runner_.is_region_) return runner_.machine_.run(bound.words(), bound.scratch_bytes, c_.buffers);
  const std::int64_t start = clock_ns(CLOCK_MONOTONIC);
  Status status = runner_.machine_.run(bound.words(), bound.scratch_bytes, c_.buffers);
  stats().machine_ns.fetch_add(clock_ns(CLOCK_MONOTONIC) - start, std::memory_order_relaxed);
  return status;
}

Status Runner::Call::find_program(std::size_t segment) {
  make_key(segment);
  SegmentRef bound = runner_.cache_.find(c_.key);
  if (bound) {
    stats().cache_hits.fetch_add(1, std::memory_order_relaxed);
    if (bound->state) {
      // Views of inputs and dynamic values are equal by the key; everything else comes from the entry.
      c_.state = *bound->state;
    }
  } else {
    auto made = bind_segment(segment);
    if (!made.ok()) return std::move(made).error();
    bound = std::move(made).value();
  }
  c_.bound[segment] = std::move(bound);
  return {};
}

Result<SegmentRef> Runner::Call::bind_segment(std::size_t segment) {
  const std::int64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  isa::Program& program = c_.program;
  program.words.clear();
  if (segment == 0) set_constant_views();
  TW_TRY(c_.binder.bind(segment, c_.dims, c_.state, c_.outputs, program.words));
  program.scratch_bytes = c_.binder.scratch_bytes();
  describe_buffers(program.buffers);
  program.buffers[0].bytes = c_.state.allocator.end();
  std::int64_t bytes_written = 0;
  if (Status status = isa::verify_program(program, bytes_written); !status.ok()) {
    return fail(ErrorKind::kInternal, "an encoded program does not verify: {}", status.error().message);
  }
  SegmentRef bound = BoundSegment::make(c_.key, program.words);
  BoundSegment& made = *bound.get();
  made.scratch_bytes = program.scratch_bytes;
  made.arena_bytes = program.buffers[0].bytes;
  made.bytes_written = bytes_written;
  made.num_fused = c_.binder.num_fused();
  made.num_split = c_.binder.num_split();
  if (plan_.segments.size() > 1) made.state = std::make_unique<BindState>(c_.state);
  const std::int64_t spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
  if (debugs(DebugLevel::kPrograms)) write_debug(isa::disassemble(program));
  stats().programs_encoded.fetch_add(1, std::memory_order_relaxed);
  stats().add_encode_time(spent);
  runner_.cache_.insert(bound);
  return bound;
}

void Runner::Call::set_constant_views() {
  for (ValueId id = 0; id < plan_.values.size(); ++id) {
    const PlanValue& value = plan_.values[id];
    if (value.origin != Origin::kConstant) continue;
    View& view = c_.state.views[id];
    view.dtype = value.dtype;
    view.buffer = value.buffer;
    view.offset = 0;
    view.rank = static_cast<std::int8_t>(value.sizes.size());
    for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) view.sizes[axis] = c_.dims[value.sizes[axis]].integer;
    set_contiguous(view);
  }
}

void Runner::Call::describe_buffers(std::vector<isa::Buffer>& buffers) const {
  buffers.assign(plan_.num_buffers, {isa::BufferKind::kInput, 0});
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].bytes = c_.buffer_bytes[i];
  buffers[0].kind = isa::BufferKind::kArena;
  for (const auto& entry : plan_.constants) buffers[entry.first].kind = isa::BufferKind::kConstant;
  for (const PackPlan& pack : plan_.packs) buffers[pack.buffer].kind = isa::BufferKind::kPacked;
  for (const PlanOutput& output : plan_.outputs) buffers[output.buffer].kind = isa::BufferKind::kOutput;
  for (const std::uint32_t written : plan_.written_buffers) buffers[written].kind = isa::BufferKind::kOutput;
  for (const Step& step : plan_.steps) {
    if (step.kind == StepKind::kAssign) buffers[plan_.values[step.inputs[0]].buffer].kind = isa::BufferKind::kOutput;
  }
}

}  // namespace tilewright::runtime
