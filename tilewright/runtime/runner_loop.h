// Loop: while and scan as a host step. Carried state alternates between two blocks of memory, or stays in one where the
// body updates it in place; elements are written where they are stacked; slices of scanned inputs are views. A trip
// whose sizes are those of the trip before only changes addresses: no allocation, no lock, nothing bound anew.
#pragma once

#include "tilewright/runtime/runner_call.h"

namespace tilewright::runtime {

Result<std::int64_t> bytes_of(DType dtype, std::span<const std::int64_t> sizes);

class Runner::Loop final : public OutputSink {
 public:
  Loop(Call& call, std::size_t step);
  Status run();
  // Results of the body.
  Result<std::byte*> allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides) override;

 private:
  struct Carried {
    std::byte* next = nullptr;  // where the body writes
    int block = -1;             // of its two, where it lies; -1: where the loop found it
    bool kept = false;          // the body leaves it where it is
  };
  struct Stacked {
    std::vector<std::int64_t> sizes;  // of an element
    std::int64_t bytes = 0;
    std::uint32_t output = kNone;  // of the graph, in which they are stacked
  };

  Status start_state();
  Status start_slices();
  Status start_stacks();
  Status move_in(std::size_t carried);
  Result<bool> wants_trip();
  Status run_trip();
  void take_next();
  Result<std::byte*> place_element(std::size_t stacked, DType dtype, std::span<const std::int64_t> sizes);
  Result<std::byte*> place_first(std::size_t stacked, DType dtype, std::span<const std::int64_t> sizes);
  Status finish();
  TensorArg stacked_result(std::size_t stacked);
  StateMemory& block(std::size_t carried, int which) { return memory_[2 * carried + static_cast<std::size_t>(which)]; }
  StateMemory& stack(std::size_t stacked) { return memory_[2 * step_.carried + stacked]; }

  Call& call_;
  const std::size_t index_;
  const Step& step_;
  const std::size_t first_;        // conditions among inputs and body results
  const std::size_t first_state_;  // of the body's inputs
  const std::size_t body_;         // its region
  std::int64_t trips_ = INT64_MAX, trip_ = 0;
  std::uint8_t again_ = 1;
  std::vector<TensorArg> body_inputs_, condition_inputs_;
  std::vector<std::int64_t> slice_steps_;  // in bytes
  std::vector<Carried> carried_;
  std::vector<Stacked> stacked_;
  std::vector<StateMemory>& memory_;  // two blocks per carried value, one per stacked result
};

}  // namespace tilewright::runtime
