// Positions of max_pool that nobody reads are not computed: the kernel of the step has one result then.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

void drop_unread_positions(Plan& plan, const Graph& graph);

}  // namespace tilewright::runtime
