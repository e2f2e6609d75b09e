// The rules of instructions that work along lines: scan, arg_reduce, sort, nonzero, and of random.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

bool check_flag(Verifier& v, std::string_view name, std::int64_t value) {
  return value == 0 || value == 1 || v.reject("{} {}, it is 0 or 1", name, value);
}

bool check_streams_between(Verifier& v, int least_count, int most) {
  if (v.at.streams < least_count || v.at.streams > most)
    return v.reject("{} streams, it has {} to {}", v.at.streams, least_count, most);
  for (int s = 0; s < v.at.streams; ++s) {
    if (v.stream(s).space() != Space::kBuffer) return v.reject("stream {} is not in a buffer", s);
  }
  return v.at.phases() == v.at.end() || v.reject("it has no phase");
}

bool check_dtype(Verifier& v, int stream, DType dtype) {
  return v.stream(stream).dtype() == dtype ||
         v.reject("stream {}: dtype {}, {} is needed", stream, to_string(v.stream(stream).dtype()), to_string(dtype));
}

// A stream over all rows and `inner` inner positions, which is written.
bool check_written(Verifier& v, int stream, std::int64_t inner) {
  return check_streams(v, StreamSet{1} << stream, {v.at.rank, inner, 1, 1}) && check_writable(v, stream);
}

bool check_read(Verifier& v, int stream) {
  return check_streams(v, StreamSet{1} << stream, {v.at.rank, v.inner(), 1, 1});
}

}  // namespace

bool verify_Scan(Verifier& v, const Inst& inst, const ScanFields& f) {
  if (f.kind < 0 || f.kind > 3) return v.reject("kind {}", f.kind);
  if (!check_flag(v, "exclusive", f.exclusive) || !check_positive(v, "row_tile", f.row_tile)) return false;
  if (f.kind > 1 && f.exclusive != 0) return v.reject("an exclusive extreme");
  if (!check_streams_between(v, 2, f.kind > 1 ? 3 : 2) || !check_tasks(v, tiling_of(inst, f))) return false;
  if (!check_dtype(v, 1, v.stream(0).dtype()) || !check_read(v, 0) || !check_written(v, 1, v.inner())) return false;
  return v.at.streams == 2 || (check_dtype(v, 2, DType::kI64) && check_written(v, 2, v.inner()));
}

bool verify_ArgReduce(Verifier& v, const Inst& inst, const ArgReduceFields& f) {
  if (!check_flag(v, "smallest", f.smallest) || !check_flag(v, "last", f.last) ||
      !check_positive(v, "row_tile", f.row_tile))
    return false;
  if (v.inner() < 1) return v.reject("inner {}: nothing has no largest element", v.inner());
  if (!check_streams_between(v, 2, 2) || !check_tasks(v, tiling_of(inst, f)) || !check_dtype(v, 1, DType::kI64))
    return false;
  return check_read(v, 0) && check_written(v, 1, 1);
}

bool verify_Sort(Verifier& v, const Inst& inst, const SortFields& f) {
  if (!check_flag(v, "descending", f.descending) || !check_positive(v, "row_tile", f.row_tile)) return false;
  if (f.count < 0 || f.count > v.inner()) return v.reject("count {} of {}", f.count, v.inner());
  if (!check_streams_between(v, 3, 4) || !check_tasks(v, tiling_of(inst, f))) return false;
  if (!check_dtype(v, 1, v.stream(0).dtype()) || !check_dtype(v, 2, DType::kI64)) return false;
  if (!check_read(v, 0) || !check_written(v, 1, f.count) || !check_written(v, 2, f.count)) return false;
  if (v.inner() > kMaxScratchSort && v.at.streams == 3) return v.reject("rows of {} without work memory", v.inner());
  if (v.at.streams == 3) return true;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(v.inner(), std::int64_t{32}, &bytes))
    return v.reject("stream 3: addresses beyond 64 bits");
  if (v.stream(3).inner_stride != 1)
    return v.reject("stream 3: inner stride {}, 1 is needed", v.stream(3).inner_stride);
  for (int d = 0; d < v.at.rank; ++d) {
    if (v.stream(3).strides()[d] % 8 != 0)
      return v.reject("stream 3: stride {} is no multiple of 8", v.stream(3).strides()[d]);
  }
  if (v.stream(3).offset % 8 != 0) return v.reject("stream 3: offset {} is no multiple of 8", v.stream(3).offset);
  return check_dtype(v, 3, DType::kU8) && check_written(v, 3, bytes);
}

bool verify_NonZero(Verifier& v, const Inst& inst, const NonZeroFields& f) {
  if (f.limit < -1) return v.reject("limit {}", f.limit);
  if (!check_streams_between(v, 2, 2) || !check_tasks(v, tiling_of(inst, f)) || !check_dtype(v, 1, DType::kI64))
    return false;
  if (!check_read(v, 0) || !check_writable(v, 1)) return false;
  if (f.limit == 0) return true;
  const StreamHead& to = v.stream(1);
  std::int64_t low = to.offset, high = to.offset;
  const bool fits =
      f.limit < 0 || (extend(f.limit, f.step, low, high) && extend(v.at.rank + 1, to.inner_stride, low, high));
  if (!fits) return v.reject("stream 1: addresses beyond 64 bits");
  return check_range(v, 1, low, high, 8);
}

bool verify_Random(Verifier& v, const Inst& inst, const RandomFields& f) {
  if (v.at.rank != 0) return v.reject("rank {}, it has none", v.at.rank);
  if (f.distribution < 0 || f.distribution > 2) return v.reject("distribution {}", f.distribution);
  if (!check_positive(v, "inner_tile", f.inner_tile)) return false;
  if (f.inner_tile % 2 != 0) return v.reject("inner_tile {} is odd", f.inner_tile);
  if (!check_streams_between(v, 2, 2) || !check_tasks(v, tiling_of(inst, f)) || !check_dtype(v, 0, DType::kI64))
    return false;
  const DType dtype = v.stream(1).dtype();
  const bool fits = f.distribution == 2 ? dtype == DType::kI32 || dtype == DType::kI64 : is_float(dtype);
  if (!fits) return v.reject("distribution {} of {}", f.distribution, to_string(dtype));
  if (v.stream(1).inner_stride != byte_size(dtype))
    return v.reject("stream 1: inner stride {}, unit is needed", v.stream(1).inner_stride);
  return check_streams(v, 1, {0, 2, 1, 1}) && check_written(v, 1, v.inner());
}

}  // namespace tilewright::isa
