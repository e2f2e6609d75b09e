// A launch: instructions side by side may run in any order, so none may touch what another writes. Ranges are hulls of
// strided streams; where two overlap, interleaving.cc looks at the strides.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

bool is_written_by_programs(BufferKind kind) {
  return kind != BufferKind::kInput && kind != BufferKind::kConstant;
}

bool meet(const ByteRange& a, const ByteRange& b) {
  return a.buffer == b.buffer && (a.written || b.written) && a.low < b.high && b.low < a.high;
}

}  // namespace

bool check_launch(Verifier& v) {
  if (!Inst(v.at.words).beside()) {
    v.launch.count = 0;
    v.launch.overflow = false;
    v.launched = 0;
  } else if (v.launched == 0) {
    return v.reject("beside an instruction before the first");
  }
  if (++v.launched > kMaxLaunch) return v.reject("more than {} instructions side by side", kMaxLaunch);
  v.launch.overflow |= v.touched.overflow;
  const int before = v.launch.count;
  for (int i = 0; i < v.touched.count; ++i) {
    ByteRange range = v.touched.ranges[static_cast<std::size_t>(i)];
    range.written = (v.written >> range.buffer & 1) != 0;
    range.buffer = range.stream->buffer();
    if (!is_written_by_programs(v.program.buffers[range.buffer].kind)) continue;
    for (int k = 0; k < before; ++k) {
      const ByteRange& other = v.launch.ranges[static_cast<std::size_t>(k)];
      if (meet(range, other) && !interleave(range, other)) {
        return v.reject("touches bytes {} to {} of buffer {}, and an instruction beside it bytes {} to {}", range.low,
                        range.high, range.buffer, other.low, other.high);
      }
    }
    v.launch.add(range);
  }
  if (v.launched > 1 && v.launch.overflow) return v.reject("a launch that touches too many ranges of memory");
  return true;
}

}  // namespace tilewright::isa
