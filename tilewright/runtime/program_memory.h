// Memory of cached programs, apart from the heap. They live long and come one per shape: on the heap each would lie
// between large tensors that come and go, and keep the pages around it from going back to the system (layer norm over
// 1,300 shapes: 1,009 MB resident, of which 124 MB in use).
// Blocks come in a few sizes, each with a list of free blocks; what is free stays with the process. A call at a new
// shape takes one: that touches the list and the block. Thread-safe; never destroyed, because sessions may outlive
// every static.
#pragma once

#include <cstddef>

namespace tilewright::runtime {

// Aligned to 64 bytes. Throws std::bad_alloc.
std::byte* allocate_program(std::size_t bytes);
void release_program(std::byte* memory, std::size_t bytes);
// The size of the block that serves a request: at most a quarter more than what is asked for (and 256 at least).
std::size_t program_block_bytes(std::size_t bytes);

}  // namespace tilewright::runtime
