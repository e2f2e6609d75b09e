// Reductions, running reductions, order: operators that walk axes.
#include <algorithm>
#include <limits>

#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

std::string_view reduction_name(Op op) {
  switch (op) {
    case Op::kReduceSum:
      return "ReduceSum";
    case Op::kReduceProd:
      return "ReduceProd";
    case Op::kReduceMax:
      return "ReduceMax";
    case Op::kReduceMin:
      return "ReduceMin";
    default:
      return "ReduceMean";
  }
}

// Slices of an axis, one after the other, through a body that makes the next state and what is stacked.
struct Running {
  std::unique_ptr<schema::GraphProto> graph = std::make_unique<schema::GraphProto>();
  GraphWriter target;
  Frame frame;
  ExportNode n;

  explicit Running(ExportNode& around)
      : target(around.frame().model(), *graph),
        frame(around.frame().graph(), target, &around.frame()),
        n(around, frame) {
    graph->name = "body";
  }
  Out input(std::string_view name, DType dtype, const Shape& shape) {
    return add_body_input(target, name, dtype, shape);
  }
};

Shape slice_shape(const ExportNode& n) {
  Shape shape = n.shape(0);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(n.integer("axis")));
  return shape;
}

// A value of the shape of a slice.
Out filled(ExportNode& n, Out number, const Shape& shape) {
  return n.expand(number, {}, shape);
}

Outs run(ExportNode& n, Running& body, const Outs& states, Out scanned, const std::vector<DType>& stacked,
         bool reverse) {
  const std::int64_t axis = n.integer("axis");
  Outs inputs = states;
  inputs.push_back(scanned);
  std::vector<DType> results;
  for (const Out& state : states) results.push_back(state.dtype);
  results.insert(results.end(), stacked.begin(), stacked.end());
  const Ints axes(stacked.size(), axis), back(stacked.size(), reverse ? 1 : 0);
  const Outs out = n.make_all("Scan", inputs,
                              {{"num_scan_inputs", std::int64_t{1}},
                               {"scan_input_axes", Ints{axis}},
                               {"scan_input_directions", Ints{reverse ? 1 : 0}},
                               {"scan_output_axes", axes},
                               {"scan_output_directions", back}},
                              results);
  n.frame().target().add_subgraph("body", std::move(body.graph));
  return {out.begin() + std::ssize(states), out.end()};
}

Outs running_product(ExportNode& n) {
  const Out x = n.input(0);
  const DType wide = is_float(x.dtype) ? x.dtype == DType::kF64 ? DType::kF64 : DType::kF32 : DType::kI64;
  const Shape shape = slice_shape(n);
  const Out one = filled(n, is_float(wide) ? n.number(wide, 1) : n.integer(wide, 1), shape);
  const Out scanned = n.cast(x, wide);
  Running body(n);
  const Out state = body.input("product", wide, shape), slice = body.input("slice", wide, shape);
  const Out next = body.n.mul(state, slice);
  const bool exclusive = n.attrs().flag("exclusive");
  add_results(body.target, {next, exclusive ? state : next}, {{wide, shape}, {wide, shape}});
  return {n.cast(run(n, body, {one}, scanned, {wide}, n.attrs().flag("reverse"))[0], x.dtype)};
}

// The state: the extreme, its position, the number of the next slice. The first slice always counts.
Outs running_extreme(ExportNode& n) {
  const Out x = n.input(0);
  const bool real = is_float(x.dtype), is_max = n.op() == Op::kCumMax;
  const DType wide = real ? x.dtype == DType::kF64 ? DType::kF64 : DType::kF32 : DType::kI64;
  const Shape shape = slice_shape(n);
  const Out start = filled(n, real ? n.number(wide, 0) : n.integer(wide, 0), shape);
  const Out at = filled(n, n.integer(DType::kI64, 0), shape), trip = n.integer(DType::kI64, 0);
  const Out scanned = n.cast(x, wide);
  Running body(n);
  ExportNode& b = body.n;
  const Out best = body.input("best", wide, shape), best_at = body.input("best_at", DType::kI64, shape);
  const Out number = body.input("number", DType::kI64, {}), slice = body.input("slice", wide, shape);
  Out better = b.make(is_max ? "GreaterOrEqual" : "LessOrEqual", {slice, best});
  if (real) better = b.make("Or", {better, b.make("IsNaN", {slice})}, {}, DType::kBool);
  better = b.make("Or", {better, b.equal(number, b.integer(DType::kI64, 0))}, {}, DType::kBool);
  const Out next = b.where(better, slice, best), next_at = b.where(better, number, best_at);
  const TensorType values{wide, shape}, positions{DType::kI64, shape};
  add_results(body.target, {next, next_at, b.add(number, b.integer(DType::kI64, 1)), next, next_at},
              {values, positions, {DType::kI64, {}}, values, positions});
  const Outs out = run(n, body, {start, at, trip}, scanned, {wide, DType::kI64}, false);
  return {n.cast(out[0], x.dtype), out[1]};
}

