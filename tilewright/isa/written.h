// How much a program writes, found while it is verified.
#pragma once

#include "tilewright/isa/program.h"

namespace tilewright::isa {

// verify_program, and how many bytes running the program writes to buffers: every element of the domain of a scatter,
// of other instructions each element of a result once.
Status verify_program(const Program& program, std::int64_t& bytes_written);

}  // namespace tilewright::isa
