// The rules of conv and pool: sizes and steps small enough that no coordinate overflows, and operands within their
// buffers.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 30;

bool check_between(Verifier& v, std::string_view name, std::int64_t value, std::int64_t low) {
  return (value >= low && value <= kMost) || v.reject("{} {}, it is {} to {}", name, value, low, kMost);
}

template <typename Fields>
bool check_geometry(Verifier& v, const Fields& f) {
  for (const std::int64_t size : {f.in1, f.in2, f.in3}) {
    if (!check_between(v, "size", size, 0)) return false;
  }
  for (const std::int64_t size : {f.out2, f.out3}) {
    if (!check_between(v, "output size", size, 1)) return false;
  }
  for (const std::int64_t size : {f.window1, f.window2, f.window3}) {
    if (!check_between(v, "window", size, 1)) return false;
  }
  for (const std::int64_t step : {f.stride1, f.stride2, f.stride3}) {
    if (!check_between(v, "stride", step, 1)) return false;
  }
  for (const std::int64_t step : {f.dilation1, f.dilation2, f.dilation3}) {
    if (!check_between(v, "dilation", step, 1)) return false;
  }
  for (const std::int64_t pad : {f.low1, f.low2, f.low3}) {
    if (!check_between(v, "low", pad, -kMost)) return false;
  }
  const std::int64_t plane = f.out2 * f.out3;
  if (v.inner() % plane != 0) return v.reject("{} positions are no whole planes of {} x {}", v.inner(), f.out2, f.out3);
  return v.inner() / plane <= kMost || v.reject("{} planes", v.inner() / plane);
}

bool check_operands(Verifier& v, int least_count, int most) {
  if (v.at.streams < least_count || v.at.streams > most)
    return v.reject("{} streams, it has {} to {}", v.at.streams, least_count, most);
  for (int s = 0; s < v.at.streams; ++s) {
    if (v.stream(s).space() != Space::kBuffer) return v.reject("stream {} is not in a buffer", s);
  }
  const DType dtype = v.stream(0).dtype();
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI32 && dtype != DType::kI64) {
    return v.reject("stream 0: dtype {}", to_string(dtype));
  }
  return v.at.phases() == v.at.end() || v.reject("it has no phase");
}

bool check_dtype(Verifier& v, int stream, DType dtype) {
  return v.stream(stream).dtype() == dtype ||
         v.reject("stream {}: dtype {}, {} is needed", stream, to_string(v.stream(stream).dtype()), to_string(dtype));
}

struct Axis {
  std::int64_t count, stride;
};

bool check_axes(Verifier& v, int stream, std::initializer_list<Axis> axes) {
  const StreamHead& head = v.stream(stream);
  std::int64_t low = head.offset, high = head.offset;
  bool fits = true;
  for (const Axis& axis : axes) {
    if (axis.count == 0) return true;
    fits = fits && extend(axis.count, axis.stride, low, high);
  }
  if (!fits) return v.reject("stream {}: addresses beyond 64 bits", stream);
  return check_range(v, stream, low, high, byte_size(head.dtype()));
}

bool check_unit(Verifier& v, int stream) {
  const StreamHead& head = v.stream(stream);
  return head.inner_stride == byte_size(head.dtype()) ||
         v.reject("stream {}: inner stride {}, unit is needed", stream, head.inner_stride);
}

// Strides in whole elements, so that a machine may count in elements.
bool check_whole(Verifier& v, int stream) {
  const StreamHead& head = v.stream(stream);
  const std::int64_t size = byte_size(head.dtype());
  for (int d = 0; d < v.at.rank; ++d) {
    if (head.strides()[d] % size != 0)
      return v.reject("stream {}: stride {} is no whole element", stream, head.strides()[d]);
  }
  return true;
}

}  // namespace

