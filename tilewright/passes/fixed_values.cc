#include "tilewright/passes/fixed_values.h"

#include <algorithm>

#include "tilewright/passes/pattern.h"

namespace tilewright::passes {
namespace {

constexpr double kMostGrowth = 4;          // bytes kept for each byte of the weights: i8 kept as f32
constexpr double kAlwaysKept = 1 << 20;    // bytes
constexpr double kMostBytes = 1ull << 32;  // of one value

bool is_known(const Attrs& attrs) {
  for (const Attrs::Entry& entry : attrs.entries()) {
    if (const auto* dim = std::get_if<Dim>(&entry.value); dim != nullptr && !dim->real_constant()) return false;
    const auto* dims = std::get_if<Dims>(&entry.value);
    if (dims != nullptr && !std::ranges::all_of(*dims, [](Dim dim) { return dim.constant().has_value(); }))
      return false;
  }
  return true;
}

// Negative if a size is not known.
double bytes_of(const TensorType& type) {
  double bytes = static_cast<double>(byte_size(type.dtype));
  for (const Dim dim : type.shape) {
    if (!dim.constant() || *dim.constant() < 0) return -1;
    bytes *= static_cast<double>(*dim.constant());
  }
  return bytes;
}

bool has_known_sizes(const TensorType& type) {
  const double bytes = bytes_of(type);
  return bytes >= 0 && bytes <= kMostBytes;
}

bool is_view(Op op) {
  return op == Op::kReshape || op == Op::kTranspose || op == Op::kExpand || op == Op::kSlice || op == Op::kFlip;
}

// Their kernels want weights as they lie in memory.
bool reads_rows(Op op) {
  return op == Op::kConv || op == Op::kConvTranspose || op == Op::kIntegerConv;
}

bool is_product(Op op) {
  return op == Op::kMatMul || op == Op::kIntegerMatMul || op == Op::kBlockMatMul;
}

}  // namespace

std::vector<ValueId> written_buffers(const Graph& graph) {
  std::vector<ValueId> written;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op == Op::kAssign) written.push_back(node.inputs[0]);
    for (const auto& region : node.regions) {
      const std::vector<ValueId> inner = written_buffers(*region);
      for (const Graph::Capture& capture : region->captures()) {
        if (std::ranges::find(inner, capture.inner) != inner.end()) written.push_back(capture.outer);
      }
    }
  }
  return written;
}

FixedValues::FixedValues(const Graph& graph) : graph_(graph), fallible_(true), fixed_(graph.num_values(), 0) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId input = graph.inputs()[i];
    if (graph.role(i) == InputRole::kWeight && has_known_sizes(graph.type(input))) fixed_[input] = 1;
  }
  for (const ValueId buffer : written_buffers(graph)) fixed_[buffer] = 0;
  find();
}

FixedValues::FixedValues(const Graph& region, const FixedValues& outer)
    : graph_(region), fallible_(false), fixed_(region.num_values(), 0) {
  for (const Graph::Capture& capture : region.captures()) fixed_[capture.inner] = outer.has(capture.outer) ? 1 : 0;
  find();
}

void FixedValues::find() {
  source_bytes_.assign(graph_.num_values(), 0);
  for (ValueId id = 0; id < graph_.num_values(); ++id) {
    if (fixed_[id] != 0) source_bytes_[id] = bytes_of(graph_.type(id));
  }
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (!may_be_fixed(node)) continue;
    for (const ValueId output : node.outputs) {
      fixed_[output] = 1;
      if (node.op == Op::kConstant) source_bytes_[output] = bytes_of(graph_.type(output));
      for (const ValueId input : node.inputs) source_bytes_[output] += source_bytes_[input];
    }
  }
}

void FixedValues::add(ValueId value) {
  if (value >= fixed_.size()) {
    fixed_.resize(value + 1, 0);
    source_bytes_.resize(value + 1, 0);
  }
  fixed_[value] = 1;
}

bool FixedValues::may_be_fixed(const Node& node) const {
  if (!node.regions.empty() || !is_known(node.attrs)) return false;
  switch (info(node.op).op_class) {
    case OpClass::kRandom:
    case OpClass::kLate:
    case OpClass::kControl:
    case OpClass::kEffect:
      return false;
    case OpClass::kIndexing:
      if (!fallible_) return false;
      break;
    default:
      break;
  }
  return std::ranges::all_of(node.inputs, [&](ValueId input) { return has(input); }) &&
         std::ranges::all_of(node.outputs, [&](ValueId output) { return has_known_sizes(graph_.type(output)); });
}

bool FixedValues::is_source(ValueId value) const {
  const NodeId producer = graph_.value(value).producer;
  if (producer == kNoNode) return true;
  const Op op = graph_.node(producer).op;
  return op == Op::kConstant || op == Op::kScalar;
}

// What `reader` takes a view of, as far as that costs it nothing.
ValueId FixedValues::behind_views(ValueId value, const Node& reader) const {
  while (!is_source(value)) {
    const Node& node = graph_.node(graph_.value(value).producer);
    if (!is_view(node.op)) break;
    const bool regroups = node.op == Op::kReshape && !same_but_for_units(graph_.type(node.inputs[0]).shape,
                                                                         graph_.type(value).shape, graph_.facts);
    if (node.op != Op::kExpand) {
      if (!reader.regions.empty()) break;
      if (reads_rows(reader.op) && node.op != Op::kReshape) break;
      if (is_product(reader.op) && (regroups || node.op == Op::kFlip)) break;
    }
    value = node.inputs[0];
  }
  return value;
}

bool FixedValues::is_large(ValueId value) const {
  return bytes_of(graph_.type(value)) > std::max(kAlwaysKept, kMostGrowth * source_bytes_[value]);
}

std::vector<ValueId> FixedValues::worth_keeping() const {
  std::vector<ValueId> kept;
  const auto consider = [&](ValueId value, const Node& reader) {
    if (!has(value)) return;
    value = behind_views(value, reader);
    if (!is_source(value) && !is_large(value)) kept.push_back(value);
  };
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (node.op == Op::kAssign || (!node.outputs.empty() && has(node.outputs[0]))) continue;
    for (const ValueId input : node.inputs) consider(input, node);
    for (const auto& region : node.regions) {
      for (const Graph::Capture& capture : region->captures()) consider(capture.outer, node);
    }
  }
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace tilewright::passes
