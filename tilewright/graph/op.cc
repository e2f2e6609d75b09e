// The table of ops.def as data. The attribute and arity strings of a row are parsed once, at the first question; a row
// that does not parse is a bug of ours and stops the program there.
#include "tilewright/graph/op.h"

#include <array>
#include <charconv>
#include <unordered_map>

namespace tilewright {
namespace {

struct Row {
  std::string_view text, inputs;
  int results;
  OpClass op_class;
  std::string_view attrs, meaning;
};

constexpr Row kRows[] = {
#define OP(Name, text, inputs, results, Class, attrs, infer, meaning) \
  {text, inputs, results, OpClass::k##Class, attrs, meaning},
#include "tilewright/graph/ops.def"
#undef OP
};
constexpr std::size_t kNumOps = std::size(kRows);

constexpr std::array<std::string_view, 9> kKindNames = {"int",   "float", "bool", "str",   "ints",
                                                        "dtype", "dim",   "dims", "tensor"};

template <typename Number>
Number parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TW_CHECK(error == std::errc() && end == text.data() + text.size(), text);
  return value;
}

AttrKind parse_kind(std::string_view text) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == text) return static_cast<AttrKind>(i);
  }
  check_failed("the kind of an attribute exists", __FILE__, __LINE__, text);
}

AttrValue parse_default(AttrKind kind, std::string_view text) {
  switch (kind) {
    case AttrKind::kInt:
      return parse_number<std::int64_t>(text);
    case AttrKind::kFloat:
      return parse_number<double>(text);
    case AttrKind::kBool:
      return parse_number<std::int64_t>(text) != 0;
    case AttrKind::kStr:
      return std::string(text);
    case AttrKind::kDim:
      return Dim(parse_number<std::int64_t>(text));
    case AttrKind::kInts:
      TW_CHECK(text.empty(), text);
      return Ints{};
    case AttrKind::kDims:
      TW_CHECK(text.empty(), text);
      return Dims{};
    case AttrKind::kDType: {
      const std::optional<DType> dtype = parse_dtype(text);
      TW_CHECK(dtype.has_value(), text);
      return *dtype;
    }
    case AttrKind::kTensor:
      break;
  }
  check_failed("a tensor attribute has no default", __FILE__, __LINE__, text);
}

// "axis:int keepdim:bool=0"
std::vector<AttrSpec> parse_specs(std::string_view text) {
  std::vector<AttrSpec> specs;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t colon = word.find(':');
    TW_CHECK(colon != std::string_view::npos, word);
    const std::size_t equals = word.find('=');
    AttrSpec spec{word.substr(0, colon), parse_kind(word.substr(colon + 1, equals - colon - 1)), std::nullopt};
    if (equals != std::string_view::npos) spec.default_value = parse_default(spec.kind, word.substr(equals + 1));
    specs.push_back(std::move(spec));
  }
  return specs;
}

OpInfo parse_row(const Row& row) {
  OpInfo out{row.text, 0, 0, row.results, row.op_class, parse_specs(row.attrs), row.meaning};
  const std::size_t mark = row.inputs.find_first_of("-+");
  out.min_inputs = parse_number<std::size_t>(row.inputs.substr(0, mark));
  if (mark == std::string_view::npos) {
    out.max_inputs = out.min_inputs;
  } else {
    out.max_inputs = row.inputs[mark] == '+' ? SIZE_MAX : parse_number<std::size_t>(row.inputs.substr(mark + 1));
  }
  return out;
}

}  // namespace

const OpInfo& info(Op op) {
  static const std::vector<OpInfo> kInfos = [] {
    std::vector<OpInfo> infos;
    infos.reserve(kNumOps);
    for (const Row& row : kRows) infos.push_back(parse_row(row));
    return infos;
  }();
  return kInfos[static_cast<std::size_t>(op)];
}

std::optional<Op> parse_op(std::string_view text) {
  static const std::unordered_map<std::string_view, Op> kOps = [] {
    std::unordered_map<std::string_view, Op> ops;
    for (std::size_t i = 0; i < kNumOps; ++i) ops.emplace(kRows[i].text, static_cast<Op>(i));
    return ops;
  }();
  const auto found = kOps.find(text);
  if (found == kOps.end()) return std::nullopt;
  return found->second;
}

std::span<const Op> all_ops() {
  static constexpr std::array<Op, kNumOps> kOps = [] {
    std::array<Op, kNumOps> ops{};
    for (std::size_t i = 0; i < kNumOps; ++i) ops[i] = static_cast<Op>(i);
    return ops;
  }();
  return kOps;
}

std::string_view to_string(AttrKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(OpClass op_class) {
  static constexpr std::string_view kNames[] = {"Elementwise", "Reduce", "Movement", "Contraction", "Indexing",
                                                "Create",      "Scan",   "Order",    "Random",      "Late",
                                                "Control",     "Effect", "Composite"};
  return kNames[static_cast<std::size_t>(op_class)];
}

}  // namespace tilewright
