#include "tilewright/runtime/late_sizes.h"

#include <algorithm>

namespace tilewright::runtime {

std::size_t computed_in(const Plan& plan, ValueId root) {
  for (std::size_t s = 0; s < plan.segments.size() && plan.values[root].origin == Origin::kComputed; ++s) {
    for (std::size_t i = plan.segments[s].begin; i < plan.segments[s].end; ++i) {
      const auto& outputs = plan.steps[i].outputs;
      if (std::find(outputs.begin(), outputs.end(), root) != outputs.end()) return s;
    }
  }
  return plan.segments.size() - 1;
}

std::size_t sized_in(const Plan& plan, ValueId value) {
  std::vector<Dim> symbols;
  for (const Slot slot : plan.values[value].sizes) collect_symbols(plan.dims.dim(slot), symbols);
  std::size_t first = 0;
  for (std::size_t s = 0; s + 1 < plan.segments.size(); ++s) {
    for (const Slot slot : plan.steps[plan.segments[s].end].late) {
      if (std::find(symbols.begin(), symbols.end(), plan.dims.dim(slot)) != symbols.end()) first = s + 1;
    }
  }
  return first;
}

}  // namespace tilewright::runtime
