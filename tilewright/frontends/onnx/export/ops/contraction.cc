// Matrix products, convolutions, pools. Pads of ONNX are numbers of the model: others are put around x before.
#include <algorithm>
#include <limits>

#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

bool not_negative(const Ints& pads) {
  return std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad >= 0; });
}

// The attribute `pads`, if ONNX can have them so: known, not negative, below the window of a pool.
std::optional<Ints> known_pads(const ExportNode& n, const Ints* window) {
  const auto low = n.known(n.attrs().dims("low")), high = n.known(n.attrs().dims("high"));
  if (!low || !high || !not_negative(*low) || !not_negative(*high)) return std::nullopt;
  Ints pads = *low;
  pads.insert(pads.end(), high->begin(), high->end());
  for (std::size_t i = 0; window != nullptr && i < pads.size(); ++i) {
    if (pads[i] >= (*window)[i % window->size()]) return std::nullopt;
  }
  return pads;
}

// x with pads of `value` around its spatial axes; negative ones crop.
Out padded(ExportNode& n, Out x, const Dims& low, const Dims& high, Out value) {
  Dims pads{Dim(0), Dim(0)};
  pads.insert(pads.end(), low.begin(), low.end());
  pads.insert(pads.end(), {Dim(0), Dim(0)});
  pads.insert(pads.end(), high.begin(), high.end());
  return n.make("Pad", {x, n.sizes(pads), value}, {}, x.dtype);
}

// Every dtype but floats is refused: their products wrap, and ONNX has none that do.
bool is_refused(ExportNode& n) {
  return !is_float(n.dtype(0));
}

Outs refuse_integers(ExportNode& n) {
  return n.fail(fmt::format("the ONNX operator takes floats only, not {}", n.dtype(0)));
}

}  // namespace

Outs export_matmul(ExportNode& n) {
  Out a = n.input(0), b = n.input(1);
  const DType result = n.result().dtype;
  if (result != a.dtype) return {n.make("MatMul", {n.cast(a, result), n.cast(b, result)})};
  return {n.make("MatMul", {a, b})};
}

Outs export_conv(ExportNode& n) {
  if (is_refused(n)) return refuse_integers(n);
  Out x = n.input(0);
  Attributes attributes{
      {"strides", n.attrs().ints("stride")}, {"dilations", n.attrs().ints("dilation")}, {"group", n.integer("groups")}};
  if (const auto pads = known_pads(n, nullptr)) {
    attributes.push_back({"pads", *pads});
  } else {
    x = padded(n, x, n.attrs().dims("low"), n.attrs().dims("high"), n.like(x, 0));
  }
  return {n.make("Conv", {x, n.input(1), n.num_inputs() > 2 ? n.input(2) : Out{}}, attributes)};
}

// Without pads the result is whole; a pad crops it.
Outs export_conv_transpose(ExportNode& n) {
  if (is_refused(n)) return refuse_integers(n);
  const Out x = n.input(0);
  Attributes attributes{
      {"strides", n.attrs().ints("stride")}, {"dilations", n.attrs().ints("dilation")}, {"group", n.integer("groups")}};
  const Ints& extra = n.attrs().ints("output_pad");
  const Ints &stride = n.attrs().ints("stride"), &dilation = n.attrs().ints("dilation");
  bool extra_fits = true;  // ONNX has it below the stride or the dilation only
  for (std::size_t i = 0; i < extra.size(); ++i) {
    extra_fits = extra_fits && extra[i] < std::max(stride[i], dilation[i]);
  }
  const Outs inputs{x, n.input(1), n.num_inputs() > 2 ? n.input(2) : Out{}};
  const auto pads = known_pads(n, nullptr);
  if (!extra_fits) return n.fail("ONNX takes an output pad below the stride only");
  attributes.push_back({"output_padding", extra});
  if (pads) attributes.push_back({"pads", *pads});
  const Out out = n.make("ConvTranspose", {inputs[0], inputs[1], inputs[2]}, attributes);
  if (pads) return {out};
  Dims low, high;
  for (const Dim pad : n.attrs().dims("low")) low.push_back(-pad);
  for (const Dim pad : n.attrs().dims("high")) high.push_back(-pad);
  return {padded(n, out, low, high, n.like(out, 0))};
}

// Indices of ONNX count through all of x, positions through a plane of it.
Outs export_max_pool(ExportNode& n) {
  Out x = n.input(0);
  const DType own = x.dtype;
  const Ints& window = n.attrs().ints("window");
  if (own == DType::kI64) return n.fail("MaxPool takes floats, i8 and u8; no float holds every i64");
  if (own == DType::kI16 || own == DType::kI32 || own == DType::kBool) x = n.cast(x, DType::kF64);
  Attributes attributes{
      {"kernel_shape", window}, {"strides", n.attrs().ints("stride")}, {"dilations", n.attrs().ints("dilation")}};
  const bool wants_positions = n.is_used(1);
  if (const auto pads = known_pads(n, &window)) {
    attributes.push_back({"pads", *pads});
  } else {
    if (wants_positions) return n.fail("MaxPool gives no positions with pads as large as the window");
    const DType in = x.dtype;
    const double lowest = is_float(in) ? -std::numeric_limits<double>::infinity() : in == DType::kI8 ? -128 : 0;
    x = padded(n, x, n.attrs().dims("low"), n.attrs().dims("high"), n.like(x, lowest));
  }
  if (!wants_positions) return {n.cast(n.make("MaxPool", {x}, attributes), own), Out{"", DType::kI64}};
  const Outs out = n.make_all("MaxPool", {x}, attributes, {x.dtype, DType::kI64});
  Dim plane(1);
  for (std::size_t i = 2; i < n.shape(0).size(); ++i) plane = plane * n.shape(0)[i];
  return {n.cast(out[0], own), n.make("Mod", {out[1], n.scalar(plane, DType::kI64)})};
}

Outs export_avg_pool(ExportNode& n) {
  Out x = n.input(0);
  const Ints& window = n.attrs().ints("window");
  const std::int64_t divisor = n.integer("divisor");
  const bool count_pads = n.attrs().flag("count_pads") || divisor > 0;
  Attributes attributes{{"kernel_shape", window}, {"strides", n.attrs().ints("stride")}};
  if (const auto pads = known_pads(n, &window)) {
    attributes.push_back({"pads", *pads});
  } else {
    const auto around = [&](Out value) {
      return padded(n, value, n.attrs().dims("low"), n.attrs().dims("high"), n.like(value, 0));
    };
    if (!count_pads) {  // the mean with pads, by the part of the window that is none
      const Out ones = n.make("Expand", {n.like(x, 1), n.make("Shape", {x}, {}, DType::kI64)}, {}, x.dtype);
      const Out covered = n.make("AveragePool", {around(ones)}, attributes);
      return {n.div(n.make("AveragePool", {around(x)}, attributes), covered)};
    }
    x = around(x);
  }
  attributes.push_back({"count_include_pad", std::int64_t{count_pads ? 1 : 0}});
  const Out mean = n.make("AveragePool", {x}, attributes);
  if (divisor <= 0) return {mean};
  double count = 1;
  for (const std::int64_t size : window) count *= static_cast<double>(size);
  return {n.mul(mean, n.like(mean, count / static_cast<double>(divisor)))};
}

}  // namespace tilewright::onnx
