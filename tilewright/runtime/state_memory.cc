#include "tilewright/runtime/state_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tilewright::runtime {
namespace {
constexpr std::align_val_t kAlignment{64};
constexpr std::int64_t kLeast = 64;
constexpr std::int64_t kMost = std::int64_t{1} << 46;
}  // namespace

void StateMemory::Free::operator()(std::byte* data) const {
  ::operator delete(data, kAlignment);
}

std::byte* StateMemory::ensure(std::int64_t bytes, std::int64_t keep) {
  if (bytes <= capacity_ && data_ != nullptr) return data_.get();
  if (bytes > kMost) return nullptr;
  // Doubled only where it grows: the first size is often the only one.
  const std::int64_t wanted = std::max({bytes, capacity_ == 0 ? bytes : 2 * capacity_, kLeast});
  auto* fresh = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(wanted), kAlignment, std::nothrow));
  if (fresh == nullptr) return nullptr;
  if (keep > 0) std::memcpy(fresh, data_.get(), static_cast<std::size_t>(keep));
  data_.reset(fresh);
  capacity_ = wanted;
  return fresh;
}

void StateMemory::release() {
  data_.reset();
  capacity_ = 0;
}

}  // namespace tilewright::runtime
