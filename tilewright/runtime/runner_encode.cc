// Encoding without running: the bytecode of a call as tools show it.
#include "tilewright/compiler/kernels.h"
#include "tilewright/runtime/runner_call.h"

namespace tilewright::runtime {
namespace {

class NoMemory final : public OutputSink {
 public:
  Result<std::byte*> allocate(std::size_t, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return static_cast<std::byte*>(nullptr);
  }
};

}  // namespace

Result<std::vector<isa::Program>> Runner::encode(std::span<const TensorArg> inputs, std::span<const DimValue> scalars) {
  std::unique_ptr<Context> context = take_context();
  NoMemory sink;
  std::vector<TensorArg> all(inputs.begin(), inputs.end());
  for (const PreparedPlan& prepared : plan_.prepared) add_arguments(*prepared.plan, all);
  auto programs = Call(*this, *context, sink, nullptr).encode(all, scalars);
  return_context(std::move(context));
  return programs;
}

Result<std::vector<isa::Program>> Runner::Call::encode(std::span<const TensorArg> inputs,
                                                       std::span<const DimValue> scalars) {
  c_.complete = false;
  TW_TRY(set_inputs(inputs));
  TW_TRY(bind_symbols(inputs, scalars, nullptr));
  TW_TRY(check_axes(inputs));
  for (const PackPlan& pack : plan_.packs) {
    const std::int64_t panel = runner_.machine_.traits().matmul_panel;
    c_.buffer_bytes[pack.buffer] = compiler::packed_bytes(compiler::matrix_of(pack_view(pack), pack.form), panel);
  }
  reset_state();
  for (const std::uint32_t output : plan_.segments[0].outputs_started) TW_TRY(start_output(output));
  make_key(0);
  auto bound = bind_segment(0);
  if (!bound.ok()) return std::move(bound).error();
  return std::vector<isa::Program>{c_.program};
}

}  // namespace tilewright::runtime
