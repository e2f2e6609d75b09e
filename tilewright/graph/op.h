// Op: the enum of ops.def and what its table says of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tilewright/graph/attrs.h"

namespace tilewright {

enum class Op : std::uint16_t {
#define OP(Name, ...) k##Name,
#include "tilewright/graph/ops.def"
#undef OP
};

enum class OpClass : std::uint8_t {
  kElementwise,
  kReduce,
  kMovement,
  kContraction,
  kIndexing,
  kCreate,
  kScan,
  kOrder,
  kRandom,
  kLate,
  kControl,
  kEffect,
  kComposite
};

enum class AttrKind : std::uint8_t {
  kInt,
  kFloat,
  kBool,
  kStr,
  kInts,
  kDType,
  kDim,
  kDims,
  kTensor
};  // order of AttrValue

struct AttrSpec {
  std::string_view name;
  AttrKind kind;
  std::optional<AttrValue> default_value;  // set: the attribute may be left out
};

struct OpInfo {
  std::string_view text;
  std::size_t min_inputs, max_inputs;  // max = SIZE_MAX: no limit
  int results;                         // -1: given by the regions
  OpClass op_class;
  std::vector<AttrSpec> attrs;
  std::string_view meaning;
};

const OpInfo& info(Op op);
std::optional<Op> parse_op(std::string_view text);
std::span<const Op> all_ops();
std::string_view to_string(AttrKind kind);     // "ints", as in ops.def
std::string_view to_string(OpClass op_class);  // "Elementwise", as in ops.def

// The attributes of a node of `op` as its row asks for them: in the row's order, defaults filled in, and numbers given
// for a dim turned into dims. An error names what is missing, unknown or of the wrong kind.
Result<Attrs> complete_attrs(Op op, const Attrs& given);

inline bool is_elementwise(Op op) {
  return info(op).op_class == OpClass::kElementwise;
}

}  // namespace tilewright
