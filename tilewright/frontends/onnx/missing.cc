#include "tilewright/frontends/onnx/missing.h"

#include <map>
#include <string>

#include "tilewright/frontends/onnx/census.h"
#include "tilewright/frontends/onnx/functions.h"
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

constexpr std::string_view kMissing = "missing";

class Census {
 public:
  explicit Census(const schema::ModelProto& model) {
    for (const schema::FunctionProto& function : model.functions) {
      own_.insert(label(function.domain.value_or(""), function.name.value_or("")));
    }
    for (const schema::OperatorSetIdProto& import : model.opset_import) {
      versions_[import.domain.value_or("") == "ai.onnx" ? "" : import.domain.value_or("")] = import.version.value_or(1);
    }
    for (const schema::FunctionProto& function : model.functions) count(function.node);
    if (model.graph != nullptr) count(model.graph->node);
  }

  std::map<std::string, OperatorCount> operators;

 private:
  static std::string label(std::string_view domain, std::string_view name) {
    if (domain.empty() || domain == "ai.onnx") return std::string(name);
    return fmt::format("{}.{}", domain, name);
  }

  void count(const std::vector<schema::NodeProto>& nodes) {
    for (const schema::NodeProto& node : nodes) {
      const std::string_view domain = node.domain.value_or("") == "ai.onnx" ? "" : node.domain.value_or("");
      const std::string_view name = node.op_type.value_or("");
      const auto version = versions_.find(domain);
      const std::int64_t number = version == versions_.end() ? 1 : version->second;
      OperatorCount& row = operators[label(domain, name)];
      row.name = label(domain, name);
      ++row.count;
      row.runs = own_.contains(row.name)                              ? "model function"
                 : find_handler(domain, name, number) != nullptr      ? "native"
                 : operator_function(domain, name, number) != nullptr ? "function"
                                                                      : kMissing;
      for (const schema::AttributeProto& attribute : node.attribute) {
        if (attribute.g != nullptr) count(attribute.g->node);
      }
    }
  }

  std::unordered_set<std::string> own_;
  std::map<std::string_view, std::int64_t> versions_;
};

}  // namespace

Error missing_operators(const schema::ModelProto& model, std::string_view domain, std::string_view name,
                        std::int64_t version) {
  std::string list;
  for (const auto& [label, row] : Census(model).operators) {
    const int count = row.count;
    if (row.runs != kMissing) continue;
    list += fmt::format("{}{} ({} node{})", list.empty() ? "" : ", ", label, count, count == 1 ? "" : "s");
  }
  return fail(ErrorKind::kUnsupported, "operator {}{}{} of opset {} has no importer; missing in this model: {}", domain,
              domain.empty() ? "" : ".", name, version, list.empty() ? "only in a function body" : list);
}

Result<std::vector<OperatorCount>> count_operators(std::string_view bytes) {
  schema::ModelProto model;
  schema::Wire wire(bytes);
  schema::read(wire, model);
  TW_TRY(wire.status());
  std::vector<OperatorCount> out;
  for (auto& [label, row] : Census(model).operators) out.push_back(std::move(row));
  return out;
}

}  // namespace tilewright::onnx
