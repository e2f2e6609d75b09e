// conv, conv_transpose, max_pool and avg_pool as one conv or pool instruction each. Spatial axes are filled up to
// three. Dtypes that the instructions do not have are converted around them. A transposed convolution is a convolution
// over elements moved apart (spread) with its weights turned around.
#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

using Axes = std::array<std::int64_t, 3>;

struct Geometry {
  Axes in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, low{}, dilation{1, 1, 1}, spread{1, 1, 1};
  std::int64_t taps() const { return window[0] * window[1] * window[2]; }
  std::int64_t positions() const { return out[0] * out[1] * out[2]; }
};

// The values of an attribute for the last axes.
void take(Axes& axes, std::span<const std::int64_t> given) {
  const std::size_t first = 3 - given.size();
  std::copy(given.begin(), given.end(), axes.begin() + static_cast<std::ptrdiff_t>(first));
}

std::span<const std::int64_t> spatial(const View& view) {
  return {view.sizes.data() + 2, at(view.rank - 2)};
}

Status check_rank(const View& x) {
  if (x.rank >= 2 && x.rank <= 5) return {};
  return fail(ErrorKind::kUnsupported, "windows over {} spatial axes, 3 at most", x.rank - 2);
}

DType computed_in(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
      return DType::kI32;
    default:
      return dtype;
  }
}

// Whether the spatial axes are one loop of unit stride.
bool is_plane(const View& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 2; --axis) {
    if (view.sizes[at(axis)] != 1 && view.strides[at(axis)] != stride) return false;
    stride *= view.sizes[at(axis)];
  }
  return true;
}

View computed(const View& view, DType dtype, const Kernel& kernel) {
  return view.dtype == dtype && is_plane(view) ? view : temp_like(view, dtype, kernel);
}

Result<View> converted(const View& view, DType dtype, const Kernel& kernel, Emitter& out) {
  if (view.dtype == dtype) return view;
  return row_major_as(view, dtype, kernel, out);
}

// Byte strides of the spatial axes of x: [axis 1, axis 2, axis 3].
Axes spatial_steps(const View& x) {
  Axes steps{};
  for (int axis = 2; axis < x.rank; ++axis) steps[at(axis + 3 - x.rank)] = x.strides[at(axis)] * byte_size(x.dtype);
  if (x.rank == 2) steps[2] = byte_size(x.dtype);
  return steps;
}

void write(const Axes& axes, Emitter& out, std::size_t from = 0) {
  for (std::size_t i = from; i < 3; ++i) out.field(axes[i]);
}

std::uint16_t stream(const View& view, std::int64_t inner, std::initializer_list<std::int64_t> strides, Emitter& out) {
  std::array<std::int64_t, 3> bytes{};
  std::size_t count = 0;
  for (std::int64_t stride : strides) bytes[count++] = stride * byte_size(view.dtype);
  return out.stream(isa::Space::kBuffer, view.dtype, view.buffer, view.offset, inner, {bytes.data(), count});
}

struct ConvOperands {
  View x, w, to;                           // w row-major [outputs, channels, window..]
  const View* bias;                        // or null
  std::int64_t groups, channels, outputs;  // channels and outputs of a group
};

// Rows (output channels) and positions of a task.
void conv_tiles(const Geometry& g, const ConvOperands& o, const BackendTraits& traits, std::int64_t& rows,
                std::int64_t& positions) {
  const std::int64_t panel = std::max<std::int64_t>(traits.matmul_panel, 1), all = g.positions();
  const double work = 2.0 * static_cast<double>(std::max<std::int64_t>(o.outputs * o.channels * g.taps(), 1));
  const double wanted = static_cast<double>(traits.flops_per_us) * 40 / work;
  const auto columns = static_cast<std::int64_t>(std::min(wanted, static_cast<double>(all)));
  positions = std::min(all, round_up(std::max<std::int64_t>(columns, 1), panel));
  // Whole rows of the output, which share rows of x.
  if (2 * positions >= g.out[2]) positions = std::min(all, round_up(positions - g.out[2] / 2, g.out[2]));
  rows = std::max<std::int64_t>(o.outputs, 1);
  const std::int64_t tasks = o.x.sizes[0] * o.groups * ((all + positions - 1) / positions);
  if (traits.threads > 1 && tasks < 2 * traits.threads && rows >= 4 * traits.matmul_rows) {
    const std::int64_t parts = (2 * traits.threads + tasks - 1) / tasks;
    rows = round_up((rows + parts - 1) / parts, traits.matmul_rows);
  }
}

