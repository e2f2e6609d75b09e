#include "tilewright/graph/bound_symbols.h"

#include <algorithm>

namespace tilewright {
namespace {

void add(Dim dim, std::vector<Dim>& out) {
  if (dim.is_symbol() && std::find(out.begin(), out.end(), dim) == out.end()) out.push_back(dim);
}

void add_attribute(const Attrs& attrs, std::string_view name, std::vector<Dim>& out) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return;
  if (const auto* dim = std::get_if<Dim>(value)) add(*dim, out);
  if (const auto* dims = std::get_if<Dims>(value)) {
    for (const Dim one : *dims) add(one, out);
  }
}

// Result i of a loop carries input first + i.
void add_carried(const Graph& graph, const Node& node, std::size_t first, std::size_t count, std::vector<Dim>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& last = graph.type(node.outputs[i]).shape;
    const Shape& initial = graph.type(node.inputs[first + i]).shape;
    for (std::size_t axis = 0; axis < std::min(last.size(), initial.size()); ++axis) {
      if (varies(last[axis], initial[axis])) add(last[axis], out);
    }
  }
}

}  // namespace

std::vector<Dim> bound_symbols(const Graph& graph, const Node& node) {
  std::vector<Dim> out;
  switch (node.op) {
    case Op::kIf:
      add_attribute(node.attrs, "late", out);
      break;
    case Op::kWhile:
      add_carried(graph, node, 0, std::min(node.inputs.size(), node.outputs.size()), out);
      break;
    case Op::kScan: {
      const std::size_t first = node.attrs.flag("conditional") ? 1 : 0;
      const auto carried = static_cast<std::size_t>(node.attrs.integer("carried"));
      if (first + carried <= node.inputs.size() && carried <= node.outputs.size())
        add_carried(graph, node, first, carried, out);
      add_attribute(node.attrs, "count", out);
      add_attribute(node.attrs, "late", out);
      break;
    }
    case Op::kHostCall:
      for (const ValueId output : node.outputs) {
        for (const Dim dim : graph.type(output).shape) add(dim, out);
      }
      break;
    default:
      if (info(node.op).op_class != OpClass::kLate) break;
      add_attribute(node.attrs, "count", out);
      add_attribute(node.attrs, "symbol", out);
  }
  return out;
}

}  // namespace tilewright
