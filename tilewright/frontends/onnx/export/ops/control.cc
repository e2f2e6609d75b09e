// Control flow and effects. Regions become subgraphs, which see the names around them, so that captures need no copies.
// A `call` is written out where it stands.
#include <algorithm>

#include "tilewright/frontends/onnx/export/node.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

// A region as the body of a node: its graph, and the frame that writes into it.
struct Body {
  std::unique_ptr<schema::GraphProto> graph = std::make_unique<schema::GraphProto>();
  GraphWriter target;

  Body(ModelWriter& model, std::string_view name) : target(model, *graph) {
    graph->name = model.keep(std::string(name));
  }
};

std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<TensorType> out;
  for (const ValueId value : values) out.push_back(graph.type(value));
  return out;
}

std::vector<TensorType> input_types(const ExportNode& n, std::size_t first, std::size_t count) {
  std::vector<TensorType> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(n.type(first + i));
  return out;
}

Outs inputs_of(const ExportNode& n, std::size_t first, std::size_t count) {
  Outs out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(n.input(first + i));
  return out;
}

// The nodes of a region where `target` is, and its results.
Outs write_region(ExportNode& n, const Graph& region, GraphWriter& target, std::span<const Out> inputs,
                  std::span<const TensorType> passed) {
  Frame frame(region, target, &n.frame());
  enter_region(frame, inputs, passed);
  for (const Graph::Capture& capture : region.captures()) frame.set(capture.inner, n.frame().value(capture.outer));
  return write_graph(frame);
}

std::vector<DType> result_dtypes(const ExportNode& n) {
  std::vector<DType> out;
  for (std::size_t i = 0; i < n.node().outputs.size(); ++i) out.push_back(n.result(i).dtype);
  return out;
}

TensorType truth() {
  return {DType::kBool, {}};
}

}  // namespace

Out add_body_input(GraphWriter& target, std::string_view name, DType dtype, const Shape& shape) {
  return target.add_input(target.model().fresh_name(name), *elem_type_of(dtype), dtype, shape);
}

void enter_region(Frame& frame, std::span<const Out> inputs, std::span<const TensorType> passed) {
  const Graph& graph = frame.graph();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    frame.set(graph.inputs()[i], inputs[i]);
    const Shape& shape = graph.type(graph.inputs()[i]).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis].is_symbol() && shape[axis] != passed[i].shape[axis])
        frame.bind_size(shape[axis], inputs[i], axis);
    }
  }
}

void add_results(GraphWriter& graph, const Outs& results, const std::vector<TensorType>& types) {
  std::unordered_set<std::string_view> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Out out = results[i];
    if (!graph.makes(out.name) || !taken.insert(out.name).second) {
      out = graph.add_one("Identity", {out}, out.dtype, "result");
      taken.insert(out.name);
    }
    graph.add_output(out.name, *elem_type_of(types[i].dtype), types[i].shape);
  }
}

Outs export_if(ExportNode& n) {
  std::vector<std::unique_ptr<schema::GraphProto>> branches;
  for (std::size_t i = 0; i < 2; ++i) {
    const Graph& region = *n.node().regions[i];
    Body body(n.frame().model(), i == 0 ? "then" : "else");
    const Outs results = write_region(n, region, body.target, {}, {});
    add_results(body.target, results, types_of(region, region.outputs()));
    branches.push_back(std::move(body.graph));
  }
  const Outs out = n.make_all("If", {n.input(0)}, {}, result_dtypes(n));
  n.frame().target().add_subgraph("then_branch", std::move(branches[0]));
  n.frame().target().add_subgraph("else_branch", std::move(branches[1]));
  return out;
}

// The condition is written twice: before the loop for the first trip, at the end of the body for the next one.
Outs export_while(ExportNode& n) {
  const Graph &condition = *n.node().regions[0], &region = *n.node().regions[1];
  const Outs initial = inputs_of(n, 0, n.num_inputs());
  const std::vector<TensorType> passed = input_types(n, 0, n.num_inputs());
  const Out first = write_region(n, condition, n.frame().target(), initial, passed)[0];
  Body body(n.frame().model(), "body");
  add_body_input(body.target, "trip", DType::kI64, {});
  add_body_input(body.target, "again", DType::kBool, {});
  Outs carried;
  std::vector<TensorType> types{truth()};
  for (const ValueId input : region.inputs()) {
    const TensorType& type = region.type(input);
    types.push_back(type);
    carried.push_back(add_body_input(body.target, region.value(input).name, type.dtype, type.shape));
  }
  const Outs next = write_region(n, region, body.target, carried, passed);
  Outs results = write_region(n, condition, body.target, next, types_of(region, region.outputs()));
  results.insert(results.end(), next.begin(), next.end());
  add_results(body.target, results, types);
  Outs operands{Out{"", DType::kI64}, first};
  operands.insert(operands.end(), initial.begin(), initial.end());
  const Outs out = n.make_all("Loop", operands, {}, result_dtypes(n));
  n.frame().target().add_subgraph("body", std::move(body.graph));
  return out;
}

