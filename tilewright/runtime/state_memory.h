// StateMemory: a block that carried state, stacked results or results of a branch lie in. It grows by doubling and is
// kept from trip to trip and from call to call, so that nothing is allocated once it is warm. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::runtime {

class StateMemory {
 public:
  // At least `bytes`, the first `keep` of them as they were. Null: there is not so much memory.
  std::byte* ensure(std::int64_t bytes, std::int64_t keep = 0);
  std::byte* data() const { return data_.get(); }
  std::int64_t capacity() const { return capacity_; }
  void release();

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::int64_t capacity_ = 0;
};

}  // namespace tilewright::runtime
