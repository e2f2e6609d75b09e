#include "tilewright/runtime/session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tilewright/runtime/debug.h"
#include "tilewright/runtime/explain.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

void tell(const Session& session, double micros) {
  if (debugs(DebugLevel::kPasses)) {
    for (const passes::PassReport& pass : session.passes()) {
      write_debug(fmt::format("tilewright: graph after {}:\n{}", pass.name, pass.printed));
    }
  }
  const auto explanation = explain(session);
  if (!explanation.ok()) return;
  write_debug(
      fmt::format("tilewright: compiled {} nodes to {} kernels in {} programs, {} steps on the host, {:.0f} us\n",
                  explanation->nodes_before, explanation->kernels.size(), explanation->programs,
                  explanation->fallbacks.size() + explanation->host_steps.size(), micros));
  if (debugs(DebugLevel::kKernels)) write_debug(to_string(*explanation));
}

// The passes that TILEWRIGHT_SKIP names.
void add_skipped(std::vector<std::string>& skip) {
  const char* const given = std::getenv("TILEWRIGHT_SKIP");
  std::string_view rest = given == nullptr ? "" : given;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) skip.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
}

}  // namespace

Result<vm::Machine*> default_machine() {
  static Result<std::unique_ptr<vm::Machine>> machine = [] {
    const char* isa = std::getenv("TILEWRIGHT_ISA");
    if (isa != nullptr && std::string_view(isa) == "reference") {
      return Result<std::unique_ptr<vm::Machine>>(vm::make_reference_machine());
    }
    return vm::make_cpu_machine();
  }();
  if (!machine.ok()) return machine.error();
  return machine->get();
}

Result<std::unique_ptr<Session>> Session::compile(std::unique_ptr<Graph> graph, const SessionOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto session = std::unique_ptr<Session>(new Session());
  vm::Machine* machine = options.machine;
  if (machine == nullptr) {
    TW_ASSIGN(machine, default_machine());
  }
  session->source_ = graph->clone();
  passes::open_areas(*graph);
  passes::PipelineOptions pipeline = options.pipeline;
  add_skipped(pipeline.skip);
  if (debugs(DebugLevel::kPasses)) {
    pipeline.verify_each = true;
    pipeline.print_after.emplace_back("all");
  }
  TW_ASSIGN(session->reports_, passes::run_pipeline(*graph, pipeline));
  std::unique_ptr<Graph> live;
  if (passes::has_unread_nodes(*session->source_)) {
    live = session->source_->clone();
    passes::remove_dead_nodes(*live);
  }
  std::vector<passes::SpeculativeArea> speculative;
  for (passes::PassReport& report : session->reports_) {
    std::move(report.fused.speculative.begin(), report.fused.speculative.end(), std::back_inserter(speculative));
    report.fused.speculative.clear();
  }
  PlanOptions plan_options{
      .panel = machine->traits().matmul_panel,
      .output_strides = options.output_strides,
      .stack = std::find(pipeline.skip.begin(), pipeline.skip.end(), "stack_steps") == pipeline.skip.end(),
      .speculative = &speculative,
      .speculated = graph.get(),
      .source = live != nullptr ? live.get() : session->source_.get()};
  TW_ASSIGN(session->plan_, build_plan(std::move(graph), plan_options));
  session->runner_ = std::make_unique<Runner>(*session->plan_, *machine, options.runner);
  if (debugs(DebugLevel::kSummary)) {
    tell(*session, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return session;
}

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs, std::span<const DimValue> scalars,
                                         HostCalls* host) {
  std::vector<TensorArg> args;
  args.reserve(inputs.size());
  for (const Tensor& tensor : inputs) args.push_back(TensorArg::of(tensor));
  TensorSink sink;
  TW_TRY(runner_->run(args, scalars, sink, host));
  sink.tensors().resize(plan_->outputs.size());
  return std::move(sink.tensors());
}

Result<std::vector<isa::Program>> Session::encode(std::span<const std::vector<std::int64_t>> sizes,
                                                  std::span<const DimValue> scalars) {
  std::vector<TensorArg> args;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool known = i < source_->inputs().size();
    if (sizes[i].size() > static_cast<std::size_t>(compiler::kMaxTensorRank)) {
      return fail(ErrorKind::kShapeMismatch, "input {} has {} axes, at most {} are possible", i, sizes[i].size(),
                  compiler::kMaxTensorRank);
    }
    TensorArg arg{.dtype = known ? source_->type(source_->inputs()[i]).dtype : DType::kF32,
                  .rank = static_cast<int>(sizes[i].size())};
    const std::vector<std::int64_t> strides = contiguous_strides(sizes[i]);
    std::copy(sizes[i].begin(), sizes[i].end(), arg.sizes.begin());
    std::copy(strides.begin(), strides.end(), arg.strides.begin());
    args.push_back(arg);
  }
  return runner_->encode(args, scalars);
}

}  // namespace tilewright::runtime