// A last axis of one element gives its place to the one before: machines run along the last one.
void drop_last_axis(Geometry& g, Axes& steps) {
  const auto is_one = [&](std::size_t i) { return g.in[i] == 1 && g.out[i] == 1 && g.window[i] == 1 && g.low[i] == 0; };
  for (int i = 0; i < 2 && is_one(2); ++i) {
    for (Axes* axes : {&g.in, &g.out, &g.window, &g.stride, &g.low, &g.dilation, &g.spread, &steps}) {
      std::rotate(axes->begin(), axes->begin() + 2, axes->end());
    }
  }
}

Status emit_conv_instruction(Geometry g, const ConvOperands& o, const Kernel& kernel, Emitter& out) {
  Axes steps = spatial_steps(o.x);
  drop_last_axis(g, steps);
  std::int64_t rows = 1, positions = 1;
  conv_tiles(g, o, *kernel.traits, rows, positions);
  const std::int64_t batch = o.x.sizes[0];
  const std::int64_t tasks =
      batch * o.groups * ((o.outputs + rows - 1) / rows) * ((g.positions() + positions - 1) / positions);
  out.begin(isa::Opcode::kConv, 3, tasks, g.positions());
  out.field(o.channels);
  write(g.in, out);
  write(g.out, out, 1);
  for (const Axes* axes : {&g.window, &g.stride, &g.low, &g.dilation, &g.spread}) write(*axes, out);
  out.field(steps[0]);
  out.field(steps[1]);
  out.field(rows);
  out.field(positions);
  for (std::int64_t dim : {batch, o.groups, o.outputs}) out.dim(dim);
  const std::int64_t bytes = byte_size(o.w.dtype), terms = o.channels * g.taps();
  stream(o.x, steps[2], {o.x.strides[0], o.channels * o.x.strides[1], o.x.strides[1]}, out);
  stream(o.w, bytes, {0, o.outputs * terms, terms}, out);
  stream(o.to, bytes, {o.to.strides[0], o.outputs * o.to.strides[1], o.to.strides[1]}, out);
  if (o.bias != nullptr) stream(*o.bias, 0, {0, o.outputs * o.bias->strides[0], o.bias->strides[0]}, out);
  out.end();
  return {};
}

Status check_channels(std::int64_t channels, std::int64_t expected, std::int64_t outputs, std::int64_t groups) {
  if (channels != expected)
    return fail(ErrorKind::kShapeMismatch, "channels differ: x has {}, the weight reads {}", channels, expected);
  if (outputs % groups == 0) return {};
  return fail(ErrorKind::kShapeMismatch, "{} channels do not divide into {} groups", outputs, groups);
}

// Runs the instruction on operands of a dtype that it has.
Status emit_copyed(const Geometry& g, ConvOperands o, const Kernel& kernel, Emitter& out) {
  const View& result = kernel.outputs[0];
  const DType dtype = computed_in(result.dtype);
  if (dtype == DType::kBool) return fail(ErrorKind::kUnsupported, "a convolution of bool");
  for (std::int64_t size : g.window) {
    if (size < 1) return fail(ErrorKind::kShapeMismatch, "a window of size {}", size);
  }
  TW_ASSIGN(o.x, converted(kernel.inputs[0], dtype, kernel, out));
  View bias;
  if (kernel.inputs.size() > 2) {
    TW_ASSIGN(bias, converted(kernel.inputs[2], dtype, kernel, out));
    if (bias.sizes[0] != o.groups * o.outputs) {
      return fail(ErrorKind::kShapeMismatch, "the bias must have {} entries: {}", o.groups * o.outputs, bias.sizes[0]);
    }
    o.bias = &bias;
  }
  o.to = computed(result, dtype, kernel);
  TW_TRY(emit_conv_instruction(g, o, kernel, out));
  if (o.to.dtype == result.dtype && o.to.buffer == result.buffer && o.to.offset == result.offset) return {};
  return emit_copy(o.to, result, *kernel.traits, out);
}

// w[C, O/groups, window] as [O, C/groups, window turned around].
Result<View> turned_weights(const View& w, std::int64_t groups, DType dtype, const Kernel& kernel, Emitter& out) {
  View from = w;
  from.rank = static_cast<std::int8_t>(w.rank + 1);
  const std::int64_t channels = w.sizes[0] / groups;
  from.sizes = {groups, w.sizes[1], channels};
  from.strides = {channels * w.strides[0], w.strides[1], w.strides[0]};
  for (int axis = 2; axis < w.rank; ++axis) {
    from.sizes[at(axis + 1)] = w.sizes[at(axis)];
    from.strides[at(axis + 1)] = -w.strides[at(axis)];
    from.offset += (w.sizes[at(axis)] - 1) * w.strides[at(axis)] * byte_size(w.dtype);
  }
  const View turned = temp_like(from, dtype, kernel);
  TW_TRY(emit_copy(from, turned, *kernel.traits, out));
  return turned;
}

}  // namespace

