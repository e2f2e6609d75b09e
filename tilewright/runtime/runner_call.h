// One call of a Runner on one context: the state and the steps of runner.cc, runner_host.cc and runner_loop.cc.
// A context remembers its last call: a call with the same sizes, strides and symbols runs the same programs on other
// addresses (it replays), until a size that a host step finds differs. Regions run on contexts that the context of
// their graph keeps, so that a trip of a loop whose sizes stay costs what its instructions cost and little more.
#pragma once

#include "tilewright/runtime/binder.h"
#include "tilewright/runtime/runner.h"
#include "tilewright/runtime/state_memory.h"

namespace tilewright::runtime {

struct Runner::Context {
  Context(const Plan& plan, const BackendTraits& traits);
  void release_large();    // memory of results and state that no call waits for
  void release_tensors();  // what the host gave
  void end_call();

  Arena arena;
  std::int64_t arena_bytes = 0;  // that this call used
  Binder binder;
  BindState state;
  std::vector<DimValue> dims;
  std::unique_ptr<bool[]> known;  // per slot: its symbols are bound
  std::vector<std::byte*> buffers;
  std::vector<std::int64_t> buffer_bytes;
  std::vector<View> outputs;  // views of graph outputs over their buffers
  isa::Program program;       // that is being bound
  ProgramCache::Key key;
  std::vector<Tensor> dynamic;                                 // by value: results of the host, which own their memory
  std::vector<std::vector<StateMemory>> memory;                // by step: results and state of its regions
  std::vector<std::vector<std::unique_ptr<Context>>> regions;  // by step: contexts of its regions
  bool complete = false;          // the last call ran to its end: dims, views and `bound` are of it
  std::int64_t threads = 0;       // that its programs were encoded for
  std::vector<SegmentRef> bound;  // by segment
  struct OuterSymbol {
    Slot own, outer;
    bool known;  // outside, when the last call began
  };
  std::vector<OuterSymbol> outer_symbols;
  std::vector<TensorArg> arguments, results;  // of the branch that runs
  bool has_tensors = false;                   // some of `dynamic` are set
  std::vector<std::shared_ptr<const PackedWeight>> packs;
  std::vector<TensorArg> inputs;  // of the call, with what is prepared
  std::vector<std::shared_ptr<const PreparedValues>> prepared;
};

class Runner::Call {
  friend class Runner::Loop;

 public:
  Call(Runner& runner, Context& context, OutputSink& sink, HostCalls* host)
      : runner_(runner), plan_(runner.plan_), c_(context), sink_(sink), host_(host) {}

  Status run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, const Outer* outer);
  Result<std::vector<isa::Program>> encode(std::span<const TensorArg> inputs, std::span<const DimValue> scalars);

 private:
  void reset_state();
  bool same_as_before(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, const Outer* outer) const;
  void point_inputs(std::span<const TensorArg> inputs);
  void leave_replay(std::size_t step);
  Status set_inputs(std::span<const TensorArg> inputs);
  Status bind_symbols(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, const Outer* outer);
  Status check_axes(std::span<const TensorArg> inputs);
  Status evaluate_dims();
  Status pack_weights(std::span<const TensorArg> inputs);
  Status run_segment(std::size_t segment);
  Status find_program(std::size_t segment);
  Status start_output(std::uint32_t output);
  Status ask_output(std::uint32_t output);
  View pack_view(const PackPlan& pack);
  void set_constant_views();
  void make_key(std::size_t segment);
  void add_layout(ValueId value);
  Result<SegmentRef> bind_segment(std::size_t segment);
  void describe_buffers(std::vector<isa::Buffer>& buffers) const;

  Status run_host_step(std::size_t step);
  Status bind_late(Slot slot, std::int64_t value);
  Status bind_found(std::size_t step, Slot slot, DimValue value);
  Status run_item(std::size_t step);
  Status run_host_call(std::size_t step);
  Status run_if(std::size_t step);
  Status run_loop(std::size_t step);
  Status run_call(std::size_t step);
  Status run_assert(const Step& step);
  Status run_unique(std::size_t step);
  Status set_results(std::size_t step, std::span<const TensorArg> results);
  Status set_tensors(std::size_t step, std::vector<Tensor> results);
  Status check_results(const Step& step, std::span<const TensorArg> results);
  Status run_branch(std::size_t step, std::size_t region);
  Context& region_context(std::size_t step, std::size_t region);
  Status run_region(std::size_t step, std::size_t region, std::span<const TensorArg> inputs, OutputSink& sink);
  Tensor tensor_of(ValueId value) const;
  TensorArg argument_of(ValueId value) const;
  std::byte* address(const View& view) const { return c_.buffers[view.buffer] + view.offset; }

  Runner& runner_;
  const Plan& plan_;
  Context& c_;
  OutputSink& sink_;
  HostCalls* host_;
  std::span<const TensorArg> inputs_;  // of the call that runs
  bool replays_ = false;
  std::size_t segment_ = 0;  // that runs or ran last
};

}  // namespace tilewright::runtime
