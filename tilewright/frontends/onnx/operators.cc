#include "tilewright/frontends/onnx/operators.h"

#include <algorithm>

#include "tilewright/frontends/onnx/load.h"

namespace tilewright::onnx {
namespace {

using Rows = std::map<std::int64_t, Handler>;  // by the version that each is since

struct NameHash {
  std::size_t operator()(const std::pair<std::string_view, std::string_view>& key) const {
    return std::hash<std::string_view>()(key.first) * 31 + std::hash<std::string_view>()(key.second);
  }
};
using Table = std::unordered_map<std::pair<std::string_view, std::string_view>, Rows, NameHash>;

const Table& table() {
  static const Table rows = [] {
    Table out;
#define ONNX_OP(domain, Name, since, function) out[{domain, #Name}][since] = {.one = function};
#define ONNX_OPS(domain, Name, since, function) out[{domain, #Name}][since] = {.many = function};
#define ONNX_SAME(domain, Name, since, op_name) out[{domain, #Name}][since] = {.op = Op::k##op_name};
#include "tilewright/frontends/onnx/operators.def"
#undef ONNX_OP
#undef ONNX_OPS
#undef ONNX_SAME
    return out;
  }();
  return rows;
}

Maybe same(OnnxNode& n, Op op) {
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) {
    TW_ASSIGN(const ValueId input, n.input(i));
    inputs.push_back(input);
  }
  return n.op(op, inputs);
}

}  // namespace

Result<Results> Handler::operator()(OnnxNode& node) const {
  if (many != nullptr) return many(node);
  TW_ASSIGN(const ValueId value, one != nullptr ? one(node) : same(node, op));
  return Results{node.result(value)};
}

const Handler* find_handler(std::string_view domain, std::string_view name, std::int64_t version) {
  const auto found = table().find({domain, name});
  if (found == table().end()) return nullptr;
  const auto newer = found->second.upper_bound(version);
  return newer == found->second.begin() ? nullptr : &std::prev(newer)->second;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [key, rows] : table()) {
    names.push_back(key.first.empty() ? std::string(key.second) : fmt::format("{}.{}", key.first, key.second));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tilewright::onnx
