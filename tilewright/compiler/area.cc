// Lowers a fused region to strip-level nodes: picks lanes, inserts wraps and mask conversions, finds row values and
// levels.
#include "tilewright/compiler/area.h"

#include <algorithm>
#include <unordered_map>

#include "tilewright/compiler/area_ops.h"

namespace tilewright::compiler {

using isa::Lane;
using isa::StripOp;
using Kind = AreaNode::Kind;

int lane_width(DType dtype) {
  return byte_size(dtype) == 8 ? 8 : 4;
}

Lane lane_of(DType dtype, int width) {
  if (dtype == DType::kBool) return width == 8 ? Lane::kI64 : Lane::kI32;
  if (is_float(dtype)) return width == 8 ? Lane::kF64 : Lane::kF32;
  return width == 8 ? Lane::kI64 : Lane::kI32;
}

namespace {

bool is_float_lane(Lane lane) {
  return lane == Lane::kF32 || lane == Lane::kF64;
}

// A host scalar or an iota, perhaps expanded.
bool is_source(const Graph& region, ValueId value) {
  NodeId id = region.value(value).producer;
  while (id != kNoNode && region.node(id).op == Op::kExpand) id = region.value(region.node(id).inputs[0]).producer;
  return id != kNoNode && (region.node(id).op == Op::kScalar || region.node(id).op == Op::kIota);
}

// Width 8 if anything is computed on 8-byte elements; casts to or from 4 bytes and bool logic fit either. Where nothing
// is computed, the width of what the casts give: a load converts to it.
int area_width(const Graph& region) {
  int width = 4, cast_width = 4;
  bool computes = false;
  for (ValueId output : region.outputs()) {
    if (is_source(region, output)) width = std::max(width, lane_width(region.type(output).dtype));
  }
  for (NodeId id : region.order()) {
    const Node& node = region.node(id);
    if (node.op == Op::kCast || node.op == Op::kExpand || node.op == Op::kReshape || node.op == Op::kScalar ||
        node.op == Op::kIota) {
      if (node.op != Op::kCast) continue;
      const int from = lane_width(region.type(node.inputs[0]).dtype), to = lane_width(node.attrs.dtype("dtype"));
      if (node.attrs.dtype("dtype") == DType::kBool || from == to) width = std::max(width, from);
      cast_width = std::max(cast_width, to);
      continue;
    }
    computes = true;
    for (ValueId input : node.inputs) width = std::max(width, lane_width(region.type(input).dtype));
  }
  return computes ? width : std::max(width, cast_width);
}

class Lowering {
 public:
  Lowering(const Graph& region, DimProgram& dims, Area& area) : region_(region), dims_(dims), area_(area) {}

  Status run(std::string_view kind) {
    area_.lane_width = area_width(region_);
    for (std::size_t i = 0; i < region_.inputs().size(); ++i)
      add_input(region_.inputs()[i], static_cast<std::uint32_t>(i));
    TW_TRY(find_domain(kind));
    for (NodeId id : region_.order()) TW_TRY(lower(region_.node(id)));
    for (ValueId value : region_.outputs()) {
      const std::uint16_t node = nodes_.at(value);
      const bool row = area_.nodes[node].row && is_row_shape(region_.type(value).shape);
      area_.outputs.push_back({node, region_.type(value).dtype, row});
      area_.nodes[node].uses++;
    }
    for (const AreaNode& node : area_.nodes) area_.max_level = std::max(area_.max_level, node.level);
    return {};
  }

 private:
  Error unsupported(const Node& node) const {
    const TensorType& type = region_.type(node.inputs.empty() ? node.outputs[0] : node.inputs[0]);
    return fail(ErrorKind::kUnsupported, "op {} of {} cannot be computed", info(node.op).text, type);
  }

  void set_domain(const Shape& shape) {
    area_.domain.clear();
    for (Dim dim : shape) area_.domain.push_back(dims_.add(dim));
  }

