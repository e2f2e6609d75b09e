// Operators that make tensors, and those whose results tell sizes only when they have run.
#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t kLargestKnown = 4096;  // elements of an iota that becomes an initializer

Tensor counting(std::int64_t count) {
  Tensor out(DType::kI64, {count});
  for (std::int64_t i = 0; i < count; ++i) out.data_as<std::int64_t>()[i] = i;
  return out;
}

// Positions 0 .. size-1.
Out positions(ExportNode& n, Dim size) {
  const auto number = n.known(size);
  if (number && *number <= kLargestKnown) {
    return n.frame().model().constant(counting(*number), fmt::format("range_{}", *number));
  }
  return n.make("Range", {n.integer(DType::kI64, 0), n.scalar(size, DType::kI64), n.integer(DType::kI64, 1)});
}

}  // namespace

Outs export_constant(ExportNode& n) {
  return {n.frame().model().constant(n.attrs().tensor("value"), n.name())};
}

Outs export_scalar(ExportNode& n) {
  return {n.scalar(n.attrs().dim("value"), n.attrs().dtype("dtype"))};
}

Outs export_iota(ExportNode& n) {
  const Dims& shape = n.attrs().dims("shape");
  const auto axis = static_cast<std::size_t>(n.integer("axis"));
  const DType dtype = n.attrs().dtype("dtype");
  const Dim start = n.attrs().dim("start"), step = n.attrs().dim("step");
  Out out = positions(n, shape[axis]);
  const bool plain = start.constant() == 0 && step.constant() == 1;
  if (!plain) {
    const DType wide = is_float(dtype) ? DType::kF64 : DType::kI64;
    out = n.add(n.mul(n.cast(out, wide), n.scalar(step, wide)), n.scalar(start, wide));
  }
  out = n.cast(out, dtype);
  if (shape.size() == 1) return {out};
  Shape row(shape.size(), Dim(1));
  row[axis] = shape[axis];
  Ints column;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) column.push_back(static_cast<std::int64_t>(i - axis));
  return {n.expand(n.unsqueeze(out, column), Shape(row.begin() + static_cast<std::ptrdiff_t>(axis), row.end()), shape)};
}

Outs export_nonzero(ExportNode& n) {
  Out x = n.input(0);
  if (x.dtype == DType::kBool || x.dtype == DType::kI64 || x.dtype == DType::kI32 || x.dtype == DType::kF32) {
    // as it is
  } else {
    x = n.cast(x, DType::kBool);
  }
  if (n.rank(0) == 0) {  // counted as one row, of which no coordinate is left
    const Out found = n.make("NonZero", {n.unsqueeze(x, {0})}, {}, DType::kI64);
    const Out rows = n.transpose(found, {1, 0});
    return {n.make("Slice", {rows, n.ints({0}), n.ints({0}), n.ints({1})})};
  }
  return {n.transpose(n.make("NonZero", {x}, {}, DType::kI64), {1, 0})};
}

Outs export_item(ExportNode& n) {
  n.frame().bind_element(n.attrs().dim("symbol"), n.input(0));
  return {};
}

Outs export_unique(ExportNode& n) {
  const Out x = n.input(0);
  const bool native = x.dtype == DType::kF32 || x.dtype == DType::kF64 || x.dtype == DType::kI64;
  const DType wide = native ? x.dtype : is_float(x.dtype) ? DType::kF32 : DType::kI64;
  const Outs found = n.make_all("Unique", {n.cast(x, wide)}, {{"sorted", std::int64_t{1}}},
                                {wide, DType::kI64, DType::kI64, DType::kI64});
  return {n.cast(found[0], x.dtype), found[2], found[3]};
}

}  // namespace tilewright::onnx
