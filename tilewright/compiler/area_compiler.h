// AreaCompiler: encodes fused areas for the sizes and strides of one call. tile -> allocate -> emit, no heap allocation once
// warm. One per binding thread; not thread-safe.
#pragma once

#include <functional>

#include "tilewright/compiler/area.h"
#include "tilewright/compiler/loop_nest.h"
#include "tilewright/compiler/strip_coder.h"

namespace tilewright::compiler {

struct AreaCall {
  const Area* area;
  std::span<const View> inputs;
  std::span<const View> outputs;
  const DimProgram* program;
  std::span<const DimValue> dims;    // values of the program's slots
  const BackendTraits* traits;
  TempMemory temp;
  std::int64_t packed_panel = 0;     // contraction: the panel width if input rhs is packed
};

class AreaCompiler {
 public:
  Status emit(const AreaCall& call, Emitter& out);

 private:
  Status emit_map(const AreaCall& call, Emitter& out);
  Status emit_rows(const AreaCall& call, Emitter& out);
  Status emit_columns(const AreaCall& call, Emitter& out);
  Status emit_contraction(const AreaCall& call, Emitter& out);

  // The domain of the area, with one nest view per node that reads memory and one per output.
  void start(const AreaCall& call);
  void add_views(const AreaCall& call);
  StreamSpec spec_of(const View& view, int nest_view, int inner_axis) const;
  StreamSpec literal(const AreaNode& node, const AreaCall& call) const;
  std::uint16_t input_stream(std::uint16_t node, const AreaCall& call, int inner_axis);
  void set_input_sources(const AreaCall& call, int inner_axis);
  void write_streams(Emitter& out, int rank) const;
  std::int64_t element_cost(const Area& area) const;
  void write_epilogue(const AreaCall& call, int n_axis, std::int64_t n);
  // Copies a view to contiguous arena memory, for operands whose strides an instruction cannot walk.
  View copy_to_temp(const View& view, const AreaCall& call, Emitter& out);

  friend class RowsEmitter;

  LoopNest nest_;
  StripCoder coder_;
  std::vector<std::int16_t> node_view_;    // per node: nest view, or -1
  std::vector<std::int16_t> output_view_;  // per output
  std::vector<StripCoder::Root> roots_;
  std::vector<isa::Word> code_;
  std::vector<View> copied_;
};

// One element bit pattern of `dtype` for a host scalar of dtype `from` kind, as a literal stream holds it.
std::int64_t literal_bits(DimValue value, bool is_real, DType dtype);

// Copies `from` to `to` (equal sizes, any strides, dtypes may differ): one map instruction.
Status emit_copy(const View& from, const View& to, const BackendTraits& traits, Emitter& out);

}  // namespace tilewright::compiler