namespace {

// Without a trip nothing says how large the elements are: a subgraph declares only the sizes that are numbers. Sizes
// that are known outside are given to the stack afterwards.
Out with_sizes(ExportNode& n, Out stacked, const Shape& shape) {
  const Dims& late = n.attrs().dims("late");
  bool is_known = true;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    if (std::find(late.begin(), late.end(), shape[axis]) != late.end()) return stacked;
    is_known = is_known && n.known(shape[axis]);
  }
  if (is_known) return stacked;
  for (const Dim count : n.attrs().dims("count")) n.frame().bind_size(count, stacked, 0);
  const Attributes as_they_are = n.opset() < 14 ? Attributes{} : Attributes{{"allowzero", std::int64_t{1}}};
  return n.make("Reshape", {stacked, n.sizes(shape)}, as_they_are);
}

}  // namespace

Outs export_scan(ExportNode& n) {
  const Graph& region = *n.node().regions[0];
  const std::size_t conditional = n.attrs().flag("conditional") ? 1 : 0;
  const auto num_carried = static_cast<std::size_t>(n.integer("carried"));
  const std::size_t first_scanned = conditional + num_carried;
  Body body(n.frame().model(), "body");
  const Out trip = add_body_input(body.target, "trip", DType::kI64, {});
  const Out again = add_body_input(body.target, "again", DType::kBool, {});
  Outs inputs{trip};
  std::vector<TensorType> passed{{DType::kI64, {}}}, types{truth()};
  for (std::size_t i = 0; i < num_carried; ++i) {
    const ValueId input = region.inputs()[1 + i];
    const TensorType& type = region.type(input);
    inputs.push_back(add_body_input(body.target, region.value(input).name, type.dtype, type.shape));
    passed.push_back(n.type(conditional + i));
  }
  for (std::size_t i = first_scanned; i < n.num_inputs(); ++i) {
    const TensorType& whole = n.type(i);
    inputs.push_back(
        body.target.add_one("Gather", {n.input(i), trip}, whole.dtype, "slice", {{"axis", std::int64_t{0}}}));
    passed.push_back({whole.dtype, {whole.shape.begin() + 1, whole.shape.end()}});
  }
  Outs results = write_region(n, region, body.target, inputs, passed);
  if (conditional == 0) results.insert(results.begin(), again);
  for (std::size_t i = conditional; i < region.outputs().size(); ++i) types.push_back(region.type(region.outputs()[i]));
  add_results(body.target, results, types);
  Outs operands{n.scalar(n.attrs().dim("trips"), DType::kI64), Out{"", DType::kBool}};
  if (conditional == 1) operands[1] = n.input(0);
  if (conditional == 0 && num_carried == 0)
    operands[1] = n.number(DType::kBool, 1);  // the last one may not be left out
  const Outs carried = inputs_of(n, conditional, num_carried);
  operands.insert(operands.end(), carried.begin(), carried.end());
  Outs out = n.make_all("Loop", operands, {}, result_dtypes(n));
  n.frame().target().add_subgraph("body", std::move(body.graph));
  for (std::size_t i = num_carried; i < out.size(); ++i) out[i] = with_sizes(n, out[i], n.result(i).shape);
  return out;
}

Outs export_call(ExportNode& n) {
  return write_region(n, *n.node().regions[0], n.frame().target(), inputs_of(n, 0, n.num_inputs()),
                      input_types(n, 0, n.num_inputs()));
}

Outs export_assign(ExportNode& n) {
  const auto& inputs = n.frame().graph().inputs();
  const ValueId buffer = n.node().inputs[0];
  if (n.frame().outer() != nullptr || std::find(inputs.begin(), inputs.end(), buffer) == inputs.end()) {
    return n.fail(
        "ONNX has no state: an assign can be a further output of the model only, not inside of a loop or branch");
  }
  auto& states = n.frame().model().states;
  std::erase_if(states, [&](const auto& state) { return state.first == buffer; });
  states.emplace_back(buffer, n.input(1));
  return {};
}

Outs export_assert(ExportNode& n) {
  n.frame().model().note(fmt::format("a check is left out: {}", n.attrs().text("message")));
  return {};
}

}  // namespace tilewright::onnx
