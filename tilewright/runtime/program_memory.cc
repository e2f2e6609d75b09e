#include "tilewright/runtime/program_memory.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <mutex>
#include <new>

namespace tilewright::runtime {
namespace {

constexpr std::size_t kSmallest = 256, kSlab = 64 << 10;
constexpr std::size_t kSteps = 4;                                         // sizes from one power of two to the next
constexpr std::size_t kClasses = (std::countr_zero(kSlab) - 8) * kSteps;  // below kSlab; 8: of kSmallest

struct Class {
  std::size_t index, bytes;
};

// 256, 320, 384, 448, 512, 640, ..
Class class_of(std::size_t bytes) {
  if (bytes <= kSmallest) return {0, kSmallest};
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  const std::size_t step = (std::size_t{1} << power) / kSteps, steps = (bytes - 1) / step + 1;
  return {(power - 8) * kSteps + steps - kSteps, steps * step};
}

std::byte* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

class Blocks {
 public:
  std::byte* take(Class size) {
    const std::lock_guard lock(mutex_);
    Free*& first = free_[size.index];
    if (first != nullptr) {
      Free* block = first;
      first = block->next;
      return reinterpret_cast<std::byte*>(block);
    }
    if (left_ < size.bytes) {  // the rest of the slab is too small for anything asked for now
      at_ = map(kSlab);
      left_ = kSlab;
    }
    std::byte* block = at_;
    at_ += size.bytes;
    left_ -= size.bytes;
    return block;
  }

  void give(std::byte* memory, Class size) {
    const std::lock_guard lock(mutex_);
    free_[size.index] = new (memory) Free{free_[size.index]};
  }

 private:
  struct Free {
    Free* next;
  };
  std::mutex mutex_;
  std::array<Free*, kClasses> free_{};
  std::byte* at_ = nullptr;  // of the last slab: what was never taken
  std::size_t left_ = 0;
};

Blocks& blocks() {
  static auto* const blocks = new Blocks;
  return *blocks;
}

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

bool has_pages_of_its_own(std::size_t bytes) {
  return bytes > kSlab / 2;
}

}  // namespace

std::size_t program_block_bytes(std::size_t bytes) {
  return has_pages_of_its_own(bytes) ? whole_pages(bytes) : class_of(bytes).bytes;
}

std::byte* allocate_program(std::size_t bytes) {
  return has_pages_of_its_own(bytes) ? map(whole_pages(bytes)) : blocks().take(class_of(bytes));
}

void release_program(std::byte* memory, std::size_t bytes) {
  if (has_pages_of_its_own(bytes)) {
    munmap(memory, whole_pages(bytes));
  } else {
    blocks().give(memory, class_of(bytes));
  }
}

}  // namespace tilewright::runtime