  Status find_domain(std::string_view kind) {
    const Shape* shape = region_.outputs().empty() ? nullptr : &region_.type(region_.outputs()[0]).shape;
    if (kind == "map") {
      area_.kind = Area::Kind::kMap;
    } else if (kind == "matmul") {
      area_.kind = Area::Kind::kContraction;
    } else {
      for (NodeId id : region_.order()) {
        const Node& node = region_.node(id);
        if (!reduce_kind_of(node.op) && !row_phase_of(node.op)) continue;
        shape = &region_.type(node.inputs[0]).shape;
        const int rank = static_cast<int>(shape->size());
        if (kind == "columns") {
          const Ints& axes = node.attrs.ints("axes");
          area_.kind = Area::Kind::kColumns;
          area_.reduced_begin = static_cast<int>(axes.front());
          area_.reduced_end = static_cast<int>(axes.back()) + 1;
        } else {
          area_.kind = Area::Kind::kRows;
          area_.row_axes = reduce_kind_of(node.op)       ? static_cast<int>(node.attrs.ints("axes").size())
                           : node.attrs.find("num_axes") ? static_cast<int>(node.attrs.integer("num_axes"))
                                                         : 1;
          area_.row_axes = std::min(area_.row_axes, rank);
        }
        break;
      }
    }
    if (shape == nullptr) return fail(ErrorKind::kInternal, "a fused area of kind {} without results", kind);
    set_domain(*shape);
    if (area_.kind == Area::Kind::kRows) mark_row_inputs();
    return {};
  }

  // Of a row area: the row axes all have size 1, so there is one element per row.
  bool is_row_shape(const Shape& shape) const {
    if (area_.kind != Area::Kind::kRows) return false;
    const auto axes = std::min<std::size_t>(shape.size(), static_cast<std::size_t>(area_.row_axes));
    return std::all_of(shape.end() - static_cast<std::ptrdiff_t>(axes), shape.end(),
                       [&](Dim dim) { return region_.facts.is_one(dim) == Answer::kYes; });
  }

  void mark_row_inputs() {
    for (AreaNode& node : area_.nodes) node.row = is_row_shape(region_.type(region_.inputs()[node.index]).shape);
  }

  std::uint16_t add(AreaNode node) {
    for (std::uint16_t operand : {node.a, node.b, node.c}) {
      if (operand != AreaNode::kNone) area_.nodes[operand].uses++;
    }
    area_.nodes.push_back(node);
    return static_cast<std::uint16_t>(area_.nodes.size() - 1);
  }

  void add_input(ValueId value, std::uint32_t index) {
    const DType dtype = region_.type(value).dtype;
    nodes_[value] = add({.kind = Kind::kInput,
                         .lane = lane_of(dtype, area_.lane_width),
                         .dtype = dtype,
                         .is_mask = dtype == DType::kBool,
                         .index = index});
  }

  std::uint16_t strip(StripOp op, Lane lane, DType dtype, bool is_mask, std::uint16_t a,
                      std::uint16_t b = AreaNode::kNone, std::uint16_t c = AreaNode::kNone, bool reversed = false) {
    AreaNode node{.kind = Kind::kStrip,
                  .op = op,
                  .lane = lane,
                  .dtype = dtype,
                  .reversed = reversed,
                  .is_mask = is_mask,
                  .row = true,
                  .a = a,
                  .b = b,
                  .c = c};
    for (std::uint16_t operand : {a, b, c}) {
      if (operand == AreaNode::kNone) continue;
      node.level = std::max(node.level, area_.nodes[operand].level);
      node.row = node.row && area_.nodes[operand].row;
    }
    return add(node);
  }

  std::uint16_t wrapped(std::uint16_t node, DType dtype) {
    const auto wrap = wrap_of(dtype);
    return wrap ? strip(*wrap, lane_of(dtype, area_.lane_width), dtype, false, node) : node;
  }

  Lane mask_lane() const { return area_.lane_width == 8 ? Lane::kI64 : Lane::kI32; }

  // The node as a value of `lane` that is not a mask.
  std::uint16_t unmasked(std::uint16_t node, Lane lane) {
    return area_.nodes[node].is_mask ? strip(StripOp::kFromMask, lane, area_.nodes[node].dtype, false, node) : node;
  }

  Status lower(const Node& node) {
    if (node.op == Op::kExpand || node.op == Op::kReshape) {
      nodes_[node.outputs[0]] = nodes_.at(node.inputs[0]);
      return {};
    }
    if (node.op == Op::kScalar || node.op == Op::kIota) return lower_source(node);
    if (node.op == Op::kCast) return lower_cast(node);
    if (node.op == Op::kSelect) {
      const DType dtype = region_.type(node.outputs[0]).dtype;
      nodes_[node.outputs[0]] = strip(StripOp::kSelect, lane_of(dtype, area_.lane_width), dtype, dtype == DType::kBool,
                                      input(node, 0), input(node, 1), input(node, 2));
      return {};
    }
    if (node.op == Op::kMatMul || node.op == Op::kIntegerMatMul || node.op == Op::kBlockMatMul) {
      lower_product(node);
      return {};
    }
    if (reduce_kind_of(node.op)) return lower_reduce(node);
    if (row_phase_of(node.op)) return lower_row_op(node);
    return lower_elementwise(node);
  }

