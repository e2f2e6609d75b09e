// Pieces of a concatenation are computed where they belong: an area whose result only a concat reads writes that part
// of the concat's memory, and the concat copies nothing.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

// Sets PlanValue::part_of. After the order of steps, segments and storage orders are settled.
void find_concat_parts(Plan& plan);

}  // namespace tilewright::runtime
