#include "tilewright/frontends/onnx/functions.h"

#include <charconv>
#include <map>
#include <string>

namespace tilewright::onnx {
namespace {

struct Table {
  schema::ModelProto model;
  std::map<std::pair<std::string_view, std::string_view>, std::map<std::int64_t, const schema::FunctionProto*>> bodies;

  Table() {
    schema::Wire wire(operator_function_bytes());
    schema::read(wire, model);
    TW_CHECK(wire.status().ok(), "the function bodies are a serialised model");
    for (const schema::FunctionProto& body : model.functions) {
      const std::string_view text = body.overload.value_or("");
      std::int64_t since = 0;
      std::from_chars(text.data(), text.data() + text.size(), since);
      bodies[{body.domain.value_or(""), body.name.value_or("")}][since] = &body;
    }
  }
};

}  // namespace

const schema::FunctionProto* operator_function(std::string_view domain, std::string_view name, std::int64_t version) {
  static const Table table;
  const auto found = table.bodies.find({domain, name});
  if (found == table.bodies.end()) return nullptr;
  auto newer = found->second.upper_bound(version);
  return newer == found->second.begin() ? nullptr : std::prev(newer)->second;
}

}  // namespace tilewright::onnx
