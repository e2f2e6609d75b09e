// Fills and checks the attributes of a node against its row in ops.def.
#include "tilewright/graph/op.h"

namespace tilewright {
namespace {

std::string attribute_names(const OpInfo& op) {
  std::string names;
  for (const AttrSpec& spec : op.attrs) names += fmt::format("{}{}", names.empty() ? "" : ", ", spec.name);
  return names.empty() ? "none" : names;
}

// Callers may write numbers for dims, and an integer for a float.
std::optional<AttrValue> convert(AttrKind wanted, const AttrValue& value) {
  if (value.index() == static_cast<std::size_t>(wanted)) return value;
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (wanted == AttrKind::kDim && integer != nullptr) return Dim(*integer);
  if (wanted == AttrKind::kFloat && integer != nullptr) return static_cast<double>(*integer);
  if (wanted == AttrKind::kBool && integer != nullptr && (*integer == 0 || *integer == 1)) return *integer == 1;
  if (wanted == AttrKind::kDim) {
    if (const auto* real = std::get_if<double>(&value)) return Dim::real(*real);
  }
  if (wanted == AttrKind::kDims) {
    if (const auto* integers = std::get_if<Ints>(&value)) return Dims(integers->begin(), integers->end());
  }
  if (wanted == AttrKind::kInts) {  // an empty list may come as either
    if (const auto* dims = std::get_if<Dims>(&value); dims != nullptr && dims->empty()) return Ints{};
  }
  return std::nullopt;
}

}  // namespace

Result<Attrs> complete_attrs(Op op, const Attrs& given) {
  const OpInfo& row = info(op);
  for (const Attrs::Entry& entry : given.entries()) {
    bool known = false;
    for (const AttrSpec& spec : row.attrs) known = known || spec.name == entry.name;
    if (!known) {
      return fail(ErrorKind::kInvalidArgument, "unknown attribute '{}'; the attributes are: {}", entry.name,
                  attribute_names(row));
    }
  }
  Attrs out;
  for (const AttrSpec& spec : row.attrs) {
    const AttrValue* value = given.find(spec.name);
    if (value == nullptr && !spec.default_value) {
      return fail(ErrorKind::kInvalidArgument, "attribute '{}' is missing", spec.name);
    }
    if (value == nullptr) value = &*spec.default_value;
    std::optional<AttrValue> converted = convert(spec.kind, *value);
    if (!converted) {
      return fail(ErrorKind::kInvalidArgument, "attribute '{}' has the wrong kind: {} expected, {} given", spec.name,
                  to_string(spec.kind), to_string(static_cast<AttrKind>(value->index())));
    }
    out.set(spec.name, std::move(*converted));
  }
  return out;
}

}  // namespace tilewright
