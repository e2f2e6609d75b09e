// The main graph of a model: its inputs and constants, its results, its state; and the model around it.
#include <algorithm>
#include <cstring>

#include "message_writers.h"
#include "tilewright/frontends/onnx/carriers.h"
#include "tilewright/frontends/onnx/export/node.h"
#include "tilewright/frontends/onnx/export/opsets.h"
#include "tilewright/frontends/onnx/load.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

using Weights = std::map<std::string, Tensor>;
using Texts = std::map<std::string, std::string>;

constexpr std::int64_t kMicrosoftVersion = 1;
constexpr std::int64_t kSmallExternal = 1024;  // bytes; smaller constants stay in the model

struct Storage {
  explicit Storage(const ExportOptions& options) : writer(options) {}
  ModelWriter writer;
  schema::ModelProto model;
  schema::WireWriter wire;
};

const CarriedRow* row_of_text(std::string_view text) {
#define CARRIED(NAME, Name, row_text, ...) \
  if (text == row_text) return &row_of(Carried::k##Name);
#include "tilewright/frontends/onnx/carriers.def"
#undef CARRIED
  return nullptr;
}

// The opset in which operators of the standard, Cast first of all, take an element type.
int since(const CarriedRow& row) {
  if (row.kind == 'u' || row.kind == 'i') return row.bits >= 8 ? 13 : row.bits == 4 ? 21 : 25;
  if (row.bits == 4) return 23;
  return row.carried == Carried::kF8E8M0 ? 24 : 19;
}

class MainGraph {
 public:
  MainGraph(const Graph& graph, const Weights& weights, const Texts& metadata, ModelWriter& model)
      : graph_(graph),
        weights_(weights),
        metadata_(metadata),
        model_(model),
        target_(model, model.main),
        frame_(graph, target_, nullptr) {}

  void write() {
    model_.main.name = model_.keep(graph_.name.empty() ? "graph" : graph_.name);
    reserve_names();
    find_used();
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) bind_weight(i);
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) add_input(i);
    for (const Dim symbol : graph_.scalar_inputs()) add_scalar(symbol);
    bind_shapes();
    const Outs results = write_graph(frame_);
    if (model_.failed()) return;
    for (std::size_t i = 0; i < results.size(); ++i) add_output(i, results[i]);
    for (const auto& [input, out] : model_.states) add_state(input, out);
  }

 private:
  const Value& input(std::size_t i) const { return graph_.value(graph_.inputs()[i]); }
  std::string output_name(std::size_t i) const {
    return i < graph_.output_names().size() ? graph_.output_names()[i] : graph_.value(graph_.outputs()[i]).name;
  }

  void reserve_names() {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) model_.reserve(input(i).name);
    for (const Dim symbol : graph_.scalar_inputs()) model_.reserve(symbol.name());
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      model_.reserve(output_name(i));
      if (carrier(kOutputElement, output_name(i)) == nullptr) {
        frame_.want(graph_.outputs()[i], model_.keep(output_name(i)));
      }
    }
  }

  void find_used() {
    const auto users = graph_.users();
    used_.resize(graph_.num_values());
    for (std::size_t id = 0; id < users.size(); ++id) used_[id] = !users[id].empty();
    for (const ValueId output : graph_.outputs()) used_[output] = true;
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).op == Op::kAssign) assigned_.insert(graph_.node(id).inputs[0]);
    }
  }

  // The element type at the border, where the dtype only carries it.
  const CarriedRow* carrier(std::string_view key, const std::string& name) const {
    const auto found = metadata_.find(fmt::format("{}{}", key, name));
    return found == metadata_.end() ? nullptr : row_of_text(found->second);
  }

  // Whether the model can have it at its border.
  bool allows(const CarriedRow& row, std::string_view name) {
    if (row.kind == 's') {
      model_.fail(fail(ErrorKind::kUnsupported, "'{}' is a tensor of strings, which the graph has as numbers", name));
    } else if (model_.opset() < since(row)) {
      model_.fail(fail(ErrorKind::kUnsupported, "'{}' is {}, which exists from opset {} on; the export is for opset {}",
                       name, row.text, since(row), model_.opset()));
    }
    return !model_.failed();
  }

  void bind_weight(std::size_t i) {
    const auto found = weights_.find(input(i).name);
    if (found == weights_.end()) return;
    const Shape& shape = input(i).type.shape;
    for (std::size_t axis = 0; axis < shape.size() && axis < found->second.rank(); ++axis) {
      if (shape[axis].is_symbol()) frame_.bind_number(shape[axis], found->second.sizes()[axis]);
    }
  }

  void add_input(std::size_t i) {
    const ValueId id = graph_.inputs()[i];
    const Value& value = graph_.value(id);
    const auto weight = weights_.find(value.name);
    const bool is_state = assigned_.contains(id);
    if (weight != weights_.end() && !used_[id]) return;
    const std::string_view name = model_.keep(value.name);
    if (weight != weights_.end()) {
      frame_.set(id, model_.constant(weight->second, value.name, true));
      if (is_state) target_.add_input(name, *elem_type_of(value.type.dtype), value.type.dtype, value.type.shape);
      return;
    }
    const CarriedRow* row = carrier(kInputElement, value.name);
    if (row == nullptr) {
      frame_.set(id, target_.add_input(name, *elem_type_of(value.type.dtype), value.type.dtype, value.type.shape));
      return;
    }
    if (!allows(*row, value.name)) return;
    const Out given = target_.add_input(name, row->elem_type, value.type.dtype, value.type.shape);
    frame_.set(id, target_.add_one("Cast", {given}, row->dtype, value.name, {{"to", *elem_type_of(row->dtype)}}));
  }

  void add_scalar(Dim symbol) {
    const DType dtype = symbol.is_float() ? DType::kF64 : DType::kI64;
    frame_.bind_element(symbol, target_.add_input(model_.keep(symbol.name()), *elem_type_of(dtype), dtype, {}));
  }

  // Twice: an expression may hold a symbol that a later input gives.
  void bind_shapes() {
    for (int round = 0; round < 2; ++round) {
      for (const ValueId id : graph_.inputs()) {
        if (weights_.contains(graph_.value(id).name) || frame_.value(id).name.empty()) continue;
        frame_.bind_shape(graph_.type(id).shape, frame_.value(id));
      }
    }
  }

  void add_output(std::size_t i, Out out) {
    const std::string_view name = model_.keep(output_name(i));
    const TensorType& type = graph_.type(graph_.outputs()[i]);
    std::int64_t elem_type = *elem_type_of(type.dtype);
    const CarriedRow* row = carrier(kOutputElement, output_name(i));
    if (row != nullptr && !allows(*row, name)) return;
    if (row != nullptr) elem_type = row->elem_type;
    if (row != nullptr || out.name != name || !taken_.insert(name).second) {
      const std::size_t first = target_.num_nodes();
      Attributes to = row == nullptr ? Attributes{} : Attributes{{"to", elem_type}};
      const bool is_float8 = row != nullptr && row->kind == 'f' && row->bits == 8 && row->carried != Carried::kF8E8M0;
      if (is_float8) to.push_back({"saturate", std::int64_t{0}});  // elements are of the type already, infinities too
      const Out copy = target_.add_one(row == nullptr ? "Identity" : "Cast", {out}, out.dtype, name, to);
      taken_.insert(name);
      target_.rename(copy, name, first);
    }
    target_.add_output(name, elem_type, type.shape);
  }

  void add_state(ValueId input, Out out) {
    const Value& value = graph_.value(input);
    const std::string_view name = model_.fresh_name(fmt::format("{}_next", value.name));
    const std::size_t first = target_.num_nodes();
    target_.rename(target_.add_one("Identity", {out}, out.dtype, name), name, first);
    target_.add_output(name, *elem_type_of(value.type.dtype), value.type.shape);
    model_.note(fmt::format("'{}' is state: its value after a call is the output '{}'", value.name, name));
  }

  const Graph& graph_;
  const Weights& weights_;
  const Texts& metadata_;
  ModelWriter& model_;
  GraphWriter target_;
  Frame frame_;
  std::vector<bool> used_;
  std::unordered_set<ValueId> assigned_;
  std::unordered_set<std::string_view> taken_;
};

