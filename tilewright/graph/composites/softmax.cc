// softmax and log_softmax, shifted by the maximum so that exp never overflows. A row of -inf gives nan, as -inf - -inf
// does.
#include "tilewright/graph/composites/definition.h"

namespace tilewright {

std::vector<ValueId> define_softmax(Definition& d) {
  const ValueId x = d.wide(0);
  const Ints axis{d.attrs().integer("axis")};
  const ValueId exponentials = d.op(Op::kExp, {d.sub(x, d.reduce(Op::kReduceMax, x, axis))});
  return d.narrow(d.div(exponentials, d.reduce(Op::kReduceSum, exponentials, axis)));
}

std::vector<ValueId> define_log_softmax(Definition& d) {
  const ValueId x = d.wide(0);
  const Ints axis{d.attrs().integer("axis")};
  const ValueId shifted = d.sub(x, d.reduce(Op::kReduceMax, x, axis));
  const ValueId sum = d.reduce(Op::kReduceSum, d.op(Op::kExp, {shifted}), axis);
  return d.narrow(d.sub(shifted, d.op(Op::kLog, {sum})));
}

}  // namespace tilewright
