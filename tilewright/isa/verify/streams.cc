// What a stream may touch: its byte range over the domain of its use, in its buffer or in scratch, counted without
// overflow.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

bool check_buffer_range(Verifier& v, int stream, const Access& access) {
  const StreamHead& head = v.stream(stream);
  const std::int64_t* dims = v.at.dims();
  std::int64_t low = head.offset;
  std::int64_t high = head.offset;
  bool fits = extend(access.inner, head.inner_stride, low, high);
  for (int d = 0; d < access.dims; ++d) {
    if (dims[d] == 0) return true;
    fits = fits && extend(dims[d], head.strides()[d], low, high);
  }
  if (access.inner == 0) return true;
  if (!fits) return v.reject("stream {}: addresses beyond 64 bits", stream);
  if (!check_range(v, stream, low, high, byte_size(head.dtype()))) return false;
  v.touched.set_domain(access.dims, access.inner);
  return true;
}

bool check_scratch_range(Verifier& v, int stream, const Access& access) {
  if (access.tile_rows == 0 || access.tile_inner == 0) return true;
  const StreamHead& head = v.stream(stream);
  std::int64_t low = head.offset;
  std::int64_t high = head.offset;
  const std::int64_t row_stride = v.at.rank == 0 ? 0 : head.strides()[v.at.rank - 1];
  if (!extend(access.tile_rows, row_stride, low, high) || !extend(access.tile_inner, head.inner_stride, low, high)) {
    return v.reject("stream {}: addresses beyond 64 bits", stream);
  }
  return check_range(v, stream, low, high, byte_size(head.dtype()));
}

}  // namespace

bool check_tasks(Verifier& v, const Tiling& tiling) {
  std::int64_t tasks = 0;
  if (!count_tasks(tiling, tasks)) return v.reject("more tasks than 64 bits can count");
  const std::int64_t stored = Inst(v.at.words).tasks();
  return stored == tasks || v.reject("{} tasks, its tiles make {}", stored, tasks);
}

bool check_positive(Verifier& v, std::string_view name, std::int64_t value) {
  return value >= 1 || v.reject("{} {}, at least 1 is needed", name, value);
}

bool check_range(Verifier& v, int stream, std::int64_t low, std::int64_t high, std::int64_t size) {
  const StreamHead& head = v.stream(stream);
  const bool in_buffer = head.space() == Space::kBuffer;
  const std::int64_t bytes = in_buffer ? v.program.buffers[head.buffer()].bytes : v.program.scratch_bytes;
  if (low >= 0 && high <= bytes - size) {
    if (in_buffer)
      v.touched.add({static_cast<std::uint32_t>(stream), false, -1, low, high + size, 0, &head, v.at.dims()});
    return true;
  }
  if (in_buffer) {
    return v.reject("stream {}: touches bytes {} to {}+{} of buffer {}, which has {}", stream, low, high, size,
                    head.buffer(), bytes);
  }
  return v.reject("stream {}: touches bytes {} to {}+{} of scratch, which has {}", stream, low, high, size, bytes);
}

bool check_streams(Verifier& v, StreamSet streams, const Access& access) {
  for (; streams != 0; streams &= streams - 1) {
    const int stream = __builtin_ctzll(streams);
    switch (v.stream(stream).space()) {
      case Space::kBuffer:
        if (!check_buffer_range(v, stream, access)) return false;
        break;
      case Space::kScratch:
        if (!check_scratch_range(v, stream, access)) return false;
        break;
      case Space::kSlot:
        if (!check_range(v, stream, v.stream(stream).offset, v.stream(stream).offset, kSlotBytes)) return false;
        break;
      default:
        break;  // no memory of the program; accumulators are checked where their phase names them
    }
  }
  return true;
}

bool check_writable(Verifier& v, int stream) {
  v.written |= StreamSet{1} << stream;
  const StreamHead& head = v.stream(stream);
  switch (head.space()) {
    case Space::kBuffer: {
      const BufferKind kind = v.program.buffers[head.buffer()].kind;
      if (kind == BufferKind::kArena || kind == BufferKind::kOutput || kind == BufferKind::kPacked) return true;
      return v.reject("stream {}: writes to buffer {}, which is {}", stream, head.buffer(),
                      kind == BufferKind::kInput ? "an input" : "a constant");
    }
    case Space::kScratch:
    case Space::kSlot:
    case Space::kTile:
      return true;
    default:
      return v.reject("stream {}: its space cannot be written", stream);
  }
}

}  // namespace tilewright::isa
