// Memory of a worker: program scratch and the private scratch of the handlers. One block per thread, made when the
// thread first runs a task, reused by every program, freed when the thread ends. 2 MB pages where the system gives
// them.
#pragma once

#include <cstddef>

namespace tilewright::vm::cpu {

struct WorkerMemory {
  std::byte* scratch = nullptr;          // isa::kMaxScratchBytes, 64-byte aligned
  std::byte* private_scratch = nullptr;  // kPrivateBytes, 64-byte aligned
};

// Of the calling thread. Both are null if the system has no memory.
WorkerMemory worker_memory();

}  // namespace tilewright::vm::cpu