  // The operands are inputs of the region as they lie in memory; the result is the tile that the epilogue reads.
  void lower_product(const Node& node) {
    const auto operand = [&](std::size_t i) {
      return i < node.inputs.size() ? static_cast<std::uint16_t>(area_.nodes[input(node, i)].index) : AreaNode::kNone;
    };
    area_.lhs = operand(0);
    area_.rhs = operand(1);
    if (node.op == Op::kBlockMatMul) {
      area_.scales = operand(2);
      area_.rhs_zero = operand(3);
      area_.block = node.attrs.integer("block");
    } else {
      area_.lhs_zero = operand(2);
      area_.rhs_zero = operand(3);
    }
    const DType dtype = region_.type(node.outputs[0]).dtype;
    nodes_[node.outputs[0]] = add({.kind = Kind::kTile, .lane = lane_of(dtype, area_.lane_width), .dtype = dtype});
  }

  std::uint16_t input(const Node& node, std::size_t i) const { return nodes_.at(node.inputs[i]); }

  Status lower_source(const Node& node) {
    const DType dtype = region_.type(node.outputs[0]).dtype;
    if (node.op == Op::kScalar) {
      nodes_[node.outputs[0]] = scalar(dtype, dims_.add(node.attrs.dim("value")));
      return {};
    }
    const Shape& shape = region_.type(node.outputs[0]).shape;
    const auto axis = static_cast<std::size_t>(node.attrs.integer("axis"));
    const Dim start = node.attrs.dim("start"), step = node.attrs.dim("step");
    const bool real = start.is_float() || step.is_float();
    AreaNode source{.kind = Kind::kIota, .lane = lane_of(dtype, area_.lane_width), .dtype = dtype};
    source.index = static_cast<std::uint32_t>(shape.size() - 1 - axis);
    source.second = dims_.add(real ? Dim(0) : start);
    source.third = dims_.add(real ? Dim(1) : step);
    source.size = dims_.add(shape[axis]);
    source.row = area_.kind == Area::Kind::kRows &&
                 (source.index >= static_cast<std::uint32_t>(area_.row_axes) || is_row_shape(shape));
    std::uint16_t id = add(source);
    if (real && is_float(dtype)) {
      id = strip(StripOp::kMul, source.lane, dtype, false, id, scalar(dtype, dims_.add(step)));
      id = strip(StripOp::kAdd, source.lane, dtype, false, id, scalar(dtype, dims_.add(start)));
    } else if (real) {
      return unsupported(node);
    }
    if (const auto round = round_of(dtype)) id = strip(*round, source.lane, dtype, false, id);
    nodes_[node.outputs[0]] = wrapped(id, dtype);
    return {};
  }

  // A literal of `dtype`; a bool becomes a mask.
  std::uint16_t scalar(DType dtype, std::uint32_t slot) {
    const std::uint16_t id = add(
        {.kind = Kind::kScalar, .lane = lane_of(dtype, area_.lane_width), .dtype = dtype, .row = true, .index = slot});
    return dtype == DType::kBool ? strip(StripOp::kToMask, mask_lane(), dtype, true, id) : id;
  }

  // A literal converted when the call is bound, so that no lane of its old dtype is needed.
  std::uint16_t converted_scalar(std::uint16_t from, DType to) {
    const std::uint16_t id = add({.kind = Kind::kScalar,
                                  .lane = lane_of(to, area_.lane_width),
                                  .dtype = to,
                                  .row = true,
                                  .second = 1,
                                  .third = from});
    return to == DType::kBool ? strip(StripOp::kToMask, mask_lane(), to, true, id) : id;
  }

  static std::optional<StripOp> round_of(DType dtype) {
    if (dtype == DType::kF16) return StripOp::kRoundF16;
    if (dtype == DType::kBF16) return StripOp::kRoundBF16;
    return std::nullopt;
  }

  Status lower_cast(const Node& node) {
    const DType from = region_.type(node.inputs[0]).dtype;
    const DType to = node.attrs.dtype("dtype");
    nodes_[node.outputs[0]] = cast(input(node, 0), from, to);
    return {};
  }

