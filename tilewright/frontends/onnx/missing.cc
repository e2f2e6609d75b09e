#include "tilewright/frontends/onnx/missing.h"

#include <map>
#include <string>

#include "tilewright/frontends/onnx/functions.h"
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

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

  std::map<std::string, int> missing;

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
      if (!own_.contains(label(domain, name)) && find_handler(domain, name, number) == nullptr &&
          operator_function(domain, name, number) == nullptr) {
        ++missing[label(domain, name)];
      }
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
  for (const auto& [label, count] : Census(model).missing) {
    list += fmt::format("{}{} ({} node{})", list.empty() ? "" : ", ", label, count, count == 1 ? "" : "s");
  }
  return fail(ErrorKind::kUnsupported, "operator {}{}{} of opset {} has no importer; missing in this model: {}", domain,
              domain.empty() ? "" : ".", name, version, list.empty() ? "only in a function body" : list);
}

}  // namespace tilewright::onnx
