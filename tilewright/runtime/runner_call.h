// One call of a Runner on one context: the state and the steps of runner.cc and runner_host.cc.
#pragma once

#include "tilewright/runtime/runner.h"

namespace tilewright::runtime {

struct Runner::Context {
  Context(const Plan& plan, const BackendTraits& traits);

  Arena arena;
  std::int64_t arena_bytes = 0;  // that this call used
  Binder binder;
  BindState state;
  std::vector<DimValue> dims;
  std::unique_ptr<bool[]> known;  // per slot: its symbols are bound
  std::vector<std::byte*> buffers;
  std::vector<std::int64_t> buffer_bytes;
  std::vector<View> outputs;  // views of graph outputs over their buffers
  std::vector<isa::Word> words;
  ProgramCache::Key key;
  std::vector<Tensor> dynamic;  // by value: results of host steps, which own their memory
  std::vector<std::shared_ptr<const PackedWeight>> packs;
};

class Runner::Call {
 public:
  Call(Runner& runner, Context& context, OutputSink& sink, HostCalls* host)
      : runner_(runner), plan_(runner.plan_), c_(context), sink_(sink), host_(host) {}

  Status run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, const Outer* outer);
  Result<std::vector<isa::Program>> encode(std::span<const TensorArg> inputs, std::span<const DimValue> scalars);

 private:
  void reset_state();
  Status set_inputs(std::span<const TensorArg> inputs);
  Status bind_symbols(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, const Outer* outer);
  Status check_axes(std::span<const TensorArg> inputs);
  Status evaluate_dims();
  Status pack_weights(std::span<const TensorArg> inputs);
  Status run_segment(std::size_t segment);
  Status start_output(std::uint32_t output);
  View pack_view(const PackPlan& pack);
  void set_constant_views();
  void make_key(std::size_t segment);
  void add_layout(ValueId value);
  Result<std::shared_ptr<const BoundSegment>> bind_segment(std::size_t segment);
  std::vector<isa::Buffer> describe_buffers() const;

  Status run_host_step(std::size_t step);
  Status bind_late(Slot slot, std::int64_t value);
  Status run_item(const Step& step);
  Status run_host_call(const Step& step);
  Status run_if(std::size_t index);
  Status run_while(std::size_t index);
  Status run_scan(std::size_t index);
  Status run_call(std::size_t index);
  Status run_assert(const Step& step);
  Status run_unique(const Step& step);
  Status set_dynamic(const Step& step, std::vector<Tensor> results);
  Result<std::vector<Tensor>> run_region(std::size_t step, std::size_t region, std::span<const TensorArg> carried);
  Tensor tensor_of(ValueId value) const;
  TensorArg argument_of(ValueId value) const;
  std::byte* address(const View& view) const { return c_.buffers[view.buffer] + view.offset; }

  Runner& runner_;
  const Plan& plan_;
  Context& c_;
  OutputSink& sink_;
  HostCalls* host_;
};

}  // namespace tilewright::runtime