  std::uint16_t cast(std::uint16_t a, DType from, DType to) {
    if (from == to) return a;
    if (area_.nodes[a].kind == Kind::kScalar) return converted_scalar(a, to);
    const Lane target = lane_of(to, area_.lane_width);
    // The lane of the value: that of the instruction which made it differs where this was itself a conversion.
    Lane lane = lane_of(from, area_.lane_width);
    if (to == DType::kBool) return strip(StripOp::kToMask, lane, to, true, a);
    if (from == DType::kBool) return strip(StripOp::kFromMask, target, to, false, a);
    const bool changes_width = lane_width(from) != lane_width(to);
    const bool in_memory = area_.nodes[a].kind == Kind::kInput || area_.nodes[a].kind == Kind::kIota;
    const bool source = in_memory && !area_.nodes[a].converted;
    if (changes_width && !source) return a;  // only a store reads this value, and it converts
    if (changes_width || (source && lane_width(from) != area_.lane_width)) {
      AreaNode load = area_.nodes[a];  // the load converts
      load.lane = lane = target;
      load.converted = true;
      load.uses = 0;
      a = add(load);
    } else if (is_float_lane(lane) != is_float_lane(target)) {
      a = strip(is_float_lane(lane) ? StripOp::kToInt : StripOp::kToFloat, lane, to, false, a);
      lane = target;
    }
    if (const auto round = round_of(to); round && lane == Lane::kF32) return strip(*round, lane, to, false, a);
    return wrapped(a, to);
  }

  Status lower_reduce(const Node& node) {
    const DType dtype = region_.type(node.outputs[0]).dtype;
    const std::uint16_t a = input(node, 0);
    AreaNode reduce{.kind = Kind::kReduce,
                    .reduce = *reduce_kind_of(node.op),
                    .lane = lane_of(dtype, area_.lane_width),
                    .dtype = dtype,
                    .is_mask = dtype == DType::kBool,
                    .row = true,
                    .a = a};
    if (reduce.is_mask) reduce.reduce = mask_reduction(reduce.reduce);
    reduce.level = static_cast<std::uint8_t>(area_.nodes[a].level + 1);
    std::uint16_t id = add(reduce);
    if (may_leave_range(node.op)) id = wrapped(id, dtype);
    nodes_[node.outputs[0]] = within_dtype(node.op, id, dtype);
    return {};
  }

  static isa::ReduceKind mask_reduction(isa::ReduceKind kind) {
    return kind == isa::ReduceKind::kSum || kind == isa::ReduceKind::kMax    ? isa::ReduceKind::kOr
           : kind == isa::ReduceKind::kProd || kind == isa::ReduceKind::kMin ? isa::ReduceKind::kAnd
                                                                             : kind;
  }

  // The extreme of nothing is that of the dtype; accumulators of narrow integers begin at that of the lane.
  std::uint16_t within_dtype(Op op, std::uint16_t id, DType dtype) {
    if (!wrap_of(dtype) || (op != Op::kReduceMax && op != Op::kReduceMin)) return id;
    const bool largest = op == Op::kReduceMax;
    std::int64_t limit = dtype == DType::kU8   ? (largest ? 0 : 255)
                         : dtype == DType::kI8 ? (largest ? -128 : 127)
                                               : (largest ? -32768 : 32767);
    const Lane lane = area_.nodes[id].lane;
    return strip(largest ? StripOp::kMax : StripOp::kMin, lane, dtype, false, id, scalar(dtype, dims_.add(Dim(limit))));
  }

  Status lower_row_op(const Node& node) {
    const DType dtype = region_.type(node.outputs[0]).dtype;
    AreaNode row_op{
        .kind = Kind::kRowOp, .phase = *row_phase_of(node.op), .lane = Lane::kF32, .dtype = dtype, .a = input(node, 0)};
    if (node.attrs.find("eps") != nullptr) row_op.index = dims_.add(node.attrs.dim("eps"));
    std::uint16_t late[2] = {AreaNode::kNone, AreaNode::kNone};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const std::uint16_t operand = input(node, i);
      const bool direct = area_.nodes[operand].kind == Kind::kInput && area_.nodes[operand].dtype == DType::kF32;
      if (direct && late[0] == AreaNode::kNone) {
        (i == 1 ? row_op.b : row_op.c) = operand;
      } else {
        late[i - 1] = operand;
      }
    }
    row_op.level = static_cast<std::uint8_t>(area_.nodes[row_op.a].level + 1);
    std::uint16_t id = add(row_op);
    if (late[0] != AreaNode::kNone) id = strip(StripOp::kMul, Lane::kF32, dtype, false, id, late[0]);
    if (late[1] != AreaNode::kNone) id = strip(StripOp::kAdd, Lane::kF32, dtype, false, id, late[1]);
    nodes_[node.outputs[0]] = id;
    return {};
  }

  // Logic on masks: sums are or, products and.
  std::optional<StripOp> mask_op(Op op) const {
    switch (op) {
      case Op::kAdd:
      case Op::kMax:
      case Op::kBitOr:
        return StripOp::kBitOr;
      case Op::kMul:
      case Op::kMin:
      case Op::kBitAnd:
        return StripOp::kBitAnd;
      case Op::kNe:
      case Op::kBitXor:
        return StripOp::kBitXor;
      default:
        return std::nullopt;
    }
  }

