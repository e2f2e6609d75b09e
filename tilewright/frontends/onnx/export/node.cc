#include "tilewright/frontends/onnx/export/node.h"

#include <algorithm>

#include "tilewright/frontends/onnx/types.h"
#include "tilewright/graph/composites/composites.h"

namespace tilewright::onnx {
namespace {

struct OperatorRow {
  std::string_view dtypes;
  std::size_t first, count;
  char result;
};

const OperatorRow* find_row(std::string_view op_type) {
  static const std::unordered_map<std::string_view, OperatorRow> rows{
#define OPERATOR(Name, dtypes, first, count, result) {#Name, OperatorRow{dtypes, first, count, result}},
#include "tilewright/frontends/onnx/export/operators.def"
#undef OPERATOR
  };
  const auto found = rows.find(op_type);
  return found == rows.end() ? nullptr : &found->second;
}

char letter(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 'e';
    case DType::kF32:
      return 'f';
    case DType::kF64:
      return 'd';
    case DType::kBF16:
      return 'E';
    case DType::kI8:
      return 'b';
    case DType::kU8:
      return 'B';
    case DType::kI16:
      return 'h';
    case DType::kI32:
      return 'i';
    case DType::kI64:
      return 'l';
    case DType::kBool:
      return '?';
  }
  __builtin_unreachable();
}

// The dtype to compute in for operands of `dtype`. Integers wrap when they are narrowed back.
DType computed_in(const OperatorRow& row, DType dtype) {
  const auto has = [&](DType wanted) { return row.dtypes.find(letter(wanted)) != std::string_view::npos; };
  if (has(dtype)) return dtype;
  if (is_float(dtype)) return DType::kF32;
  for (const DType wider : {DType::kI32, DType::kI64}) {
    if (has(wider)) return wider;
  }
  return DType::kF32;
}

}  // namespace

const Tensor* ExportNode::constant(std::size_t input) const {
  const NodeId producer = frame_.graph().value(node_.inputs[input]).producer;
  if (producer == kNoNode || frame_.graph().node(producer).op != Op::kConstant) return nullptr;
  return &frame_.graph().node(producer).attrs.tensor("value");
}

bool ExportNode::is_used(std::size_t output) const {
  const ValueId value = node_.outputs[output];
  const Graph& graph = frame_.graph();
  const auto reads = [&](const Node& node) {
    if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end()) return true;
    return std::any_of(node.regions.begin(), node.regions.end(), [&](const auto& region) {
      return std::any_of(region->captures().begin(), region->captures().end(),
                         [&](const Graph::Capture& capture) { return capture.outer == value; });
    });
  };
  return std::find(graph.outputs().begin(), graph.outputs().end(), value) != graph.outputs().end() ||
         std::any_of(graph.order().begin(), graph.order().end(), [&](NodeId id) { return reads(graph.node(id)); });
}

std::optional<Ints> ExportNode::known(const Dims& dims) const {
  Ints out;
  for (const Dim dim : dims) {
    const auto number = known(dim);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

Out ExportNode::make(std::string_view op_type, std::initializer_list<Out> inputs, const Attributes& attributes) {
  return make(op_type, inputs, attributes, inputs.begin()->dtype);
}

Out ExportNode::make(std::string_view op_type, std::initializer_list<Out> inputs, const Attributes& attributes,
                     DType result) {
  return make_all(op_type, Outs(inputs), attributes, {result})[0];
}

Outs ExportNode::make_all(std::string_view op_type, const Outs& inputs, const Attributes& attributes,
                          const std::vector<DType>& results, std::string_view domain) {
  const OperatorRow* row = domain.empty() ? find_row(op_type) : nullptr;
  const std::string stem = fmt::format("{}_{}", name_, op_type);
  if (row == nullptr) return frame_.target().add(op_type, inputs, attributes, results, stem, domain);
  Outs operands = inputs;
  std::vector<DType> types = results;
  const DType own = inputs[row->first].dtype, wide = computed_in(*row, own);
  const std::size_t end = std::min(inputs.size(), row->first + row->count);
  for (std::size_t i = row->first; i < end; ++i) {
    if (!operands[i].name.empty()) operands[i] = cast(operands[i], wide);
  }
  types[0] = row->result == 'T' ? wide : row->result == '?' ? DType::kBool : DType::kI64;
  Outs out = frame_.target().add(op_type, operands, attributes, types, stem);
  if (row->result == 'T') out[0] = cast(out[0], own);
  return out;
}

Out ExportNode::cast(Out value, DType dtype) {
  return value.dtype == dtype ? value : cast_elem(value, *elem_type_of(dtype), dtype);
}

Out ExportNode::cast_elem(Out value, std::int64_t elem_type, DType dtype) {
  return frame_.target().add_one("Cast", {value}, dtype, fmt::format("{}_Cast", name_), {{"to", elem_type}});
}

Out ExportNode::reduce(std::string_view op_type, Out value, const Ints& axes, bool keepdim) {
  const std::int64_t keep = keepdim ? 1 : 0;
  if (op_type == "ReduceSum" || opset() >= 18) {
    return make(op_type, {value, ints(axes)}, {{"keepdims", keep}}, value.dtype);
  }
  return make(op_type, {value}, {{"axes", axes}, {"keepdims", keep}}, value.dtype);
}

Out ExportNode::unsqueeze(Out value, const Ints& axes) {
  return axes.empty() ? value : make("Unsqueeze", {value, ints(axes)});
}

Out ExportNode::transpose(Out value, const Ints& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return value;
  return make("Transpose", {value}, {{"perm", perm}});
}

Out ExportNode::slice(Out value, std::int64_t axis, Dim start, Dim stop) {
  return make("Slice", {value, size(start), size(stop), ints({axis})}, {}, value.dtype);
}

Out ExportNode::concat(const Outs& values, std::int64_t axis) {
  return values.size() == 1 ? values[0] : make_all("Concat", values, {{"axis", axis}}, {values[0].dtype})[0];
}

Outs ExportNode::fail(std::string text) {
  frame_.model().fail({ErrorKind::kUnsupported, std::move(text)});
  Outs out;
  for (const ValueId output : node_.outputs) out.push_back({"", frame_.graph().type(output).dtype});
  return out;
}

// The primitives are built into a graph of their own, whose sizes mean what they mean here, and written from there.
Outs ExportNode::definition() {
  Graph graph;
  graph.facts = facts();
  std::vector<ValueId> inputs;
  Outs given;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    inputs.push_back(graph.add_input(type(i), fmt::format("{}_in", name_)));
    given.push_back(input(i));
  }
  Builder builder(graph);
  graph.set_outputs(define_composite(builder, op(), inputs, attrs()));
  for (const NodeId id : graph.order()) {
    for (const ValueId output : graph.node(id).outputs) {
      graph.rename(output, fmt::format("{}_{}", name_, info(graph.node(id).op).text));
    }
  }
  Frame frame(graph, frame_.target(), &frame_);
  for (std::size_t i = 0; i < inputs.size(); ++i) frame.set(inputs[i], given[i]);
  return write_graph(frame);
}

}  // namespace tilewright::onnx
