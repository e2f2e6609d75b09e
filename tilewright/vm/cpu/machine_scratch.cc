#include "tilewright/vm/cpu/machine_scratch.h"

#include <sys/mman.h>

#include <cstdint>

#include "tilewright/vm/cpu/levels.h"

namespace tilewright::vm::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kScratch =
    (static_cast<std::size_t>(isa::kMaxScratchBytes) + kHugePage - 1) / kHugePage * kHugePage;
constexpr std::size_t kUsed = kScratch + static_cast<std::size_t>(kPrivateBytes);
constexpr std::size_t kMapped = kUsed + kHugePage;  // room to begin at a huge page

struct Mapping {
  void* address = nullptr;
  WorkerMemory memory;

  Mapping() {
    void* const mapped =
        mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    address = mapped;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(mapped) + kHugePage - 1) / kHugePage * kHugePage;
    auto* const start = reinterpret_cast<std::byte*>(begin);
    madvise(start, kUsed, MADV_HUGEPAGE);
    memory = {start, start + kScratch};
  }
  ~Mapping() {
    if (address != nullptr) munmap(address, kMapped);
  }
};

}  // namespace

WorkerMemory worker_memory() {
  thread_local Mapping mapping;
  return mapping.memory;
}

}  // namespace tilewright::vm::cpu
