// Runner: runs a plan. Re-entrant and thread-safe: each call takes a context (arena, binder, buffers) of its own from a
// list of idle ones; regions run on contexts that the context of their graph holds. Order of a call: inputs, symbols,
// guards, outputs, then segment by segment bind (or cache), run, host step.
#pragma once

#include <mutex>

#include "tilewright/runtime/arena.h"
#include "tilewright/runtime/arguments.h"
#include "tilewright/runtime/plan.h"
#include "tilewright/runtime/prepared.h"
#include "tilewright/runtime/program_cache.h"
#include "tilewright/runtime/weights.h"

namespace tilewright::runtime {

struct RunnerOptions {
  std::int64_t cache_bytes = 1 << 20;  // of programs; encoding one anew costs little. 0: every call encodes
};

class Runner {
 public:
  Runner(const Plan& plan, vm::Machine& machine, const RunnerOptions& options, bool is_region = false);
  ~Runner();

  struct Outer {  // of a region: the dims of the graph around it
    std::span<const DimValue> dims;
    const bool* known;
  };
  Status run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink, HostCalls* host,
             const Outer* outer = nullptr);
  // The programs that such a call would run, without running it: that of the first segment. Data may be null.
  Result<std::vector<isa::Program>> encode(std::span<const TensorArg> inputs, std::span<const DimValue> scalars);
  const Plan& plan() const { return plan_; }
  void trim();

 private:
  struct Context;
  class Call;
  class Loop;

  std::unique_ptr<Context> take_context();
  void return_context(std::unique_ptr<Context> context);

  Status add_prepared(std::span<const TensorArg> inputs, Context& context);

  const Plan& plan_;
  vm::Machine& machine_;
  const bool is_region_;
  const bool replays_;  // a call may run the programs of the one before
  ProgramCache cache_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> idle_;
  std::vector<std::vector<std::unique_ptr<Runner>>> regions_;  // by step
  std::vector<std::unique_ptr<Prepared>> prepared_;
  // Which input axes bind a symbol, and which are checked.
  struct Axis {
    std::uint32_t input;
    std::uint32_t axis;
    Slot slot;
  };
  std::vector<Axis> binding_axes_, checked_axes_;
  // Packed weights of the last call.
  std::mutex pack_mutex_;
  std::vector<std::pair<PackKey, std::shared_ptr<const PackedWeight>>> packs_;
};

}  // namespace tilewright::runtime
