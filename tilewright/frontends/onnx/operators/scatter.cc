// Operators that write at positions given by index tensors.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Dim product(std::span<const Dim> dims) {
  Dim out = 1;
  for (const Dim dim : dims) out = out * dim;
  return out;
}

struct ScatterNd {
  TensorType x;
  Shape places;        // of the index, without its last axis
  std::int64_t depth;  // positions in an entry of the index
};

Result<ScatterNd> read_scatter_nd(OnnxNode& n) {
  TW_ASSIGN(TensorType x, n.type(0));
  TW_ASSIGN(const TensorType index, n.type(1));
  if (index.shape.empty()) return fail(ErrorKind::kShapeMismatch, "the index is a scalar");
  TW_ASSIGN(const std::int64_t depth, n.number_of_size(index.shape.back()));
  if (depth > std::ssize(x.shape)) {
    return fail(ErrorKind::kShapeMismatch, "an index {} does not fit {}", index, x);
  }
  return ScatterNd{std::move(x), Shape(index.shape.begin(), index.shape.end() - 1), depth};
}

Maybe column(OnnxNode& n, const ScatterNd& s, std::int64_t i) {
  return n.reshape(n.slice(n.cast(n.input(1), DType::kI64), std::ssize(s.places), i, i + 1), s.places);
}

// With a reduction other than a sum: x as [positions, rest], each entry of the index one number along the first axis.
Maybe scatter_rows(OnnxNode& n, const ScatterNd& s, const std::string& reduction) {
  const auto indexed = static_cast<std::size_t>(s.depth);
  const Dim rows = product(std::span(s.x.shape).first(indexed));
  const Dim rest = product(std::span(s.x.shape).subspan(indexed));
  Maybe place = n.number(DType::kI64, Dim(0));
  for (std::int64_t i = 0; i < s.depth; ++i) {
    const Dim size = s.x.shape[static_cast<std::size_t>(i)];
    const Maybe entry = column(n, s, i);
    const Maybe count = n.number(DType::kI64, size);
    const Maybe wrapped =
        n.op(Op::kSelect, {n.op(Op::kLt, {entry, n.number_like(entry, 0)}), n.op(Op::kAdd, {entry, count}), entry});
    place = n.op(Op::kAdd, {n.op(Op::kMul, {place, count}), wrapped});
  }
  const Dim entries = product(s.places);
  const Maybe index = n.expand(n.reshape(n.expand(place, s.places), {entries, Dim(1)}), {entries, rest});
  const Maybe done =
      n.op(Op::kScatterElements, {n.reshape(n.input(0), {rows, rest}), index, n.reshape(n.input(2), {entries, rest})},
           {{"axis", std::int64_t{0}}, {"reduce", reduction}});
  return n.reshape(done, s.x.shape);
}

}  // namespace

Maybe import_scatter_elements(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), x.shape.size()));
  return n.op(Op::kScatterElements, {n.input(0), n.cast(n.input(1), DType::kI64), n.input(2)},
              {{"axis", axis}, {"reduce", std::string(n.text("reduction", "none"))}});
}

Maybe import_scatter_nd(OnnxNode& n) {
  TW_ASSIGN(const ScatterNd s, read_scatter_nd(n));
  const std::string reduction(n.text("reduction", "none"));
  if ((reduction != "none" && reduction != "add") || s.depth == 0) return scatter_rows(n, s, reduction);
  std::vector<ValueId> inputs;
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    TW_ASSIGN(const ValueId input, n.input(i));
    inputs.push_back(input);
  }
  Ints axes;
  for (std::int64_t i = 0; i < s.depth; ++i) {
    TW_ASSIGN(const ValueId entry, column(n, s, i));
    inputs.push_back(entry);
    axes.push_back(i);
  }
  return n.op(Op::kIndexPut, inputs, {{"axes", axes}, {"accumulate", reduction == "add"}});
}

}  // namespace tilewright::onnx