void name_nodes(schema::GraphProto& graph) {
  for (schema::NodeProto& node : graph.node) {
    node.name = node.output[0];
    for (schema::AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) name_nodes(*attribute.g);
    }
  }
}

void count_operators(const schema::GraphProto& graph, std::map<std::string, int>& counts) {
  for (const schema::NodeProto& node : graph.node) {
    const std::string_view domain = node.domain.value_or("");
    ++counts[domain.empty() ? std::string(*node.op_type) : fmt::format("{}.{}", domain, *node.op_type)];
    for (const schema::AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) count_operators(*attribute.g, counts);
    }
  }
}

// Moves the elements of constants to the file beside the model, each from a multiple of 64 bytes on.
void make_external(ModelWriter& model, std::vector<std::string_view>& pieces) {
  static constexpr char kZeros[64] = {};
  std::size_t at = 0;
  for (schema::TensorProto& tensor : model.main.initializer) {
    const std::string_view content = *tensor.raw_data;
    if (std::ssize(content) < kSmallExternal) continue;
    const std::size_t gap = (64 - at % 64) % 64;
    if (gap > 0) pieces.push_back({kZeros, gap});
    at += gap;
    const auto entry = [&](std::string_view key, std::string value) {
      auto& added = tensor.external_data.emplace_back();
      added.key = key;
      added.value = model.keep(std::move(value));
    };
    entry("location", model.options().external_file);
    entry("offset", std::to_string(at));
    entry("length", std::to_string(content.size()));
    tensor.data_location = static_cast<std::int32_t>(schema::TensorProtoDataLocation::kEXTERNAL);
    tensor.raw_data.reset();
    pieces.push_back(content);
    at += content.size();
  }
}

