// Quantised operators. Those of ONNX take zero points of one element or of one per row or column; others are spelled
// out.
#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

bool is_byte(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8;
}

bool has_one_element(const Shape& shape) {
  for (const Dim dim : shape) {
    if (dim.constant() != 1) return false;
  }
  return true;
}

// Whether QuantizeLinear and DequantizeLinear of the opset have this form.
bool is_standard(const ExportNode& n, DType quantised, DType real) {
  const bool wide = !is_byte(quantised) && quantised != DType::kI32;
  if (n.opset() < 21 && (wide || n.integer("block") > 0)) return false;
  return real == DType::kF32;
}

Attributes layout(const ExportNode& n) {
  Attributes out;
  if (n.shape(1).empty() || n.shape(1)[0].constant() == 1) {
    if (n.integer("block") == 0) return out;
  }
  out.push_back({"axis", n.integer("axis")});
  if (n.integer("block") > 0) out.push_back({"block_size", n.integer("block")});
  return out;
}

// A scale or zero of shape [1] counts as one of rank 0.
Out parameter(ExportNode& n, std::size_t input) {
  const bool is_vector = n.shape(input).size() == 1 && n.shape(input)[0].constant() == 1;
  return is_vector && n.integer("block") == 0 ? n.make("Reshape", {n.input(input), n.ints({})}) : n.input(input);
}

}  // namespace

Outs export_quantize(ExportNode& n) {
  const DType dtype = n.attrs().dtype("dtype");
  const bool whole = n.integer("low") == 0 && n.integer("high") == 0;
  if (!whole || !is_standard(n, dtype, n.dtype(0))) return n.definition();
  Out zero;
  if (n.num_inputs() > 2) {
    zero = parameter(n, 2);
  } else if (dtype != DType::kU8) {  // which says the dtype, and has the shape of the scale
    const Out shape = n.make("Shape", {parameter(n, 1)}, {}, DType::kI64);
    zero = n.make("Expand", {n.integer(dtype, 0), shape}, {}, dtype);
  }
  return {n.make("QuantizeLinear", {n.input(0), parameter(n, 1), zero}, layout(n), dtype)};
}

Outs export_dequantize(ExportNode& n) {
  if (!is_standard(n, n.dtype(0), n.dtype(1))) return n.definition();
  const bool no_zero = n.dtype(0) == DType::kI32 && n.num_inputs() > 2;  // ONNX wants it to be 0 there
  if (no_zero) return n.definition();
  const Out zero = n.num_inputs() > 2 ? parameter(n, 2) : Out{};
  return {n.make("DequantizeLinear", {n.input(0), parameter(n, 1), zero}, layout(n), n.dtype(1))};
}

Outs export_integer_matmul(ExportNode& n) {
  const bool simple = n.num_inputs() < 3 || has_one_element(n.shape(2));
  const bool columns = n.num_inputs() < 4 || has_one_element(n.shape(3)) || n.shape(3).size() == 1;
  if (!simple || !columns) return n.definition();
  const auto zero = [&](std::size_t input) {
    if (n.num_inputs() <= input) return Out{};
    return has_one_element(n.shape(input)) ? n.make("Reshape", {n.input(input), n.ints({})}) : n.input(input);
  };
  return {n.make("MatMulInteger", {n.input(0), n.input(1), zero(2), zero(3)}, {}, DType::kI32)};
}

// onnxruntime's ConvInteger takes x of u8 and one zero point of w. Bytes with a sign are moved by 128; a zero point for
// each channel is taken off afterwards: sum((x - x0) (w - w0)) = sum((x - x0) w) - w0 sum(x - x0).
Outs export_integer_conv(ExportNode& n) {
  const auto low = n.known(n.attrs().dims("low")), high = n.known(n.attrs().dims("high"));
  if (!low || !high) return n.fail("ConvInteger takes known pads only");
  Ints pads = *low;
  pads.insert(pads.end(), high->begin(), high->end());
  for (const std::int64_t pad : pads) {
    if (pad < 0) return n.fail("ConvInteger takes no negative pads");
  }
  const Attributes attributes{{"strides", n.attrs().ints("stride")},
                              {"pads", pads},
                              {"dilations", n.attrs().ints("dilation")},
                              {"group", n.integer("groups")}};
  const auto scalar = [&](Out value) { return n.make("Reshape", {value, n.ints({})}); };
  const auto moved = [&](Out value) {
    return n.cast(n.add(n.cast(value, DType::kI32), n.integer(DType::kI32, 128)), DType::kU8);
  };
  const bool is_signed = n.dtype(0) == DType::kI8;
  const Out x = is_signed ? moved(n.input(0)) : n.input(0), w = n.input(1);
  Out x_zero = n.num_inputs() > 2 ? scalar(n.input(2)) : Out{};
  if (is_signed) x_zero = n.num_inputs() > 2 ? moved(x_zero) : n.integer(DType::kU8, 128);
  const bool per_channel = n.num_inputs() > 3 && !has_one_element(n.shape(3));
  const Out w_zero = n.num_inputs() > 3 && !per_channel ? scalar(n.input(3)) : Out{};
  const Out sum = n.make("ConvInteger", {x, w, x_zero, w_zero}, attributes, DType::kI32);
  if (!per_channel) return {sum};
  const Out ones = n.make("Expand", {n.integer(w.dtype, 1), n.make("Shape", {w}, {}, DType::kI64)}, {}, w.dtype);
  const Out of_x = n.make("ConvInteger", {x, ones, x_zero, Out{}}, attributes, DType::kI32);
  Ints column;
  for (std::int64_t axis = 1; axis < n.rank(0) - 1; ++axis) column.push_back(axis);
  return {n.sub(sum, n.mul(n.unsqueeze(n.cast(n.input(3), DType::kI32), column), of_x))};
}

Outs export_block_matmul(ExportNode& n) {
  const auto size = n.known(n.shape(1)[0]), k = n.known(n.shape(0).back()), blocks = n.known(n.shape(1)[1]);
  const std::int64_t block = n.integer("block");
  const bool fits = size && k && blocks && *blocks == (*k + block - 1) / block && n.dtype(0) == DType::kF32;
  if (n.standard_only() || !fits) return n.definition();
  Outs inputs{n.input(0), n.input(1), n.input(2)};
  if (n.num_inputs() > 3) inputs.push_back(n.input(3));
  return n.make_all("MatMulNBits", inputs, {{"K", *k}, {"N", *size}, {"bits", std::int64_t{4}}, {"block_size", block}},
                    {n.dtype(0)}, "com.microsoft");
}

}  // namespace tilewright::onnx
