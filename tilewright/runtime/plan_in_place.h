// Which updates of a plan write where their first input lies, instead of into a copy of it.
//   y = update_slice(x, ..)     index_put, scatter_elements alike
// may be done in place when no later step reads what x was: x is an intermediate, a result of control flow, an input
// that the caller gives away, or a buffer that the graph assigns. A buffer written in place keeps what a call had
// written when that call fails later; memory that a caller passes as a buffer must not be passed as another input too.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

bool is_update(Op op);

// Of a plan whose steps have their final order. Values that are written in place become views of the storage they are
// in; results that lie where the input was whose next state they are become kept ones.
void find_in_place(Plan& plan, const PlanOptions& options);

}  // namespace tilewright::runtime
