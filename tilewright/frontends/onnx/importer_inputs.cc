// The inputs of a model: their types, and symbols for their sizes. A size with a name is the symbol of that name, one
// without, or with a mark such as "?" for a name, gets a symbol of its own. A name that is an expression of other sizes
// ("past + sequence") is that expression if inputs give all of its symbols; the guards of the call check it then.
#include <algorithm>

#include "tilewright/frontends/onnx/importer.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

bool is_word(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto more = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), more);
}

// Exporters write marks without a letter or digit for each size that they do not know.
bool is_name(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_word(std::string{'a', c}); });
}

std::string to_word(std::string_view text) {
  std::string out(text.substr(0, 40));
  for (char& c : out) {
    if (!is_word(std::string{'a', c})) c = '_';
  }
  return is_word(out) ? out : "d" + out;
}

// Names that inputs have as a whole size.
std::unordered_set<std::string_view> plain_names(const schema::GraphProto& proto) {
  std::unordered_set<std::string_view> names;
  for (const schema::ValueInfoProto& input : proto.input) {
    if (input.type == nullptr || input.type->tensor_type == nullptr || input.type->tensor_type->shape == nullptr)
      continue;
    for (const schema::TensorShapeProtoDimension& dim : input.type->tensor_type->shape->dim) {
      if (is_word(dim.dim_param.value_or(""))) names.insert(*dim.dim_param);
    }
  }
  return names;
}

// The expression in a name, if all of its symbols are sizes of inputs.
std::optional<Dim> as_expression(std::string_view text, const std::unordered_set<std::string_view>& names) {
  const Result<Dim> parsed = parse_dim(text);
  if (!parsed.ok() || parsed->is_float()) return std::nullopt;
  std::vector<Dim> symbols;
  collect_symbols(*parsed, symbols);
  for (const Dim symbol : symbols) {
    if (!names.contains(symbol.name())) return std::nullopt;
  }
  return *parsed;
}

}  // namespace

Result<Shape> Importer::input_shape(const schema::TypeProtoTensor& type, std::string_view name) {
  if (type.shape == nullptr) {
    return fail(ErrorKind::kUnsupported, "input '{}' has no rank", name);
  }
  Shape shape;
  const auto names = plain_names(*source_.model().graph);
  for (const schema::TensorShapeProtoDimension& dim : type.shape->dim) {
    const std::string_view text = dim.dim_param.value_or("");
    if (dim.dim_value && *dim.dim_value >= 0) {
      shape.push_back(Dim(*dim.dim_value));
    } else if (!is_name(text)) {
      shape.push_back(fresh_symbol("d"));
    } else if (const auto known = named_dims_.find(std::string(text)); known != named_dims_.end()) {
      shape.push_back(known->second);
    } else {
      const std::optional<Dim> expression = is_word(text) ? std::nullopt : as_expression(text, names);
      Dim size = expression.value_or(Dim(0));
      if (!expression) {
        const std::string word = to_word(text);
        size = used_symbols_.insert(word).second ? Dim::symbol(word) : fresh_symbol("d");
      }
      named_dims_.emplace(text, size);
      shape.push_back(size);
    }
  }
  return shape;
}

Status Importer::add_inputs(const schema::GraphProto& proto, Frame& frame) {
  for (const std::string_view name : plain_names(proto)) used_symbols_.insert(std::string(name));
  for (const std::string_view name : plain_names(proto)) named_dims_.emplace(name, Dim::symbol(name));
  for (const schema::ValueInfoProto& input : proto.input) {
    const std::string_view name = input.name.value_or("");
    if (frame.names.values.contains(name)) continue;  // an initializer is its default, which stays
    if (name.empty()) return fail(ErrorKind::kInvalidArgument, "an input without a name");
    if (input.type == nullptr || input.type->tensor_type == nullptr) {
      return fail(ErrorKind::kUnsupported, "input '{}' is not a tensor", name);
    }
    auto elem = to_elem(input.type->tensor_type->elem_type.value_or(0));
    if (!elem.ok()) return std::move(elem).error().in(fmt::format("input '{}'", name));
    TW_ASSIGN(Shape shape, input_shape(*input.type->tensor_type, name));
    TensorType type{elem->dtype, std::move(shape)};
    const ValueId id = frame.graph->graph().add_input(type, name);
    if (frame.graph->graph().value(id).name != name) {
      return fail(ErrorKind::kInvalidArgument, "two inputs are called '{}'", name);
    }
    frame.names.values[name] = tensor_value(*frame.graph, id, std::move(type), elem->carried);
    frame.graph->set_carried(id, elem->carried);
  }
  return {};
}

// For the border of a session: which inputs and outputs are of a type that their dtype only carries, and the texts that
// numbers of the model stand for.
void Importer::describe_elements(Imported& out, const schema::GraphProto& proto, const Results& results) {
  for (const schema::ValueInfoProto& input : proto.input) {
    const std::string_view name = input.name.value_or("");
    if (input.type == nullptr || input.type->tensor_type == nullptr) continue;
    const CarriedRow* row = find_carried(input.type->tensor_type->elem_type.value_or(0));
    if (row != nullptr) out.metadata[fmt::format("{}{}", kInputElement, name)] = row->text;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]->carried == Carried::kNone) continue;
    out.metadata[fmt::format("{}{}", kOutputElement, proto.output[i].name.value_or(""))] =
        row_of(results[i]->carried).text;
  }
  const std::vector<std::string>& texts = source_.strings().texts();
  for (std::size_t i = 1; i < texts.size(); ++i) out.metadata[fmt::format("{}{}", kString, i)] = texts[i];
}

}  // namespace tilewright::onnx