void describe(Storage& storage, const Texts& metadata) {
  schema::ModelProto& model = storage.model;
  model.ir_version = ir_versions()[static_cast<std::size_t>(storage.writer.opset())];
  model.producer_name = "tilewright";
  auto& standard = model.opset_import.emplace_back();
  standard.domain = "";
  standard.version = storage.writer.opset();
  for (const std::string_view domain : storage.writer.domains()) {
    auto& added = model.opset_import.emplace_back();
    added.domain = domain;
    added.version = kMicrosoftVersion;
  }
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(kInputElement) || key.starts_with(kOutputElement) || key.starts_with(kString)) continue;
    auto& entry = model.metadata_props.emplace_back();
    entry.key = storage.writer.keep(key);
    entry.value = storage.writer.keep(value);
  }
}

Status check_options(const ExportOptions& options) {
  if (options.opset >= kOldestExportOpset && options.opset <= newest_export_opset()) return {};
  return fail(ErrorKind::kInvalidArgument, "opset {} is not one of {} to {}", options.opset, kOldestExportOpset,
              newest_export_opset());
}

}  // namespace

Result<ExportedModel> export_graph(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                   const std::map<std::string, std::string>& metadata, const ExportOptions& options) {
  TW_TRY(check_options(options));
  const auto storage = std::make_shared<Storage>(options);
  ModelWriter& writer = storage->writer;
  MainGraph(graph, weights, metadata, writer).write();
  if (writer.failed()) return writer.take_error();
  name_nodes(writer.main);
  ExportedModel out;
  out.notes = writer.notes();
  std::map<std::string, int> counts;
  count_operators(writer.main, counts);
  out.operators.assign(counts.begin(), counts.end());
  std::int64_t bytes = 0;
  for (const schema::TensorProto& tensor : writer.main.initializer) bytes += std::ssize(*tensor.raw_data);
  if (bytes >= options.external_from) make_external(writer, out.external);
  describe(*storage, metadata);
  storage->model.graph = std::make_unique<schema::GraphProto>(std::move(writer.main));
  schema::write(storage->wire, storage->model);
  out.model = storage->wire.pieces();
  out.storage = storage;
  return out;
}

std::string ExportedModel::bytes() const {
  std::string out;
  for (const std::string_view piece : model) out += piece;
  return out;
}

}  // namespace tilewright::onnx
