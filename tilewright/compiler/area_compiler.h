// AreaCompiler: encodes fused areas for the sizes and strides of one call. tile -> allocate -> emit, no heap allocation
// once warm. One per binding thread; not thread-safe.
#pragma once

#include "tilewright/compiler/area.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/loop_nest.h"
#include "tilewright/compiler/row_prologue.h"
#include "tilewright/compiler/strip_coder.h"

namespace tilewright::compiler {

struct AreaCall {
  const Area* area;
  std::span<const View> inputs;
  std::span<const View> outputs;
  const DimProgram* program;
  std::span<const DimValue> dims;  // values of the program's slots
  const BackendTraits* traits;
  TempMemory temp;
  std::int64_t packed_panel = 0;                     // contraction: the panel width if input rhs is packed
  bool packed_scales = false, packed_zeros = false;  // of a 4-bit weight: inputs scales and rhs_zero are packed
};

// What RowsEmitter keeps per node, and the phases it has written.
struct RowNode {
  bool buffered = false;     // the value of every element is stored in a row buffer
  bool stored = false;       // the one value per row is stored, because a later phase reads it
  std::uint16_t buffer = 0;  // its stream
  std::uint16_t scalar = 0;  // stream of the one value per row
  RowPrologue prologue;      // of a native operation that computes its operand itself
};
struct RowPhase {
  isa::PhaseOp op;
  std::size_t begin, end;  // of the code
  std::array<std::uint16_t, 6> operands;
};

class AreaCompiler {
 public:
  Status emit(const AreaCall& call, Emitter& out);

 private:
  Status emit_map(const AreaCall& call, Emitter& out);
  Status emit_rows(const AreaCall& call, Emitter& out);
  Status emit_columns(const AreaCall& call, Emitter& out);
  // What a columns instruction reduces: everything; one part into partials_, or many; partials_.
  enum class Columns : std::uint8_t { kWhole, kPart, kParts, kOfParts };
  void emit_column_parts(const AreaCall& call, int first, std::int64_t part, Emitter& out);
  void write_columns(const AreaCall& call, int reduced, Columns what, std::int64_t first_part, Emitter& out);
  void write_accumulation(const Area& area, Columns what, std::uint16_t first, std::uint16_t partials);
  void add_column_results(const Area& area, Columns what, int inner_axis, std::uint16_t partials);
  std::uint16_t add_partials(Columns what, int reduced, std::int64_t first_part);
  DType accumulator_dtype(const AreaNode& node, const Area& area) const;
  bool reduces_in_parts(const Area& area, int axis) const;
  std::int64_t emit_parts(const AreaCall& call, int axis, Emitter& out);
  void emit_part_rows(const AreaCall& call, int inner_axis, std::int64_t first, Emitter& out);
  void shift_inputs(int axis, std::int64_t positions);
  Status emit_contraction(const AreaCall& call, Emitter& out);

  // The domain of the area, with one nest view per node that reads memory and one per output.
  void start(const AreaCall& call);
  void add_views(const AreaCall& call);
  StreamSpec spec_of(const View& view, int nest_view, int inner_axis) const;
  StreamSpec literal(std::uint16_t node, const AreaCall& call) const;
  std::uint16_t input_stream(std::uint16_t node, const AreaCall& call, int inner_axis);
  void set_input_sources(const AreaCall& call, int inner_axis);
  void write_streams(Emitter& out, int rank) const;
  std::int64_t element_cost(const Area& area) const;
  // b of a narrow product, packed by an instruction of its own where tasks would pack it again and again.
  View packed_once(const View& rhs, const AreaCall& call, Emitter& out);
  Status emit_block_contraction(const AreaCall& call, Emitter& out);
  StreamSpec block_operand(const View& operand, PackForm form, bool packed, const AreaCall& call, Emitter& out) const;
  void add_zero(std::uint16_t input, DType dtype, int nest_view, int n_axis, const AreaCall& call);
  void write_epilogue(const AreaCall& call, std::uint16_t tile, DType dtype, int n_axis, std::int64_t n);
  // Gives view `nest_view` of node `id` (an input or an iota) contiguous memory from axis `first` on, for operands
  // whose strides an instruction cannot walk. Where an axis before it is broadcast it stays so.
  void materialise(std::uint16_t id, int first, const AreaCall& call, Emitter& out);
  // Memory like `view` but contiguous from axis `first` on; the strides of the nest view become its own.
  View temp_like(const View& view, int nest_view, int first, const AreaCall& call);
  View view_of_nest(const View& memory, int nest_view) const;

  friend class RowsEmitter;

  LoopNest nest_;
  StripCoder coder_;
  std::vector<std::int16_t> node_view_;    // per node: nest view, or -1
  std::vector<std::int16_t> output_view_;  // per output
  std::vector<View> node_memory_;          // per node with a nest view: dtype, buffer and offset of what it reads
  std::vector<char> in_memory_;            // per node: an iota that was written to memory
  std::vector<View> output_memory_;        // per output
  std::vector<RowNode> row_nodes_;         // of RowsEmitter, per node
  std::vector<RowPhase> row_phases_;
  std::vector<StreamSpec> partials_;                  // per reduction of a row in parts
  std::vector<std::pair<View, View>> moved_outputs_;  // where an output belongs, the memory it is computed in
  std::vector<StripCoder::Root> roots_;
  std::vector<isa::Word> code_;
};

}  // namespace tilewright::compiler
