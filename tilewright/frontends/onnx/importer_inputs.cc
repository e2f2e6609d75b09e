// The inputs of a model: their forms, their types, and symbols for their sizes. A size with a name is the symbol of
// that name, one without, or with a mark such as "?" for a name, gets a symbol of its own. A name that is an expression
// of other sizes
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

// The tensor type in a type, which may be a sequence of it, optional, or both. Null: no type of tensors.
struct TensorOf {
  const schema::TypeProtoTensor* type = nullptr;
  bool is_sequence = false, is_optional = false;
};

TensorOf tensor_of(const schema::TypeProto* type) {
  TensorOf out;
  if (type != nullptr && type->optional_type != nullptr) {
    out.is_optional = true;
    type = type->optional_type->elem_type.get();
  }
  if (type != nullptr && type->sequence_type != nullptr) {
    out.is_sequence = true;
    type = type->sequence_type->elem_type.get();
  }
  if (type != nullptr) out.type = type->tensor_type.get();
  return out;
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

Result<Shape> Importer::input_shape(const schema::TypeProtoTensor& type) {
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

Result<Declared> Importer::declare(const schema::ValueInfoProto& value) {
  Declared out{std::string(value.name.value_or("")), {}, {}};
  const TensorOf found = tensor_of(value.type.get());
  out.is_sequence = found.is_sequence;
  out.is_optional = found.is_optional;
  if (found.type == nullptr || found.type->elem_type.value_or(0) == 0) return out;
  auto elem = to_elem(found.type->elem_type.value_or(0));
  if (!elem.ok()) return std::move(elem).error().in(fmt::format("'{}'", out.name));
  out.dtype = elem->dtype;
  if (found.type->shape != nullptr) {
    TW_ASSIGN(out.shape, input_shape(*found.type));
  }
  return out;
}

// How many tensors an input is, and the rank of each. What the model does not say is a question.
Result<Importer::Given> Importer::given_as(const Declared& input, std::size_t place) {
  if (!input.is_sequence && !input.is_optional && input.shape) return Given{{}, {input.shape->size()}};
  if (num_answered_ == answers_.size()) {
    question_ = Question{kNoValue, fmt::format("the form of input '{}'", input.name)};
    out_.asked_input = static_cast<std::ptrdiff_t>(place);
    return fail(ErrorKind::kUnsupported, "{} must be known before the model runs", question_->name);
  }
  const Tensor& answer = answers_[num_answered_++];
  Given out{{.count = answer.data_as<std::int64_t>()[0], .is_sequence = input.is_sequence}, {}};
  for (std::int64_t i = 1; i < answer.count(); ++i) {
    out.ranks.push_back(static_cast<std::size_t>(answer.data_as<std::int64_t>()[i]));
  }
  return out;
}

// A tensor that a call gives. Items of a sequence may differ in their sizes.
Result<ValueRef> Importer::add_tensor(const Declared& input, Carried carried, std::size_t rank, std::string name,
                                      Frame& frame) {
  if (input.shape && input.shape->size() != rank) {
    return fail(ErrorKind::kShapeMismatch, "input '{}': expected {} axes, got {}", input.name, input.shape->size(),
                rank);
  }
  TensorType type{*input.dtype, input.shape.value_or(Shape(rank, Dim(0)))};
  for (Dim& size : type.shape) {
    if (!input.shape || (input.is_sequence && !size.constant())) size = fresh_symbol("d");
  }
  const ValueId id = frame.graph->graph().add_input(type, name);
  if (!input.is_sequence && frame.graph->graph().value(id).name != input.name) {
    return fail(ErrorKind::kInvalidArgument, "two inputs are called '{}'", input.name);
  }
  frame.graph->set_carried(id, carried);
  return tensor_value(*frame.graph, id, std::move(type), carried);
}

Status Importer::add_inputs(const schema::GraphProto& proto, Frame& frame) {
  for (const std::string_view name : plain_names(proto)) used_symbols_.insert(std::string(name));
  for (const std::string_view name : plain_names(proto)) named_dims_.emplace(name, Dim::symbol(name));
  std::vector<std::pair<std::string_view, Carried>> rows;
  for (const schema::ValueInfoProto& input : proto.input) {
    const std::string_view name = input.name.value_or("");
    if (frame.names.values.contains(name)) continue;  // an initializer is its default, which stays
    if (name.empty()) return fail(ErrorKind::kInvalidArgument, "an input without a name");
    auto declared = declare(input);
    if (!declared.ok()) return std::move(declared).error().in("input");
    if (!declared->dtype) return fail(ErrorKind::kUnsupported, "input '{}' is not of tensors", name);
    const CarriedRow* row = find_carried(tensor_of(input.type.get()).type->elem_type.value_or(0));
    rows.emplace_back(name, row == nullptr ? Carried::kNone : row->carried);
    out_.inputs.push_back(std::move(*declared));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [name, carried] = rows[i];
    TW_ASSIGN(const Given given, given_as(out_.inputs[i], i));
    std::vector<ValueRef> tensors;
    for (const std::size_t rank : given.ranks) {
      std::string label = given.form.is_sequence ? fmt::format("{}_{}", name, tensors.size()) : std::string(name);
      TW_ASSIGN(ValueRef tensor, add_tensor(out_.inputs[i], carried, rank, std::move(label), frame));
      tensors.push_back(std::move(tensor));
    }
    ValueRef value = given.form.count == Form::kNothing ? no_value()
                     : given.form.is_sequence           ? sequence_value(std::move(tensors))
                                                        : tensors.at(0);
    if (!frame.names.values.emplace(name, std::move(value)).second) {
      return fail(ErrorKind::kInvalidArgument, "two inputs are called '{}'", name);
    }
  }
  return {};
}

// For the border of a session: which inputs and outputs are of a type that their dtype only carries, and the texts that
// numbers of the model stand for.
void Importer::describe_elements(Imported& out, const schema::GraphProto& proto, const Results& results) {
  const auto describe = [&](std::string_view key, const schema::ValueInfoProto& value) {
    const TensorOf found = tensor_of(value.type.get());
    const CarriedRow* row = found.type == nullptr ? nullptr : find_carried(found.type->elem_type.value_or(0));
    if (row != nullptr) out.metadata[fmt::format("{}{}", key, value.name.value_or(""))] = row->text;
  };
  for (const schema::ValueInfoProto& input : proto.input) describe(kInputElement, input);
  for (const schema::ValueInfoProto& output : proto.output) describe(kOutputElement, output);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool is_sequence = results[i]->kind == OnnxValue::Kind::kSequence;
    if (is_sequence && results[i]->items.empty()) continue;
    const Carried carried = is_sequence ? results[i]->items[0]->carried : results[i]->carried;
    if (carried == Carried::kNone) continue;
    out.metadata[fmt::format("{}{}", kOutputElement, proto.output[i].name.value_or(""))] = row_of(carried).text;
  }
  const StringTable& texts = source_.strings();
  for (std::int64_t i = 1; i < texts.size(); ++i) out.metadata[fmt::format("{}{}", kString, i)] = *texts.text_of(i);
}

}  // namespace tilewright::onnx
