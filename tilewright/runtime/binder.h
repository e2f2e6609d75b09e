// Binder: binds one segment of a plan for known symbols: finds where every value lies, lays out the arena, encodes the
// kernels. Order: views and lifetimes step by step, temporary memory of a kernel for that kernel alone. Deterministic:
// the same plan, symbols and strides give the same program. One per context; nothing is allocated once it is warm.
#pragma once

#include "tilewright/compiler/area_compiler.h"
#include "tilewright/runtime/launches.h"
#include "tilewright/runtime/offset_allocator.h"
#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

using compiler::View;

struct Block {
  std::int64_t offset, bytes;
};

// Where everything lies, from segment to segment of one call.
struct BindState {
  std::vector<View> views;                        // by value
  std::vector<char> placed;                       // by value: it has memory, in the arena or in an output
  std::vector<char> direct;                       // by output: its root writes to it
  std::vector<std::pair<ValueId, Block>> blocks;  // arena memory by root
  OffsetAllocator allocator;

  void reset(const Plan& plan);
};

class Binder {
 public:
  Binder(const Plan& plan, const BackendTraits& traits) : plan_(plan), traits_(traits), launches_(traits.l2_bytes) {}

  // `state` holds the views of inputs, constants and dynamic values, and what earlier segments left; `outputs` the
  // views of the graph outputs that start here (by output). Appends the program to `words`.
  Status bind(std::size_t segment, std::span<const DimValue> dims, BindState& state, std::span<const View> outputs,
              std::vector<isa::Word>& words);
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  // Of the speculations in the segment that was bound last: those that became one kernel, and those that did not.
  int num_fused() const { return num_fused_; }
  int num_split() const { return num_split_; }

 private:
  bool is_chosen(const Step& step);
  Status bind_step(const Step& step, compiler::Emitter& out);
  Status bind_area(const Step& step, compiler::Emitter& out);
  Status bind_kernel(const Step& step, compiler::Emitter& out);
  Status bind_view(const Step& step, compiler::Emitter& out);
  void place_outputs(std::size_t segment);
  bool place_output(std::uint32_t output);
  bool place_through(ValueId value, View view);
  bool place_part(ValueId value);
  Status finish_outputs(compiler::Emitter& out);
  Status copy_aliased_assigns(std::size_t first, compiler::Emitter& out);
  void place(ValueId value);
  View packed_view(const PackPlan& pack) const;
  void set_sizes(View& view, ValueId value) const;
  std::int64_t allocate(ValueId root, std::int64_t bytes);
  void release(ValueId root);
  std::int64_t bytes_of(ValueId root) const;
  bool writes_strided_part(const Step& step);
  void end_launch();
  void release_temps();
  std::int64_t allocate_temp(std::int64_t bytes);

  const Plan& plan_;
  const BackendTraits& traits_;
  compiler::AreaCompiler areas_;
  std::span<const DimValue> dims_;
  BindState* state_ = nullptr;
  std::span<const View> outputs_;
  std::vector<Block> temps_;
  std::vector<View> inputs_, results_;
  std::vector<View> assigned_;  // what the assigns write, by assign
  Launches launches_;
  std::int64_t scratch_bytes_ = 0;
  int num_fused_ = 0, num_split_ = 0;
};

}  // namespace tilewright::runtime
