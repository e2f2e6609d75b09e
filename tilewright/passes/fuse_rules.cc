#include "tilewright/passes/fuse_rules.h"

#include <algorithm>

#include "tilewright/passes/pattern.h"

namespace tilewright::passes {
namespace {

int width_of(DType dtype) {
  return dtype == DType::kBool ? 0 : byte_size(dtype) == 8 ? 8 : 4;
}

bool tile_is_f32(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

AreaShape classify_cast(const Graph& graph, const Node& node) {
  const int from = width_of(graph.type(node.inputs[0]).dtype), to = width_of(node.attrs.dtype("dtype"));
  AreaShape area{.kind = AreaKind::kMap, .width = to, .domain = graph.type(node.outputs[0]).shape};
  if (to == 0) area.width = from;
  area.edge_cast = from != 0 && to != 0 && from != to;
  return area;
}

AreaShape classify_reduce(const Graph& graph, const Node& node) {
  const TensorType& type = graph.type(node.inputs[0]);
  const Ints& axes = node.attrs.ints("axes");
  AreaShape area{.width = width_of(type.dtype), .domain = type.shape};
  if (axes.back() + 1 == static_cast<std::int64_t>(type.shape.size())) {
    area.kind = AreaKind::kRows;
    area.row_axes = axes.size();
  } else {
    area.kind = AreaKind::kColumns;
    area.reduced = axes;
  }
  return area;
}

// Whether `whole` is the common size of `part` and others.
bool is_part_of(Dim part, Dim whole) {
  if (part == whole) return true;
  if (whole.op() != DimOp::kBroadcast) return false;
  const auto all = whole.operands();
  return std::any_of(all.begin(), all.end(), [&](Dim one) { return is_part_of(part, one); });
}

// Whether `from` is 1 or `to` for all sizes that a call may have: a part of a broadcast size is.
bool broadcasts_into(Dim from, Dim to, const Facts& facts) {
  if (facts.is_one(from) == Answer::kYes || facts.same(from, to) == Answer::kYes) return true;
  if (is_part_of(from, to)) return true;
  if (from.op() != DimOp::kBroadcast) return false;
  const auto parts = from.operands();
  return std::all_of(parts.begin(), parts.end(), [&](Dim part) { return broadcasts_into(part, to, facts); });
}

bool broadcasts_into(const Shape& from, const Shape& to, const Facts& facts) {
  if (from.size() > to.size()) return false;
  const std::size_t lead = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!broadcasts_into(from[i], to[lead + i], facts)) return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(AreaKind kind) {
  switch (kind) {
    case AreaKind::kRows:
      return "rows";
    case AreaKind::kColumns:
      return "columns";
    case AreaKind::kMatMul:
      return "matmul";
    default:
      return "map";
  }
}

AreaShape classify(const Graph& graph, const Node& node) {
  const OpInfo& op = info(node.op);
  if (node.op == Op::kScalar || node.op == Op::kIota || node.op == Op::kExpand) return {.kind = AreaKind::kFree};
  if (node.op == Op::kCast) return classify_cast(graph, node);
  if (op.op_class == OpClass::kReduce) return classify_reduce(graph, node);
  if (is_product(node.op)) {
    const TensorType& type = graph.type(node.outputs[0]);
    if (node.op != Op::kIntegerMatMul && !tile_is_f32(type.dtype)) return {};
    return {.kind = AreaKind::kMatMul, .width = 4, .domain = type.shape};
  }
  switch (node.op) {
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return {.kind = AreaKind::kRows, .width = 4, .domain = graph.type(node.inputs[0]).shape, .row_axes = 1};
    case Op::kLayerNorm:
    case Op::kRmsNorm:
      return {.kind = AreaKind::kRows,
              .width = 4,
              .domain = graph.type(node.inputs[0]).shape,
              .row_axes = static_cast<std::size_t>(node.attrs.integer("num_axes"))};
    default:
      break;
  }
  if (op.op_class != OpClass::kElementwise && node.op != Op::kGelu && node.op != Op::kSilu) return {};
  int width = 0;
  for (ValueId input : node.inputs) width = std::max(width, width_of(graph.type(input).dtype));
  return {.kind = AreaKind::kMap, .width = width, .domain = graph.type(node.outputs[0]).shape};
}

Shape reduced_shape(const AreaShape& area) {
  Shape shape = area.domain;
  if (area.kind == AreaKind::kRows) {
    for (std::size_t i = shape.size() - area.row_axes; i < shape.size(); ++i) shape[i] = Dim(1);
  }
  for (std::int64_t axis : area.reduced) shape[static_cast<std::size_t>(axis)] = Dim(1);
  return shape;
}

bool SizeFacts::same(Dim a, Dim b) const {
  const Answer answer = facts.same(a, b);
  if (answer != Answer::kUnknown || assumed == nullptr) return answer == Answer::kYes;
  if (a == Dim(1) || b == Dim(1)) return false;
  const std::pair<Dim, Dim> pair(a, b);
  if (std::find(assumed->begin(), assumed->end(), pair) == assumed->end()) assumed->push_back(pair);
  return true;
}

bool SizeFacts::same(const Shape& a, const Shape& b) const {
  if (a.size() != b.size()) return false;
  const std::size_t noted = assumed == nullptr ? 0 : assumed->size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same(a[i], b[i])) continue;
    if (assumed != nullptr) assumed->resize(noted);
    return false;
  }
  return true;
}

Fit fit(const Shape& shape, const AreaShape& area, const SizeFacts& sizes) {
  if (sizes.assumed != nullptr) {  // nothing is assumed that is not needed
    const Fit decided = fit(shape, area, SizeFacts{sizes.facts});
    if (decided == Fit::kSame || decided == Fit::kReduced) return decided;
  }
  if (area.kind != AreaKind::kColumns && sizes.same(shape, area.domain)) return Fit::kSame;
  if (area.kind == AreaKind::kRows || area.kind == AreaKind::kColumns) {
    if (sizes.same(shape, reduced_shape(area))) return Fit::kReduced;
  }
  return broadcasts_into(shape, area.domain, sizes.facts) ? Fit::kBroadcast : Fit::kNo;
}

bool may_merge(const AreaShape& producer, const AreaShape& consumer, const SizeFacts& sizes, AreaShape& out,
               bool& recomputes) {
  recomputes = false;
  if (producer.width != 0 && consumer.width != 0 && producer.width != consumer.width) return false;
  const int width = std::max(producer.width, consumer.width);
  if (producer.kind == AreaKind::kMap) {
    if (consumer.kind == AreaKind::kColumns) {
      if (!sizes.same(producer.domain, consumer.domain)) return false;
    } else {
      const Fit how = fit(producer.domain, consumer, sizes);
      if (how != Fit::kSame && how != Fit::kBroadcast) return false;
      recomputes = how == Fit::kBroadcast;
    }
    out = consumer;
  } else if (consumer.kind == AreaKind::kMap) {
    const Fit how = fit(consumer.domain, producer, sizes);
    if (producer.kind == AreaKind::kColumns ? how != Fit::kReduced : how != Fit::kSame && how != Fit::kReduced)
      return false;
    out = producer;
  } else if (producer.kind == AreaKind::kRows && consumer.kind == AreaKind::kRows) {
    if (producer.row_axes != consumer.row_axes || !sizes.same(producer.domain, consumer.domain)) return false;
    out = producer;
  } else if (producer.kind == AreaKind::kColumns && consumer.kind == AreaKind::kColumns) {
    if (producer.reduced != consumer.reduced || !sizes.same(producer.domain, consumer.domain)) return false;
    out = producer;
  } else {
    return false;
  }
  out.width = width;
  return true;
}

}  // namespace tilewright::passes
