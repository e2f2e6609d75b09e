// Row areas: passes over whole rows with row reductions, native softmax and norms in between. Level by level: one strip
// phase at the elements (accumulates, stores, fills row buffers), the native phases, one scalar phase along the rows.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/literals.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;
using Root = StripCoder::Root;

namespace {
constexpr std::int64_t kReduceTileElements = 16384;
constexpr std::int64_t kMaxRowScratch = 512 << 10;
}  // namespace

class RowsEmitter {
 public:
  RowsEmitter(AreaCompiler& compiler, const AreaCall& call, Emitter& out)
      : compiler_(compiler),
        nest_(compiler.nest_),
        coder_(compiler.coder_),
        area_(*call.area),
        call_(call),
        out_(out) {}

  Status run() {
    compiler_.start(call_);
    compiler_.add_views(call_);
    compiler_.moved_outputs_.clear();
    const int split = nest_.rank - area_.row_axes;
    if (nest_.count(0, split) == 0) return {};
    int outer = nest_.collapse(0, split);
    nest_.collapse(outer, nest_.rank);
    if (nest_.rank - outer > 1) make_rows_one_loop(outer);
    make_parameters_contiguous(outer);
    if (nest_.rank == outer) nest_.insert_unit_axis(outer);
    if (outer == 0) nest_.insert_unit_axis(outer++);
    rank_ = outer;
    length_ = nest_.sizes[at(outer)];
    rows_ = nest_.sizes[at(outer - 1)];
    others_ = nest_.count(0, outer - 1);
    const bool in_parts = compiler_.reduces_in_parts(area_, outer);
    if (in_parts) length_ = compiler_.emit_parts(call_, outer, out_);
    compiler_.code_.clear();
    plan_buffers();
    coder_.reset(area_, scratch_);
    compiler_.set_input_sources(call_, outer);
    place_buffers();
    emit_scalar_phase(0);
    if (in_parts) {
      emit_combining_phase();
      emit_scalar_phase(1);
    } else {
      for (std::uint8_t level = 0; level <= area_.max_level; ++level) emit_level(level);
    }
    write();
    return copy_moved_outputs();
  }

 private:
  // A value that is computed once per row and kept. What depends on row inputs alone is computed where it is read.
  bool is_row_result(const AreaNode& node) const {
    return node.kind == Kind::kReduce || (node.kind == Kind::kStrip && node.row && node.level > 0);
  }

  bool walks_as_one_loop(int view, int first) const {
    for (int axis = first; axis + 1 < nest_.rank; ++axis) {
      const auto& strides = nest_.strides[at(view)];
      if (strides[at(axis)] != strides[at(axis + 1)] * nest_.sizes[at(axis + 1)]) return false;
    }
    return true;
  }

