// Streams that lie between each other's rows: the pieces of a concat along an inner axis. With a period p, the smallest
// stride that steps over all of a stream's shorter ones, the stream touches only bytes of [low + i * p, low + i * p +
// width); two such combs of one period are disjoint if their teeth are.
#include <algorithm>

#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

// Bytes of a tooth, if the stream is a comb of that period; 0 if it is not.
std::int64_t tooth(const ByteRange& range, std::int64_t period) {
  std::int64_t width = byte_size(range.stream->dtype());
  const auto take = [&](std::int64_t count, std::int64_t stride) {
    if (count <= 1) return true;
    if (stride >= period) return stride % period == 0;
    if (stride < 0) return false;
    width += (count - 1) * stride;  // the hull has shown that this fits
    return true;
  };
  bool is_comb = take(range.inner, range.stream->inner_stride);
  for (int d = 0; d < range.dims && is_comb; ++d) is_comb = take(range.sizes[d], range.stream->strides()[d]);
  return is_comb && width <= period ? width : 0;
}

bool interleave_with_period(const ByteRange& a, const ByteRange& b, std::int64_t period) {
  if (period <= 0) return false;
  const std::int64_t first = tooth(a, period), second = tooth(b, period);
  if (first == 0 || second == 0) return false;
  const std::int64_t shift = (b.low % period - a.low % period + period) % period;
  return first <= shift && shift + second <= period;
}

}  // namespace

bool interleave(const ByteRange& a, const ByteRange& b) {
  if (a.dims < 0 || b.dims < 0) return false;
  if (interleave_with_period(a, b, a.stream->inner_stride)) return true;
  for (int d = 0; d < a.dims; ++d) {
    if (interleave_with_period(a, b, a.stream->strides()[d])) return true;
  }
  return false;
}

}  // namespace tilewright::isa