Outs top(ExportNode& n, Dim k, bool largest) {
  const Out x = n.input(0);
  const bool as_is = x.dtype == DType::kF32 || x.dtype == DType::kF64 || x.dtype == DType::kI64;
  const DType wide = as_is ? x.dtype : is_float(x.dtype) ? DType::kF32 : DType::kI64;
  const Outs found = n.make_all("TopK", {n.cast(x, wide), n.size(k)},
                                {{"axis", n.integer("axis")}, {"largest", std::int64_t{largest}}}, {wide, DType::kI64});
  return {n.cast(found[0], x.dtype), found[1]};
}

}  // namespace

Outs export_reduce(ExportNode& n) {
  const Ints& axes = n.attrs().ints("axes");
  const Out x = n.input(0);
  if (axes.empty()) return {x};
  return {n.reduce(reduction_name(n.op()), x, axes, n.attrs().flag("keepdim"))};
}

// A sum gives what is right for no elements too.
Outs export_reduce_bool(ExportNode& n) {
  const Out x = n.input(0);
  const Ints& axes = n.attrs().ints("axes");
  if (axes.empty()) return {x};
  const bool any = n.op() == Op::kReduceAny, keepdim = n.attrs().flag("keepdim");
  const Out counted = n.reduce("ReduceSum", n.cast(any ? x : n.negate(x), DType::kI32), axes, keepdim);
  const Out zero = n.integer(DType::kI32, 0);
  return {any ? n.make("Greater", {counted, zero}) : n.equal(counted, zero)};
}

// A nan counts as the largest (the smallest) element: where there is one, its position is that of the first 1 of IsNaN.
Outs export_arg_reduce(ExportNode& n) {
  const Out x = n.input(0);
  const bool is_max = n.op() == Op::kArgMax;
  const std::int64_t axis = n.integer("axis"), keep = n.attrs().flag("keepdim") ? 1 : 0;
  const Attributes attributes{
      {"axis", axis}, {"keepdims", keep}, {"select_last_index", std::int64_t{n.attrs().flag("last") ? 1 : 0}}};
  const Out at = n.make(is_max ? "ArgMax" : "ArgMin", {x}, attributes);
  if (!is_float(x.dtype)) return {at};
  const Out nans = n.cast(n.make("IsNaN", {x}), DType::kI32);
  const Out any = n.make("Greater", {n.reduce("ReduceSum", nans, {axis}, keep != 0), n.integer(DType::kI32, 0)});
  return {n.where(any, n.make("ArgMax", {nans}, attributes), at)};
}

Outs export_cumsum(ExportNode& n) {
  const Attributes attributes{{"exclusive", std::int64_t{n.attrs().flag("exclusive") ? 1 : 0}},
                              {"reverse", std::int64_t{n.attrs().flag("reverse") ? 1 : 0}}};
  return {n.make("CumSum", {n.input(0), n.integer(DType::kI64, n.integer("axis"))}, attributes, n.dtype(0))};
}

Outs export_running(ExportNode& n) {
  return n.op() == Op::kCumProd ? running_product(n) : running_extreme(n);
}

Outs export_sort(ExportNode& n) {
  return top(n, n.shape(0)[static_cast<std::size_t>(n.integer("axis"))], n.attrs().flag("descending"));
}

Outs export_topk(ExportNode& n) {
  return top(n, n.attrs().dim("k"), n.attrs().flag("largest"));
}

}  // namespace tilewright::onnx