Status emit_conv(const Kernel& kernel, Emitter& out) {
  const View& x = kernel.inputs[0];
  const View& w = kernel.inputs[1];
  TW_TRY(check_rank(x));
  if (kernel.outputs[0].count() == 0) return {};
  const std::int64_t groups = kernel.attrs->integer("groups");
  TW_TRY(check_channels(x.sizes[1], w.sizes[1] * groups, w.sizes[0], groups));
  Geometry g;
  take(g.in, spatial(x));
  take(g.out, spatial(kernel.outputs[0]));
  take(g.window, spatial(w));
  take(g.stride, kernel.attrs->integers("stride"));
  take(g.low, kernel.attrs->integers("low"));
  take(g.dilation, kernel.attrs->integers("dilation"));
  ConvOperands operands{{}, {}, {}, nullptr, groups, w.sizes[1], w.sizes[0] / groups};
  TW_ASSIGN(operands.w, row_major_as(w, computed_in(w.dtype), kernel, out));
  return emit_copyed(g, operands, kernel, out);
}

Status emit_conv_transpose(const Kernel& kernel, Emitter& out) {
  const View& x = kernel.inputs[0];
  const View& w = kernel.inputs[1];
  TW_TRY(check_rank(x));
  if (kernel.outputs[0].count() == 0) return {};
  const std::int64_t groups = kernel.attrs->integer("groups");
  TW_TRY(check_channels(x.sizes[1], w.sizes[0], w.sizes[0], groups));
  Geometry g;
  take(g.in, spatial(x));
  take(g.out, spatial(kernel.outputs[0]));
  take(g.window, spatial(w));
  take(g.spread, kernel.attrs->integers("stride"));
  take(g.low, kernel.attrs->integers("low"));
  take(g.dilation, kernel.attrs->integers("dilation"));
  for (std::size_t i = 0; i < 3; ++i) g.low[i] = g.dilation[i] * (g.window[i] - 1) - g.low[i];
  ConvOperands operands{{}, {}, {}, nullptr, groups, w.sizes[0] / groups, w.sizes[1]};
  TW_ASSIGN(operands.w, turned_weights(w, groups, computed_in(w.dtype), kernel, out));
  return emit_copyed(g, operands, kernel, out);
}

Status emit_pool(const Kernel& kernel, Emitter& out) {
  const bool mean = kernel.op == Op::kAvgPool;
  const View& result = kernel.outputs[0];
  TW_TRY(check_rank(kernel.inputs[0]));
  if (result.count() == 0) return {};
  DType dtype = computed_in(result.dtype);
  if (dtype == DType::kBool) dtype = DType::kI32;
  TW_ASSIGN(const View x, converted(kernel.inputs[0], dtype, kernel, out));
  Geometry g;
  take(g.in, spatial(x));
  take(g.out, spatial(result));
  take(g.window, kernel.attrs->integers("window"));
  take(g.stride, kernel.attrs->integers("stride"));
  take(g.low, kernel.attrs->integers("low"));
  if (!mean) take(g.dilation, kernel.attrs->integers("dilation"));
  const View to = computed(result, dtype, kernel);
  const bool wanted = kernel.outputs.size() > 1;  // positions of the largest
  const View positions = wanted ? computed(kernel.outputs[1], DType::kI64, kernel) : View{};
  const std::int64_t batch = x.sizes[0], channels = x.sizes[1];
  const std::int64_t chunk = task_elements(g.positions() * channels * batch, 2 * g.taps(), *kernel.traits);
  const std::int64_t rows = std::clamp<std::int64_t>(chunk / g.positions(), 1, channels);
  out.begin(isa::Opcode::kPool, 2, batch * ((channels + rows - 1) / rows), g.positions());
  out.field(mean ? 1 : 0);
  out.field(mean ? kernel.attrs->integer("count_pads") : 0);
  out.field(mean ? std::max<std::int64_t>(kernel.attrs->integer("divisor"), 0) : 0);
  write(g.in, out);
  write(g.out, out, 1);
  for (const Axes* axes : {&g.window, &g.stride, &g.low, &g.dilation}) write(*axes, out);
  const Axes steps = spatial_steps(x);
  out.field(steps[0]);
  out.field(steps[1]);
  out.field(rows);
  out.dim(batch);
  out.dim(channels);
  stream(x, steps[2], {x.strides[0], x.strides[1]}, out);
  stream(to, byte_size(dtype), {to.strides[0], to.strides[1]}, out);
  if (wanted) stream(positions, 8, {positions.strides[0], positions.strides[1]}, out);
  out.end();
  if (to.buffer != result.buffer || to.offset != result.offset) TW_TRY(emit_copy(to, result, *kernel.traits, out));
  if (!wanted || is_plane(kernel.outputs[1])) return {};
  return emit_copy(positions, kernel.outputs[1], *kernel.traits, out);
}

}  // namespace tilewright::compiler