  // Several row axes that some operand does not walk as one: such operands go through contiguous memory.
  void make_rows_one_loop(int first) {
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const int view = compiler_.node_view_[i];
      if (view >= 0 && !walks_as_one_loop(view, first))
        compiler_.materialise(static_cast<std::uint16_t>(i), first, call_, out_);
    }
    for (std::size_t i = 0; i < area_.outputs.size(); ++i) {
      const int view = compiler_.output_view_[i];
      if (walks_as_one_loop(view, first)) continue;
      const View target = compiler_.view_of_nest(compiler_.output_memory_[i], view);
      compiler_.output_memory_[i] = compiler_.temp_like(target, view, first, call_);
      compiler_.moved_outputs_.push_back({target, compiler_.output_memory_[i]});
    }
    nest_.collapse(first, nest_.rank);
    TW_CHECK(nest_.rank - first <= 1, "rows of contiguous memory are one loop");
  }

  // Weights and biases of native norms have unit stride along the row.
  void make_parameters_contiguous(int first) {
    if (nest_.rank == first) return;
    for (const AreaNode& node : area_.nodes) {
      if (node.kind != Kind::kRowOp) continue;
      for (std::uint16_t id : {node.b, node.c}) {
        if (id == AreaNode::kNone || nest_.strides[at(compiler_.node_view_[id])][at(first)] == 4) continue;
        compiler_.materialise(id, first, call_, out_);
      }
    }
  }

  Status copy_moved_outputs() {
    for (auto& [target, memory] : compiler_.moved_outputs_) {
      target.sizes = memory.sizes;
      TW_TRY(emit_copy(memory, target, *call_.traits, out_));
    }
    return {};
  }

  // A native phase reads f32 rows with unit stride: an input as it lies, or a row buffer.
  bool readable_by_phase(std::uint16_t id) const {
    const AreaNode& node = area_.nodes[id];
    if (node.kind != Kind::kInput || compiler_.node_memory_[id].dtype != DType::kF32) return false;
    return nest_.strides[at(compiler_.node_view_[id])][at(rank_)] == 4;
  }

  void take_prologue(std::size_t operation) {
    const RowPrologue found = find_row_prologue(area_, area_.nodes[operation]);
    if (found.from == AreaNode::kNone || !readable_by_phase(found.from)) return;
    if (found.addend != AreaNode::kNone && !readable_by_phase(found.addend)) return;
    kept(operation).prologue = found;
  }

  int direct_output(std::uint16_t id) const {
    if (area_.nodes[id].uses != 1) return -1;
    for (std::size_t i = 0; i < area_.outputs.size(); ++i) {
      if (area_.outputs[i].node != id) continue;
      const bool unit = nest_.strides[at(compiler_.output_view_[i])][at(rank_)] == 4 || length_ == 1;
      return compiler_.output_memory_[i].dtype == DType::kF32 && unit ? static_cast<int>(i) : -1;
    }
    return -1;
  }

  // Row values that a later phase reads than the scalar phase that computes them.
  void find_stored_row_values() {
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& user = area_.nodes[i];
      if (user.kind == Kind::kReduce) kept(i).stored = true;
      if (user.kind != Kind::kStrip && user.kind != Kind::kReduce && user.kind != Kind::kRowOp) continue;
      for (std::uint16_t operand : {user.a, user.b, user.c}) {
        if (operand == AreaNode::kNone || !is_row_result(area_.nodes[operand])) continue;
        const bool same_phase =
            is_row_result(user) && user.kind == Kind::kStrip && user.level == area_.nodes[operand].level;
        if (!same_phase) kept(operand).stored = true;
      }
    }
    for (const AreaOutput& output : area_.outputs) {
      if (!output.row && is_row_result(area_.nodes[output.node])) kept(output.node).stored = true;
    }
  }

  void plan_buffers() {
    compiler_.row_nodes_.assign(area_.nodes.size(), RowNode{});
    compiler_.row_phases_.clear();
    find_stored_row_values();
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& user = area_.nodes[i];
      if (user.kind == Kind::kRowOp) {
        take_prologue(i);
        if (kept(i).prologue.from == AreaNode::kNone && !readable_by_phase(user.a)) kept(user.a).buffered = true;
        if (direct_output(static_cast<std::uint16_t>(i)) < 0) kept(i).buffered = true;
        continue;
      }
      if (user.kind != Kind::kStrip) continue;
      for (std::uint16_t operand : {user.a, user.b, user.c}) {
        if (operand == AreaNode::kNone) continue;
        const AreaNode& node = area_.nodes[operand];
        if (node.kind == Kind::kStrip && !node.row && node.level < user.level) kept(operand).buffered = true;
      }
    }
    std::int64_t per_row = 0, scalars = 0;
    int accumulators = 0;
    buffer_stride_ = round_up(length_ * area_.lane_width, 64);
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      if (kept(i).buffered) per_row += buffer_stride_;
      if (kept(i).stored) ++scalars;
      if (area_.nodes[i].kind == Kind::kReduce) ++accumulators;
    }
    in_scratch_ = per_row <= kMaxRowScratch;
    choose_tile(per_row);
    const std::int64_t per_tile_row = (in_scratch_ ? per_row : 0) + scalars * area_.lane_width;
    if (per_tile_row > 0) row_tile_ = std::clamp<std::int64_t>(kMaxRowScratch / per_tile_row, 1, row_tile_);
    scratch_ = 0;
    accumulator_base_ = scratch_;
    scratch_ += accumulators * isa::kSlotBytes;
    scalar_base_ = scratch_;
    scalar_bytes_ = round_up(row_tile_ * area_.lane_width, 64);
    scratch_ += scalars * scalar_bytes_;
    buffer_base_ = scratch_;
    if (in_scratch_) scratch_ += per_row * row_tile_;
  }

  void choose_tile(std::int64_t per_row) {
    const std::int64_t length = std::max<std::int64_t>(length_, 1);
    const std::int64_t elements = others_ * rows_ * length;
    std::int64_t wanted = per_row > 0 ? kRowTileElements : kReduceTileElements;
    row_tile_ = std::clamp<std::int64_t>(wanted / length, 1, rows_);
    const std::int64_t threads = call_.traits->threads;
    if (threads > 1 && elements > kTaskElements / 2) {
      row_tile_ = std::clamp<std::int64_t>(rows_ * others_ / (threads * 4), 1, row_tile_);
    }
  }

  void place_buffers() {
    std::int64_t offset = buffer_base_;
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      if (!kept(i).buffered) continue;
      const AreaNode& node = area_.nodes[i];
      StreamSpec spec{Space::kScratch, buffer_dtype(node), 0, offset, lane_bytes_of(node), {}};
      if (in_scratch_) {
        spec.strides[at(rank_ - 1)] = buffer_stride_;
        offset += buffer_stride_ * row_tile_;
      } else {
        spec.space = Space::kBuffer;
        spec.buffer = call_.temp.arena;
        spec.offset = call_.temp.allocate(call_.temp.state, buffer_stride_ * rows_ * others_);
        std::int64_t stride = buffer_stride_;
        for (int axis = rank_ - 1; axis >= 0; --axis) {
          spec.strides[at(axis)] = stride;
          stride *= nest_.sizes[at(axis)];
        }
      }
      kept(i).buffer = coder_.add_stream(spec);
    }
    std::int64_t scalar = scalar_base_;
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (!kept(i).stored) continue;
      StreamSpec spec{Space::kScratch, buffer_dtype(node), 0, scalar, 0, {}};
      spec.strides[at(rank_ - 1)] = lane_bytes_of(node);
      scalar += scalar_bytes_;
      kept(i).scalar = coder_.add_stream(spec);
    }
  }

  // Lanes as they are in registers: masks are integers.
  DType buffer_dtype(const AreaNode& node) const { return dtype_of_lane(value_lane(node)); }
  isa::Lane value_lane(const AreaNode& node) const {
    const bool integer = node.is_mask || (node.kind == Kind::kStrip && node.op == isa::StripOp::kToInt);
    if (integer) return area_.lane_width == 8 ? isa::Lane::kI64 : isa::Lane::kI32;
    if (node.kind == Kind::kStrip && node.op == isa::StripOp::kToFloat) {
      return area_.lane_width == 8 ? isa::Lane::kF64 : isa::Lane::kF32;
    }
    return node.lane;
  }
  std::int64_t lane_bytes_of(const AreaNode& node) const { return isa::lane_bytes(value_lane(node)); }

  void emit_level(std::uint8_t level) {
    emit_strip_phase(level);
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (node.kind == Kind::kRowOp && node.level == level + 1) emit_row_op(static_cast<std::uint16_t>(i));
    }
    emit_scalar_phase(static_cast<std::uint8_t>(level + 1));
  }

  void emit_strip_phase(std::uint8_t level) {
    auto& roots = compiler_.roots_;
    roots.clear();
    std::uint16_t first_accumulator = 0, accumulators = 0;
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (node.kind != Kind::kReduce || node.level != level + 1) continue;
      const auto target = static_cast<std::int64_t>(node.reduce) << 32 | kept(i).scalar;
      const std::uint16_t stream = coder_.add_stream(
          {Space::kAccumulator, buffer_dtype(node), 0, accumulator_base_ + accumulators * isa::kSlotBytes, target, {}});
      if (accumulators++ == 0) first_accumulator = stream;
      roots.push_back({Root::Kind::kAccumulate, node.a, stream, DType::kF32, isa::kUnit, node.reduce});
    }
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      const bool source = node.kind != Kind::kStrip && node.kind != Kind::kRowOp;
      if (kept(i).buffered && node.level == level && (node.kind == Kind::kStrip || source)) {
        roots.push_back(
            {Root::Kind::kStoreLanes, static_cast<std::uint16_t>(i), kept(i).buffer, DType::kF32, isa::kUnit, {}});
      }
    }
    add_output_roots(level, false);
    if (roots.empty()) return;
    write_code(isa::PhaseOp::kStrip, {first_accumulator, accumulators, 0, 0, 0, 0});
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (kept(i).buffered && node.level == level && node.kind == Kind::kStrip && !node.row) set_buffer_source(i);
    }
  }

  // The rows are the partial results of longer ones.
  void emit_combining_phase() {
    std::uint16_t number = 0, first_accumulator = 0;
    const auto first_partial = static_cast<std::uint16_t>(coder_.streams().size());
    for (const StreamSpec& spec : compiler_.partials_) coder_.add_stream(spec);
    const std::size_t begin = compiler_.code_.size();
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (node.kind != Kind::kReduce) continue;
      const auto target = static_cast<std::int64_t>(node.reduce) << 32 | kept(i).scalar;
      const std::uint16_t stream = coder_.add_stream(
          {Space::kAccumulator, buffer_dtype(node), 0, accumulator_base_ + number * isa::kSlotBytes, target, {}});
      if (number == 0) first_accumulator = stream;
      const isa::Lane lane = value_lane(node);
      const auto partial = static_cast<std::uint16_t>(first_partial + number++);
      compiler_.code_.push_back(isa::strip_word(load_op(buffer_dtype(node)), lane, isa::kUnit, partial));
      compiler_.code_.push_back(isa::strip_word(accumulate_op(node.reduce), lane, 0, stream));
    }
    compiler_.code_.push_back(
        isa::strip_word(isa::StripOp::kEnd, area_.lane_width == 8 ? isa::Lane::kF64 : isa::Lane::kF32));
    add_phase({isa::PhaseOp::kStrip, begin, compiler_.code_.size(), {first_accumulator, number, 0, 0, 0, 0}});
  }

  void set_buffer_source(std::size_t node) {
    coder_.set_source(static_cast<std::uint16_t>(node),
                      {kept(node).buffer, isa::kUnit, buffer_dtype(area_.nodes[node]), true});
  }

  void add_output_roots(std::uint8_t level, bool row) {
    for (std::size_t i = 0; i < area_.outputs.size(); ++i) {
      const std::uint16_t id = area_.outputs[i].node;
      const AreaNode& node = area_.nodes[id];
      if (node.level != level || area_.outputs[i].row != row) continue;
      if (node.kind == Kind::kRowOp && direct_output(id) >= 0) continue;
      const View& view = compiler_.output_memory_[i];
      StreamSpec spec = compiler_.spec_of(view, compiler_.output_view_[i], rank_);
      std::int64_t& stride = row ? spec.strides[at(rank_ - 1)] : spec.inner_stride;
      if ((row ? rows_ : length_) == 1) stride = byte_size(view.dtype);
      const bool unit = stride == byte_size(view.dtype);
      compiler_.roots_.push_back({Root::Kind::kStore,
                                  id,
                                  coder_.add_stream(spec),
                                  view.dtype,
                                  static_cast<std::uint8_t>(unit ? isa::kUnit : isa::kStrided),
                                  {}});
    }
  }

  void emit_row_op(std::uint16_t id) {
    const AreaNode& node = area_.nodes[id];
    const RowPrologue& prologue = kept(id).prologue;
    const bool folds = prologue.from != AreaNode::kNone;
    const std::uint16_t source = folds ? prologue.from : node.a;
    const std::uint16_t from = kept(source).buffered ? kept(source).buffer : coder_.source(source).stream;
    std::uint16_t to;
    if (const int output = direct_output(id); output >= 0) {
      StreamSpec spec =
          compiler_.spec_of(compiler_.output_memory_[at(output)], compiler_.output_view_[at(output)], rank_);
      spec.inner_stride = 4;
      to = coder_.add_stream(spec);
    } else {
      to = kept(id).buffer;
      set_buffer_source(id);
    }
    std::array<std::uint16_t, 6> operands{from, to, 0, 0, 0, 0};
    const std::uint16_t addend =
        prologue.addend == AreaNode::kNone ? isa::kNoStream : coder_.source(prologue.addend).stream;
    if (folds && node.phase == isa::PhaseOp::kSoftmax) {
      operands[2] = prologue.scale == AreaNode::kNone ? number_stream({.is_real = true, .real = 1})
                                                      : coder_.source(prologue.scale).stream;
      operands[3] = addend;
    } else if (folds) {
      operands[5] = addend;
    }
    if (node.phase == isa::PhaseOp::kLayerNorm || node.phase == isa::PhaseOp::kRmsNorm) {
      operands[2] = parameter_stream(node.b);
      operands[3] = parameter_stream(node.c);
      const bool is_real = call_.program->dim(node.index).is_float();
      const Number epsilon = number_of(call_.dims[node.index], is_real, DType::kF32);
      operands[4] = number_stream(epsilon);
    }
    const std::size_t place = compiler_.code_.size();
    add_phase({folds ? phase_with_prologue(node.phase) : node.phase, place, place, operands});
  }

  std::uint16_t number_stream(const Number& number) {
    return coder_.add_stream({Space::kLiteral, DType::kF32, 0, literal_bits(number, DType::kF32), 0, {}});
  }

  std::uint16_t parameter_stream(std::uint16_t id) {
    if (id == AreaNode::kNone) return isa::kNoStream;
    StreamSpec spec = compiler_.spec_of(compiler_.node_memory_[id], compiler_.node_view_[id], rank_);
    if (length_ <= 1) spec.inner_stride = 4;
    TW_CHECK(spec.inner_stride == 4, "weights of a native norm are contiguous");
    return coder_.add_stream(spec);
  }

  void emit_scalar_phase(std::uint8_t level) {
    auto& roots = compiler_.roots_;
    roots.clear();
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (node.kind == Kind::kReduce && node.level == level) set_scalar_source(i, isa::kUnit);
    }
    set_row_input_forms(true);
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if (kept(i).stored && node.level < level) set_scalar_source(i, isa::kUnit);
      if (node.kind == Kind::kStrip && kept(i).stored && node.level == level) {
        roots.push_back(
            {Root::Kind::kStoreLanes, static_cast<std::uint16_t>(i), kept(i).scalar, DType::kF32, isa::kUnit, {}});
      }
    }
    add_output_roots(level, true);
    if (!roots.empty()) write_code(isa::PhaseOp::kScalar, {});
    set_row_input_forms(false);
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      if (kept(i).stored && area_.nodes[i].level <= level) set_scalar_source(i, isa::kOne);
    }
  }

  void set_scalar_source(std::size_t node, isa::LoadForm form) {
    coder_.set_source(static_cast<std::uint16_t>(node),
                      {kept(node).scalar, form, buffer_dtype(area_.nodes[node]), true});
  }

  // Along the rows an input's step is its stride of the last outer dim.
  void set_row_input_forms(bool along_rows) {
    for (std::size_t i = 0; i < area_.nodes.size(); ++i) {
      const AreaNode& node = area_.nodes[i];
      if ((node.kind != Kind::kInput && node.kind != Kind::kIota) || node.uses == 0) continue;
      StripCoder::Source source = coder_.source(static_cast<std::uint16_t>(i));
      const StreamSpec& spec = coder_.streams()[source.stream];
      const std::int64_t stride = along_rows ? spec.strides[at(rank_ - 1)] : spec.inner_stride;
      const bool unit = !source.iota && stride == byte_size(spec.dtype);
      source.form = stride == 0 ? isa::kOne : unit ? isa::kUnit : isa::kStrided;
      coder_.set_source(static_cast<std::uint16_t>(i), source);
    }
  }

  void write_code(isa::PhaseOp op, std::array<std::uint16_t, 6> operands) {
    const std::size_t begin = compiler_.code_.size();
    coder_.write(compiler_.roots_, compiler_.code_);
    add_phase({op, begin, compiler_.code_.size(), operands});
  }

  void add_phase(RowPhase phase) { compiler_.row_phases_.push_back(phase); }

  void write() {
    const std::int64_t tasks = others_ * ((rows_ + row_tile_ - 1) / row_tile_);
    out_.need_scratch(scratch_ + coder_.slot_bytes());
    out_.begin(isa::Opcode::kRows, rank_, tasks, length_);
    out_.field(row_tile_);
    for (int axis = 0; axis < rank_; ++axis) out_.dim(nest_.sizes[at(axis)]);
    compiler_.write_streams(out_, rank_);
    for (const RowPhase& phase : compiler_.row_phases_) {
      const auto code = std::span<const isa::Word>(compiler_.code_).subspan(phase.begin, phase.end - phase.begin);
      out_.phase(phase.op, code, phase.operands);
    }
    out_.end();
  }

  RowNode& kept(std::size_t node) const { return compiler_.row_nodes_[node]; }

  AreaCompiler& compiler_;
  LoopNest& nest_;
  StripCoder& coder_;
  const Area& area_;
  const AreaCall& call_;
  Emitter& out_;
  int rank_ = 0;
  std::int64_t length_ = 0, rows_ = 0, others_ = 0, row_tile_ = 1;
  bool in_scratch_ = true;
  std::int64_t scratch_ = 0, accumulator_base_ = 0, scalar_base_ = 0, scalar_bytes_ = 0, buffer_base_ = 0,
               buffer_stride_ = 0;
};

Status AreaCompiler::emit_rows(const AreaCall& call, Emitter& out) {
  code_.clear();
  return RowsEmitter(*this, call, out).run();
}

}  // namespace tilewright::compiler