  Status lower_elementwise(const Node& node) {
    const DType in = region_.type(node.inputs[0]).dtype;
    const DType out = region_.type(node.outputs[0]).dtype;
    const std::uint16_t a = input(node, 0);
    const std::uint16_t b = node.inputs.size() > 1 ? input(node, 1) : AreaNode::kNone;
    std::uint16_t& result = nodes_[node.outputs[0]];
    if (node.op == Op::kLogicalNot || (node.op == Op::kBitNot && in == DType::kBool)) {
      const std::uint16_t mask =
          area_.nodes[a].is_mask ? a : strip(StripOp::kToMask, lane_of(in, area_.lane_width), DType::kBool, true, a);
      result = strip(StripOp::kNot, mask_lane(), DType::kBool, true, mask);
      return {};
    }
    const bool reversed = node.op == Op::kGt || node.op == Op::kGe;
    if (in == DType::kBool) {
      if (const auto op = mask_op(node.op)) {
        result = strip(*op, mask_lane(), DType::kBool, true, a, b);
        return {};
      }
      if (node.op == Op::kEq) {
        result = strip(StripOp::kNot, mask_lane(), DType::kBool, true,
                       strip(StripOp::kBitXor, mask_lane(), DType::kBool, true, a, b));
        return {};
      }
      if (is_test(node.op)) {
        result = constant_test(node.op, a, in);
        return {};
      }
      const auto op = strip_op_of(node.op);
      if (op && b == AreaNode::kNone) {
        result = a;  // a number that is 0 or 1 keeps its truth: neg, abs, sign, rounding
        return {};
      }
      if (!op) return unsupported(node);
      const std::uint16_t left = unmasked(a, mask_lane()), right = unmasked(b, mask_lane());
      const bool compares = is_comparison(node.op);
      result = strip(*op, mask_lane(), out, compares, left, right, AreaNode::kNone, reversed);
      if (!compares) result = strip(StripOp::kToMask, mask_lane(), DType::kBool, true, result);
      return {};
    }
    auto op = strip_op_of(node.op);
    if (!op) return unsupported(node);
    if (node.op == Op::kGelu && node.attrs.flag("tanh")) op = StripOp::kGeluTanh;
    const Lane lane = lane_of(in, area_.lane_width);
    if (!is_float(in) &&
        (node.op == Op::kCeil || node.op == Op::kFloor || node.op == Op::kRound || node.op == Op::kTrunc)) {
      result = a;
      return {};
    }
    if (!is_float(in) && is_test(node.op)) {
      result = constant_test(node.op, a, in);
      return {};
    }
    if (const auto negated = node.op == Op::kSub && is_float(in) ? negated_literal(b) : std::nullopt) {
      result = strip(StripOp::kAdd, lane, out, false, a, scalar(in, dims_.add(*negated)));
      return {};
    }
    const bool is_mask = is_comparison(node.op) || is_test(node.op);
    std::uint16_t id = strip(*op, lane, out, is_mask, a, b, AreaNode::kNone, reversed);
    if (may_leave_range(node.op)) id = wrapped(id, out);
    result = id;
    return {};
  }

  // a - c is a + -c, which may be one operation with a product before it; not for 0, whose sign would show.
  std::optional<Dim> negated_literal(std::uint16_t id) const {
    const AreaNode& node = area_.nodes[id];
    if (node.kind != Kind::kScalar || node.second != 0) return std::nullopt;
    const std::optional<double> number = dims_.dim(node.index).real_constant();
    return number && *number != 0 ? std::optional(Dim::real(-*number)) : std::nullopt;
  }

  // No integer is nan or inf.
  std::uint16_t constant_test(Op op, std::uint16_t a, DType dtype) {
    const StripOp differs = dtype == DType::kBool ? StripOp::kBitXor : StripOp::kNe;
    const std::uint16_t never = strip(differs, lane_of(dtype, area_.lane_width), DType::kBool, true, a, a);
    return op == Op::kIsFinite ? strip(StripOp::kNot, mask_lane(), DType::kBool, true, never) : never;
  }

  const Graph& region_;
  DimProgram& dims_;
  Area& area_;
  std::unordered_map<ValueId, std::uint16_t> nodes_;
};

}  // namespace

Result<Area> lower_area(const Graph& region, std::string_view kind, DimProgram& dims) {
  Area area;
  Lowering lowering(region, dims, area);
  TW_TRY(lowering.run(kind));
  return area;
}

}  // namespace tilewright::compiler
