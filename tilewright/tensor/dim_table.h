// The table of all Dim nodes, and what every rule about them shares: the row of an operation, and one order of
// expressions that depends on their structure and names alone, never on when they were made. Internal to tensor/.
#pragma once

#include <string_view>

#include "tilewright/tensor/dim.h"

namespace tilewright {

struct DimOpInfo {
  std::string_view text;
  int operands;  // -1: two or more
  char takes;    // see dim_ops.def
  char gives;
  bool is_infix() const { return !text.empty() && !((text[0] >= 'a' && text[0] <= 'z')); }
  bool is_function() const { return !text.empty() && !is_infix(); }
};

inline constexpr DimOpInfo kDimOps[] = {
#define DIM_OP(Name, text, operands, takes, gives, ...) {text, operands, takes, gives},
#include "tilewright/tensor/dim_ops.def"
#undef DIM_OP
};
inline constexpr std::size_t kNumDimOps = std::size(kDimOps);
constexpr const DimOpInfo& info(DimOp op) {
  return kDimOps[static_cast<std::size_t>(op)];
}

class DimTable {
 public:
  // The one node equal to `node`, which the caller has made canonical. Thread-safe.
  static Dim intern(DimNode node);
  static Dim intern(DimOp op, std::vector<Dim> operands, bool is_float);
  static std::int64_t integer(Dim constant) { return constant.node_->integer; }
  static double real(Dim constant) { return constant.node_->real; }
};

// Negative, zero or positive as a stands before, is, or stands after b.
int compare(Dim a, Dim b);
inline bool before(Dim a, Dim b) {
  return compare(a, b) < 0;
}

}  // namespace tilewright
