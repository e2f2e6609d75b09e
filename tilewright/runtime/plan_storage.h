// How computed values are stored, and until when.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

// A computed value that only one transpose reads is stored in the order of the transposed one, if its last axis
// stays.
void find_storage_orders(Plan& plan);

// Notes with each step the storage that no later one reads.
void find_releases(Plan& plan);

}  // namespace tilewright::runtime
