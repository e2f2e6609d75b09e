#include "tilewright/runtime/bound_segment.h"

#include <algorithm>
#include <new>

#include "tilewright/runtime/binder.h"
#include "tilewright/runtime/program_memory.h"

namespace tilewright::runtime {

std::size_t BoundSegment::block_bytes(std::size_t num_key, std::size_t num_words) {
  return sizeof(BoundSegment) + num_key * sizeof(std::int64_t) + num_words * sizeof(isa::Word);
}

BoundSegment::BoundSegment(Key key, std::span<const isa::Word> words)
    : num_key_(static_cast<std::uint32_t>(key.size())), num_words_(static_cast<std::uint32_t>(words.size())) {
  auto* const place = reinterpret_cast<std::int64_t*>(this + 1);
  std::copy(key.begin(), key.end(), place);
  std::copy(words.begin(), words.end(), reinterpret_cast<isa::Word*>(place + key.size()));
}

BoundSegment::~BoundSegment() = default;

SegmentRef BoundSegment::make(Key key, std::span<const isa::Word> words) {
  return SegmentRef(new (allocate_program(block_bytes(key.size(), words.size()))) BoundSegment(key, words));
}

void BoundSegment::drop() const {
  const std::size_t bytes = block_bytes(num_key_, num_words_);
  this->~BoundSegment();
  release_program(reinterpret_cast<std::byte*>(const_cast<BoundSegment*>(this)), bytes);
}

std::int64_t BoundSegment::bytes() const {
  auto total = static_cast<std::int64_t>(program_block_bytes(block_bytes(num_key_, num_words_)));
  if (state) total += static_cast<std::int64_t>(state->views.capacity() * sizeof(View) + state->placed.capacity());
  return total;
}

}  // namespace tilewright::runtime
