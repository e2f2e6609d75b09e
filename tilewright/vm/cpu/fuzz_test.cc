// Programs with damaged words on every level of the CPU machine, on one thread: tasks of a damaged program may share
// memory.
#include "tilewright/vm/cpu/machine.h"
#include "tilewright/vm/cpu/pool.h"
#include "tilewright/vm/program_fuzz_testing.h"

namespace tilewright::vm {
namespace {

class CpuFuzz : public ::testing::TestWithParam<std::string> {};

TEST_P(CpuFuzz, WhatTheVerifierAcceptsStaysInItsBuffers) {
  const int before = cpu::num_threads();
  cpu::set_num_threads(1);
  auto machine = make_cpu_machine({GetParam()});
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  testing::expect_programs_stay_in_their_buffers(**machine);
  cpu::set_num_threads(before);
}

std::vector<std::string> levels_of_this_machine() {
  std::vector<std::string> out;
  for (const std::string_view level : cpu_levels()) {
    if (make_cpu_machine({std::string(level)}).ok()) out.emplace_back(level);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuFuzz, ::testing::ValuesIn(levels_of_this_machine()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tilewright::vm
