// Programs with damaged words on the reference machine.
#include "tilewright/vm/program_fuzz_testing.h"

namespace tilewright::vm {
namespace {

TEST(ReferenceFuzz, WhatTheVerifierAcceptsStaysInItsBuffers) {
  testing::expect_programs_stay_in_their_buffers(*make_reference_machine());
}

}  // namespace
}  // namespace tilewright::vm
