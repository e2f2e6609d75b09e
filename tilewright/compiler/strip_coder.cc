#include "tilewright/compiler/strip_coder.h"

#include <algorithm>

namespace tilewright::compiler {

using isa::Lane;
using isa::StripOp;
using Kind = AreaNode::Kind;

DType dtype_of_lane(Lane lane) {
  constexpr DType kTypes[] = {DType::kF32, DType::kI32, DType::kF64, DType::kI64};
  return kTypes[static_cast<int>(lane)];
}

// load_x and store_x rows stand in the order of the dtypes they convert.
StripOp load_op(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return StripOp::kLoadF32;
    case DType::kF64:
      return StripOp::kLoadF64;
    case DType::kF16:
      return StripOp::kLoadF16;
    case DType::kBF16:
      return StripOp::kLoadBF16;
    case DType::kI8:
      return StripOp::kLoadI8;
    case DType::kU8:
      return StripOp::kLoadU8;
    case DType::kI16:
      return StripOp::kLoadI16;
    case DType::kI32:
      return StripOp::kLoadI32;
    case DType::kI64:
      return StripOp::kLoadI64;
    case DType::kBool:
      return StripOp::kLoadBool;
  }
  __builtin_unreachable();
}

StripOp accumulate_op(isa::ReduceKind kind) {
  constexpr StripOp kOps[] = {StripOp::kAccSum, StripOp::kAccProd, StripOp::kAccMax,      StripOp::kAccMin,
                              StripOp::kAccOr,  StripOp::kAccAnd,  StripOp::kAccSumSquare};
  return kOps[static_cast<int>(kind)];
}

namespace {

StripOp store_op(DType dtype) {
  constexpr int kDistance = static_cast<int>(StripOp::kStoreF32) - static_cast<int>(StripOp::kLoadF32);
  return static_cast<StripOp>(static_cast<int>(load_op(dtype)) + kDistance);
}

Lane mask_lane(Lane lane) {
  return lane == Lane::kF32 ? Lane::kI32 : lane == Lane::kF64 ? Lane::kI64 : lane;
}

// The lane of the value that a node leaves in registers.
Lane result_lane(const AreaNode& node) {
  if (node.is_mask) return mask_lane(node.lane);
  if (node.kind == Kind::kStrip && node.op == StripOp::kToInt) return mask_lane(node.lane);
  if (node.kind == Kind::kStrip && node.op == StripOp::kToFloat) {
    return node.lane == Lane::kI32 ? Lane::kF32 : Lane::kF64;
  }
  return node.lane;
}

bool is_unary(const AreaNode& node) {
  return node.b == AreaNode::kNone;
}

}  // namespace

void StripCoder::reset(const Area& area, std::int64_t slot_base) {
  area_ = &area;
  streams_.clear();
  sources_.assign(area.nodes.size(), Source{});
  slot_streams_.clear();
  slot_base_ = slot_base;
  max_slots_ = 0;
}

std::uint16_t StripCoder::add_stream(const StreamSpec& spec) {
  streams_.push_back(spec);
  return static_cast<std::uint16_t>(streams_.size() - 1);
}

void StripCoder::emit(StripOp op, Lane lane, int form, std::uint16_t a, std::uint16_t b) {
  const isa::Word word = isa::strip_word(op, lane, form, a, b);
  if (code_->size() > begin_) {
    if (const isa::Word pair = isa::join_pair(code_->back(), word); pair != 0) {
      code_->back() = pair;
      return;
    }
  }
  code_->push_back(word);
}

void StripCoder::count_uses(std::uint16_t node) {
  if (node == AreaNode::kNone) return;
  if (uses_left_[node]++ > 0 || sources_[node].stream != kNoSource) return;
  const AreaNode& area_node = area_->nodes[node];
  if (area_node.kind != Kind::kStrip) return;
  count_uses(area_node.a);
  count_uses(area_node.b);
  count_uses(area_node.c);
}

void StripCoder::write(std::span<const Root> roots, std::vector<isa::Word>& code) {
  code_ = &code;
  begin_ = code.size();
  uses_left_.assign(area_->nodes.size(), 0);
  slot_of_.assign(area_->nodes.size(), -1);
  free_slots_.clear();
  for (int slot = max_slots_ - 1; slot >= 0; --slot) free_slots_.push_back(static_cast<std::int16_t>(slot));
  spilled_.clear();
  in_registers_ = kNoSource;
  for (const Root& root : roots) count_uses(root.node);
  for (const Root& root : roots) {
    if (in_registers_ != root.node) compute(root.node);
    const AreaNode& node = area_->nodes[root.node];
    const Lane lane = result_lane(node);
    if (root.kind == Root::Kind::kAccumulate) {
      emit(accumulate_op(root.reduce), lane, 0, root.stream);
    } else if (root.kind == Root::Kind::kStoreLanes) {
      emit(store_op(dtype_of_lane(lane)), lane, isa::kUnit, root.stream);
    } else {
      emit(store_op(root.dtype), lane, root.form, root.stream);
    }
    if (--uses_left_[root.node] == 0 && slot_of_[root.node] >= 0) free_slots_.push_back(slot_of_[root.node]);
  }
  emit(StripOp::kEnd, area_->lane_width == 8 ? Lane::kF64 : Lane::kF32);
  // Backwards: a node that went to a slot twice gets the source from before the first time.
  for (auto it = spilled_.rbegin(); it != spilled_.rend(); ++it) sources_[it->first] = it->second;
}

bool StripCoder::is_direct(std::uint16_t node) const {
  const Source& source = sources_[node];
  if (source.stream == kNoSource || source.form == isa::kStrided) return false;
  if (source.lane_value) return true;
  const AreaNode& area_node = area_->nodes[node];
  return !source.iota && !area_node.is_mask && source.memory == dtype_of_lane(area_node.lane);
}

