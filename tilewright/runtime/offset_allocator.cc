#include "tilewright/runtime/offset_allocator.h"

#include <algorithm>

namespace tilewright::runtime {

void OffsetAllocator::reset() {
  holes_.clear();
  top_ = high_water_ = 0;
}

std::int64_t OffsetAllocator::allocate(std::int64_t bytes) {
  bytes = std::max<std::int64_t>(rounded(bytes), kAlignment);
  Hole* best = nullptr;
  for (Hole& hole : holes_) {
    if (hole.bytes >= bytes && (best == nullptr || hole.bytes < best->bytes)) best = &hole;
  }
  if (best != nullptr) {
    const std::int64_t offset = best->offset;
    best->offset += bytes;
    best->bytes -= bytes;
    if (best->bytes == 0) holes_.erase(holes_.begin() + (best - holes_.data()));
    return offset;
  }
  const std::int64_t offset = top_;
  top_ += bytes;
  high_water_ = std::max(high_water_, top_);
  return offset;
}

void OffsetAllocator::release(std::int64_t offset, std::int64_t bytes) {
  bytes = std::max<std::int64_t>(rounded(bytes), kAlignment);
  auto next = std::lower_bound(holes_.begin(), holes_.end(), offset,
                               [](const Hole& hole, std::int64_t o) { return hole.offset < o; });
  const bool joins_next = next != holes_.end() && offset + bytes == next->offset;
  const bool joins_previous = next != holes_.begin() && (next - 1)->offset + (next - 1)->bytes == offset;
  if (joins_previous && joins_next) {
    (next - 1)->bytes += bytes + next->bytes;
    next = holes_.erase(next) - 1;
  } else if (joins_previous) {
    --next;
    next->bytes += bytes;
  } else if (joins_next) {
    next->offset = offset;
    next->bytes += bytes;
  } else {
    next = holes_.insert(next, {offset, bytes});
  }
  if (next->offset + next->bytes == top_) {
    top_ = next->offset;
    holes_.erase(next);
  }
}

}  // namespace tilewright::runtime
