// Regions that run once: branches and calls. Their results lie in memory that the context keeps.
#include "tilewright/runtime/runner_call.h"
#include "tilewright/runtime/runner_loop.h"

namespace tilewright::runtime {
namespace {

class ResultSink final : public OutputSink {
 public:
  ResultSink(std::span<StateMemory> memory, std::vector<TensorArg>& results) : memory_(memory), results_(results) {}

  Result<std::byte*> allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides) override {
    TW_ASSIGN(const std::int64_t bytes, bytes_of(dtype, sizes));
    std::byte* const data = memory_[output].ensure(bytes);
    if (data == nullptr) return fail(ErrorKind::kOutOfMemory, "no memory for a result of {} bytes", bytes);
    TensorArg& result = results_[output];
    result.dtype = dtype;
    result.rank = static_cast<int>(sizes.size());
    result.data = data;
    std::copy(sizes.begin(), sizes.end(), result.sizes.begin());
    std::copy(strides.begin(), strides.end(), result.strides.begin());
    return data;
  }

 private:
  std::span<StateMemory> memory_;
  std::vector<TensorArg>& results_;
};

}  // namespace

Result<std::int64_t> bytes_of(DType dtype, std::span<const std::int64_t> sizes) {
  std::int64_t bytes = byte_size(dtype);
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return fail(ErrorKind::kOutOfMemory, "a result has more bytes than 64 bits can count");
  }
  return bytes;
}

Runner::Context& Runner::Call::region_context(std::size_t step, std::size_t region) {
  auto& contexts = c_.regions[step];
  if (contexts.empty()) contexts.resize(plan_.steps[step].regions.size());
  if (contexts[region] == nullptr) {
    contexts[region] = std::make_unique<Context>(*plan_.steps[step].regions[region], runner_.machine_.traits());
  }
  return *contexts[region];
}

// `inputs`: the inputs of the region, then its captures.
Status Runner::Call::run_region(std::size_t step, std::size_t region, std::span<const TensorArg> inputs,
                                OutputSink& sink) {
  Context& context = region_context(step, region);
  if (context.arena.base() == nullptr) return fail(ErrorKind::kOutOfMemory, "no address space for an arena");
  const Outer outer{c_.dims, c_.known.get()};
  const Status status = Call(*runner_.regions_[step][region], context, sink, host_).run(inputs, {}, &outer);
  context.release_tensors();
  return status;
}

Status Runner::Call::run_branch(std::size_t index, std::size_t region) {
  const Step& step = plan_.steps[index];
  c_.arguments.clear();
  if (step.kind == StepKind::kCall) {
    for (const ValueId value : step.inputs) c_.arguments.push_back(argument_of(value));
  }
  for (const ValueId value : step.captures[region]) c_.arguments.push_back(argument_of(value));
  c_.memory[index].resize(step.outputs.size());
  c_.results.resize(step.outputs.size());
  ResultSink sink(c_.memory[index], c_.results);
  TW_TRY(run_region(index, region, c_.arguments, sink));
  region_context(index, region).end_call();
  return set_results(index, c_.results);
}

Status Runner::Call::run_if(std::size_t index) {
  const View& condition = c_.state.views[plan_.steps[index].inputs[0]];
  const bool taken = *reinterpret_cast<const std::uint8_t*>(address(condition)) != 0;
  return run_branch(index, taken ? 0 : 1);
}

Status Runner::Call::run_call(std::size_t index) {
  return run_branch(index, 0);
}

Status Runner::Call::run_loop(std::size_t index) {
  return Loop(*this, index).run();
}

}  // namespace tilewright::runtime
