#include "tilewright/runtime/program_memory.h"

#include <sys/mman.h>

#include <new>

namespace tilewright::runtime {
namespace {

// Whole pages from the system.
class Pages final : public std::pmr::memory_resource {
  static std::size_t rounded(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = mmap(nullptr, rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t) override { munmap(memory, rounded(bytes)); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* program_memory() {
  static auto* const pages = new Pages;
  static auto* const pool = new std::pmr::synchronized_pool_resource({0, 64 << 10}, pages);
  return pool;
}

}  // namespace tilewright::runtime
