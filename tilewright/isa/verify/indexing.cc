// The rules of transpose, gather and scatter. What an index makes of an address is checked for every index that is in
// range; the machine checks that it is.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

bool check_in_buffer(Verifier& v, int stream) {
  return v.stream(stream).space() == Space::kBuffer || v.reject("stream {} is not in a buffer", stream);
}

bool check_same_dtype(Verifier& v, int first, int second) {
  const DType a = v.stream(first).dtype(), b = v.stream(second).dtype();
  return a == b || v.reject("streams {} and {}: dtypes {} and {}", first, second, to_string(a), to_string(b));
}

Access whole_domain(const Verifier& v) {
  return {v.at.rank, v.inner(), 1, 1};
}

// Streams 2, 3, 4, .. : pairs of an index and its axis.
bool check_pairs(Verifier& v) {
  if (v.at.streams < 4 || v.at.streams % 2 != 0)
    return v.reject("{} streams, two and pairs of index and axis are needed", v.at.streams);
  for (int s = 2; s < v.at.streams; s += 2) {
    if (!check_in_buffer(v, s)) return false;
    const DType dtype = v.stream(s).dtype();
    if (dtype != DType::kI32 && dtype != DType::kI64)
      return v.reject("stream {}: an index of dtype {}", s, to_string(dtype));
    if (v.stream(s + 1).space() != Space::kIota) return v.reject("stream {} is not an axis (iota)", s + 1);
    if (v.stream(s + 1).offset < 0) return v.reject("stream {}: an axis of size {}", s + 1, v.stream(s + 1).offset);
  }
  StreamSet indices = 0;
  for (int s = 2; s < v.at.streams; s += 2) indices |= StreamSet{1} << s;
  return check_streams(v, indices, whole_domain(v));
}

// Everything that `stream` can reach by the domain and any index in range.
bool check_indexed(Verifier& v, int stream) {
  const StreamHead& head = v.stream(stream);
  std::int64_t low = head.offset;
  std::int64_t high = head.offset;
  if (v.inner() == 0) return true;
  bool fits = extend(v.inner(), head.inner_stride, low, high);
  for (int d = 0; d < v.at.rank; ++d) {
    if (v.at.dims()[d] == 0) return true;
    fits = fits && extend(v.at.dims()[d], head.strides()[d], low, high);
  }
  for (int s = 3; s < v.at.streams; s += 2) {
    if (v.stream(s).offset == 0) return true;  // no index is in range
    fits = fits && extend(v.stream(s).offset, v.stream(s).inner_stride, low, high);
  }
  if (!fits) return v.reject("stream {}: addresses beyond 64 bits", stream);
  return check_range(v, stream, low, high, byte_size(head.dtype()));
}

bool check_no_phase(Verifier& v) {
  return v.at.phases() == v.at.end() || v.reject("it has no phase");
}

}  // namespace

bool verify_Transpose(Verifier& v, const Inst& inst, const TransposeFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (v.at.streams != 2) return v.reject("{} streams, it has from and to", v.at.streams);
  if (!check_no_phase(v) || !check_positive(v, "row_tile", f.row_tile) ||
      !check_positive(v, "inner_tile", f.inner_tile))
    return false;
  if (!check_tasks(v, tiling_of(inst, f))) return false;
  if (!check_in_buffer(v, 0) || !check_in_buffer(v, 1) || !check_same_dtype(v, 0, 1)) return false;
  const std::int64_t size = byte_size(v.stream(0).dtype());
  const std::int64_t from_row = v.stream(0).strides()[v.at.rank - 1], to_inner = v.stream(1).inner_stride;
  if (from_row != size) return v.reject("stream 0: row stride {}, {} is needed", from_row, size);
  if (to_inner != size) return v.reject("stream 1: inner stride {}, {} is needed", to_inner, size);
  return check_streams(v, 3, whole_domain(v)) && check_writable(v, 1);
}

bool verify_Gather(Verifier& v, const Inst& inst, const GatherFields& f) {
  if (!check_no_phase(v) || !check_positive(v, "row_tile", f.row_tile) ||
      !check_positive(v, "inner_tile", f.inner_tile))
    return false;
  if (!check_tasks(v, tiling_of(inst, f)) || !check_pairs(v)) return false;
  if (!check_in_buffer(v, 0) || !check_in_buffer(v, 1) || !check_same_dtype(v, 0, 1)) return false;
  return check_indexed(v, 0) && check_streams(v, 2, whole_domain(v)) && check_writable(v, 1);
}

bool verify_Scatter(Verifier& v, const Inst& inst, const ScatterFields& f) {
  if (f.serial < 0 || f.serial > v.at.rank) return v.reject("{} serial dims of {}", f.serial, v.at.rank);
  if (f.mode < 0 || f.mode > 4) return v.reject("mode {}", f.mode);
  if (!check_no_phase(v) || !check_positive(v, "inner_tile", f.inner_tile)) return false;
  if (!check_tasks(v, tiling_of(inst, f)) || !check_pairs(v)) return false;
  if (!check_in_buffer(v, 0) || !check_in_buffer(v, 1) || !check_same_dtype(v, 0, 1)) return false;
  const DType dtype = v.stream(0).dtype();
  if (f.mode != 0 && (dtype == DType::kF16 || dtype == DType::kBF16))
    return v.reject("mode {} of {}", f.mode, to_string(dtype));
  return check_indexed(v, 0) && check_streams(v, 2, whole_domain(v)) && check_writable(v, 0);
}

}  // namespace tilewright::isa
