// Where the elements of streams are: the addressing rules of program.h, written down as they stand there.
#include "tilewright/base/check.h"
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {

std::byte* address(const Frame& frame, int stream, const Place& place) {
  const isa::StreamHead& head = frame.at.stream(stream);
  const int rank = frame.at.rank;
  switch (head.space()) {
    case isa::Space::kBuffer: {
      std::int64_t offset = head.offset + place.position * head.inner_stride;
      for (int d = 0; d < rank; ++d) offset += place.index[d] * head.strides()[d];
      return frame.memory.buffers[head.buffer()] + offset;
    }
    case isa::Space::kScratch: {
      const std::int64_t row_stride = rank == 0 ? 0 : head.strides()[rank - 1];
      return frame.memory.scratch + head.offset + place.tile_row * row_stride + place.tile_position * head.inner_stride;
    }
    case isa::Space::kSlot:
      return frame.memory.scratch + head.offset;
    case isa::Space::kTile:
      return frame.block + place.tile_row * frame.block_row_bytes +
             (place.position - frame.block_column) * head.inner_stride;
    default:
      check_failed("the stream has an address", __FILE__, __LINE__, "the program was not verified");
  }
}

}  // namespace tilewright::vm::reference