bool verify_Conv(Verifier& v, const Inst& inst, const ConvFields& f) {
  if (v.at.rank != 3) return v.reject("rank {}, dims are batch, groups and output channels", v.at.rank);
  if (!check_operands(v, 3, 4) || !check_geometry(v, f)) return false;
  for (const std::int64_t step : {f.spread1, f.spread2, f.spread3}) {
    if (!check_between(v, "spread", step, 1)) return false;
  }
  if (!check_between(v, "channels", f.channels, 0)) return false;
  if (!check_positive(v, "row_tile", f.row_tile) || !check_positive(v, "inner_tile", f.inner_tile)) return false;
  if (!check_tasks(v, tiling_of(inst, f))) return false;
  std::int64_t sums = f.channels;
  bool overflow = false;
  for (const std::int64_t window : {f.window1, f.window2, f.window3})
    overflow |= __builtin_mul_overflow(sums, window, &sums);
  if (overflow || sums > std::int64_t{1} << 40) return v.reject("sums of more than 2^40 terms");
  const DType dtype = v.stream(0).dtype();
  for (int s = 1; s < v.at.streams; ++s) {
    if (!check_dtype(v, s, dtype) || !check_whole(v, s)) return false;
  }
  const std::int64_t* dims = v.at.dims();
  if (dims[0] == 0 || dims[1] == 0 || dims[2] == 0 || v.inner() == 0) return check_writable(v, 2);
  const std::int64_t* x = v.stream(0).strides();
  const std::int64_t* w = v.stream(1).strides();
  if (!check_axes(v, 0,
                  {{dims[0], x[0]},
                   {dims[1], x[1]},
                   {f.channels, x[2]},
                   {f.in1, f.step1},
                   {f.in2, f.step2},
                   {f.in3, v.stream(0).inner_stride}})) {
    return false;
  }
  if (!check_unit(v, 1) || !check_axes(v, 1, {{dims[1], w[1]}, {dims[2], w[2]}, {sums, byte_size(dtype)}}))
    return false;
  if (w[0] != 0) return v.reject("stream 1: batch stride {}", w[0]);
  if (!check_unit(v, 2) || !check_writable(v, 2)) return false;
  if (!check_streams(v, 4, {3, v.inner(), 1, 1})) return false;
  return v.at.streams == 3 || check_streams(v, 8, {3, 1, 1, 1});
}

bool verify_Pool(Verifier& v, const Inst& inst, const PoolFields& f) {
  if (v.at.rank != 2) return v.reject("rank {}, dims are batch and channels", v.at.rank);
  if (f.kind != 0 && f.kind != 1) return v.reject("kind {}", f.kind);
  if (!check_operands(v, 2, f.kind == 0 ? 3 : 2) || !check_geometry(v, f)) return false;
  if (f.count_pads < 0 || f.count_pads > 1 || f.divisor < 0)
    return v.reject("count_pads {}, divisor {}", f.count_pads, f.divisor);
  if (f.in1 * f.in2 > kMost || f.in1 * f.in2 * f.in3 > kMost)
    return v.reject("a plane of more than {} elements", kMost);
  if (!check_positive(v, "row_tile", f.row_tile) || !check_tasks(v, tiling_of(inst, f))) return false;
  const DType dtype = v.stream(0).dtype();
  if (f.kind == 1 && !is_float(dtype)) return v.reject("a mean of {}", to_string(dtype));
  const std::int64_t* dims = v.at.dims();
  const std::int64_t* x = v.stream(0).strides();
  if (!check_dtype(v, 1, dtype) || !check_unit(v, 1) || !check_writable(v, 1)) return false;
  if (v.inner() != 0 &&
      !check_axes(
          v, 0,
          {{dims[0], x[0]}, {dims[1], x[1]}, {f.in1, f.step1}, {f.in2, f.step2}, {f.in3, v.stream(0).inner_stride}})) {
    return false;
  }
  if (!check_streams(v, 2, {2, v.inner(), 1, 1})) return false;
  if (v.at.streams == 2) return true;
  return check_dtype(v, 2, DType::kI64) && check_unit(v, 2) && check_writable(v, 2) &&
         check_streams(v, 4, {2, v.inner(), 1, 1});
}

}  // namespace tilewright::isa
