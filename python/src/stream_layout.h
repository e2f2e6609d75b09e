// Layouts of tensors of torch as a stream of ops sees them: a dtype (a number of stream_torch.h), an offset, sizes and
// strides in elements.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::python {

inline constexpr int kMaxStreamRank = 8;

struct StreamLayout {
  std::int32_t dtype = 0;
  std::int32_t rank = 0;
  std::int64_t offset = 0;
  std::array<std::int64_t, kMaxStreamRank> sizes{};
  std::array<std::int64_t, kMaxStreamRank> strides{};

  bool operator==(const StreamLayout& other) const;
  std::span<const std::int64_t> shape() const { return {sizes.data(), static_cast<std::size_t>(rank)}; }
  std::span<const std::int64_t> steps() const { return {strides.data(), static_cast<std::size_t>(rank)}; }
};

// False only if the layouts certainly share no element.
bool overlap(const StreamLayout& a, const StreamLayout& b, std::int64_t a_itemsize, std::int64_t b_itemsize);
// The axes of size > 1 from outermost to innermost if memory has no gaps; false if it has.
bool dense_order(const StreamLayout& layout, std::vector<std::int64_t>& order);

}  // namespace tilewright::python
