// A plan as text for people: segments, steps with what is fused in them, host steps with their regions. Not read back.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

std::string plan_text(const Plan& plan);
std::string_view to_string(StepKind kind);              // "area", "host call"
bool is_host_step(StepKind kind);                       // runs between programs
std::string_view to_string(compiler::Area::Kind kind);  // "map", "rows", "columns", "matmul"
// The operators that a step computes, in order: those of the region of a fused area, else the step's own.
std::vector<std::string> step_ops(const Step& step);
std::string condition_text(const Plan& plan, const Speculation& speculation);  // "B = C"

}  // namespace tilewright::runtime