void StripCoder::load(std::uint16_t node) {
  const Source& source = sources_[node];
  const AreaNode& area_node = area_->nodes[node];
  if (source.iota) {
    emit(StripOp::kLoadIota, area_node.lane, source.form, source.stream);
  } else if (source.lane_value) {
    const Lane lane = result_lane(area_node);
    emit(load_op(dtype_of_lane(lane)), lane, source.form, source.stream);
  } else {
    const Lane lane = source.memory == DType::kBool ? mask_lane(area_node.lane) : area_node.lane;
    emit(load_op(source.memory), lane, source.form, source.stream);
  }
  in_registers_ = node;
}

void StripCoder::spill(std::uint16_t node) {
  if (free_slots_.empty()) free_slots_.push_back(static_cast<std::int16_t>(max_slots_++));
  const std::int16_t slot = free_slots_.back();
  free_slots_.pop_back();
  const Lane lane = result_lane(area_->nodes[node]);
  const DType dtype = dtype_of_lane(lane);
  // One stream per slot and lane type: the verifier wants a stream's dtype to be that of its uses.
  const auto index = static_cast<std::size_t>(slot) * 4 + static_cast<std::size_t>(lane);
  if (slot_streams_.size() <= index) slot_streams_.resize(index + 1, kNoSource);
  if (slot_streams_[index] == kNoSource) {
    slot_streams_[index] =
        add_stream({isa::Space::kSlot, dtype, 0, slot_base_ + slot * isa::kSlotBytes, byte_size(dtype), {}});
  }
  emit(store_op(dtype), lane, isa::kUnit, slot_streams_[index]);
  slot_of_[node] = slot;
  spilled_.push_back({node, sources_[node]});
  sources_[node] = {slot_streams_[index], isa::kUnit, dtype, true};
}

void StripCoder::make_direct(std::uint16_t node) {
  if (is_direct(node)) return;
  if (in_registers_ != node) compute(node);
  if (!is_direct(node)) spill(node);
}

std::uint16_t StripCoder::use(std::uint16_t node) {
  const std::uint16_t stream = sources_[node].stream;
  if (--uses_left_[node] == 0 && slot_of_[node] >= 0) free_slots_.push_back(slot_of_[node]);
  return stream;
}

// Leaves the value of `node` in registers, and in a slot if it is needed again and cannot be read elsewhere.
void StripCoder::compute(std::uint16_t node) {
  if (sources_[node].stream != kNoSource) {
    load(node);
    return;
  }
  compute_strip(node);
  in_registers_ = node;
  if (uses_left_[node] > 1) spill(node);
}

void StripCoder::compute_strip(std::uint16_t id) {
  const AreaNode& node = area_->nodes[id];
  TW_CHECK(node.kind == Kind::kStrip, "only strip operations are computed");
  if (node.c != AreaNode::kNone) {
    make_direct(node.b);
    make_direct(node.c);
    if (in_registers_ != node.a) compute(node.a);
    const int form = (sources_[node.b].form == isa::kOne ? 1 : 0) | (sources_[node.c].form == isa::kOne ? 2 : 0);
    const std::uint16_t b = use(node.b), c = use(node.c);
    use(node.a);
    emit(node.op, node.lane, form, b, c);
  } else if (is_unary(node)) {
    if (in_registers_ != node.a) compute(node.a);
    use(node.a);
    emit(node.op, node.lane);
  } else if (!compute_fma(node)) {
    compute_binary(node);
  }
}

void StripCoder::compute_binary(const AreaNode& node) {
  std::uint16_t left = node.a, right = node.b;
  bool reversed = node.reversed;
  const bool swap = is_direct(left) && (!is_direct(right) || in_registers_ == right);
  if (swap) {
    std::swap(left, right);
    reversed = !reversed;
  }
  make_direct(right);
  if (in_registers_ != left) compute(left);
  if (left == right && !is_direct(right)) spill(right);
  const int form = (sources_[right].form == isa::kOne ? 1 : 0) | (reversed ? 2 : 0);
  const std::uint16_t operand = use(right);
  use(left);
  emit(node.op, node.lane, form, operand);
}

// a * b + c in one operation, where the product has no other use.
bool StripCoder::compute_fma(const AreaNode& node) {
  if (node.op != StripOp::kAdd || node.lane == Lane::kI32 || node.lane == Lane::kI64) return false;
  const auto is_product = [&](std::uint16_t id) {
    const AreaNode& operand = area_->nodes[id];
    return operand.kind == Kind::kStrip && operand.op == StripOp::kMul && operand.lane == node.lane &&
           uses_left_[id] == 1 && sources_[id].stream == kNoSource;
  };
  if (node.a == node.b) return false;
  const bool left = is_product(node.a);
  if (!left && !is_product(node.b)) return false;
  const std::uint16_t product = left ? node.a : node.b, addend = left ? node.b : node.a;
  std::uint16_t x = area_->nodes[product].a, y = area_->nodes[product].b;
  if (x == y) return false;
  if (is_direct(x) && !is_direct(y)) std::swap(x, y);
  make_direct(y);
  make_direct(addend);
  if (in_registers_ != x) compute(x);
  const int form = (sources_[y].form == isa::kOne ? 1 : 0) | (sources_[addend].form == isa::kOne ? 2 : 0);
  const std::uint16_t b = use(y), c = use(addend);
  use(x);
  uses_left_[product] = 0;
  emit(StripOp::kFma, node.lane, form, b, c);
  return true;
}

}  // namespace tilewright::compiler
