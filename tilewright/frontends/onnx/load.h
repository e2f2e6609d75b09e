// Reads an ONNX model and gives its graph: what the layers above use of this one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tilewright/frontends/onnx/texts/texts.h"
#include "tilewright/graph/graph.h"

namespace tilewright::onnx {

// Bytes that stay as long as their owner does.
struct Bytes {
  std::string_view content;
  std::shared_ptr<void> owner;
};
Result<Bytes> map_file(const std::string& path);

// Keys of metadata. An input or output whose dtype only carries its element type: its name after the key, and the name
// of the type. Of a string, which i64 carries: the number after the key, and the text; 0 is the empty one.
inline constexpr std::string_view kInputElement = "tilewright.element.input.";
inline constexpr std::string_view kOutputElement = "tilewright.element.output.";
inline constexpr std::string_view kString = "tilewright.string.";
// What an ONNX model says about itself, by the names of onnxruntime's ModelMetadata.
inline constexpr std::string_view kModelKey = "tilewright.onnx.";
// Name and metadata key of a weight input i64[2] that gets a fresh key of random numbers at every call, with a number
// behind. The text is the seed of the node, in decimal digits, or empty: another one in every process.
inline constexpr std::string_view kRandomKey = "tilewright.random.";

// An input or a result as the model declares it: what it leaves open is not there. Of a sequence, dtype and shape are
// those of its items.
struct Declared {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  bool is_sequence = false;
  bool is_optional = false;
};

// How many tensors of the graph an input or result of the model is: one, those of a sequence, or no value at all.
struct Form {
  static constexpr std::int64_t kNothing = -1;
  std::int64_t count = 1;
  bool is_sequence = false;
  bool operator==(const Form&) const = default;
};

struct Imported {
  std::unique_ptr<Graph> graph;
  std::map<std::string, Tensor> weights;  // by the name of the graph input that each is the value of
  std::map<std::string, std::string> metadata;
  // Not empty: how the model goes on depends on something that only a call can tell, of which this is the name. The
  // graph then has one result, the answer; imported again with it, the model goes on from there.
  std::string question;
  // Of which declared input the question is about its form, not its values: the answer is an i64 row of the count (see
  // Form) and the rank of each tensor. Without: -1.
  std::ptrdiff_t asked_input = -1;
  std::vector<Declared> inputs;              // that a call gives
  std::vector<Declared> outputs;             // as declared
  std::vector<Form> forms;                   // of the results; empty if there is a question
  std::vector<TextOperator> text_operators;  // by the target of a host call
};

class Source;

// A model that can be imported once for every way in which its structure comes out. Thread-safe.
class ModelReader {
 public:
  // `path` is where the bytes are from: external data lies beside it. Empty: there may be none.
  static Result<std::shared_ptr<ModelReader>> open(Bytes bytes, const std::string& path = {});
  ~ModelReader();

  // The answers to the questions of earlier imports, in their order.
  Result<Imported> import(std::span<const Tensor> answers = {});
  // Initializers of the model that are long enough to be weights of its graphs. All of these may be called by several
  // threads at once.
  std::vector<std::string> weight_names();
  Result<Tensor> weight(const std::string& name);
  // Imports from now on see these values, of the dtype and the sizes of those before. The content is copied.
  Status set_weights(const std::map<std::string, Tensor>& weights);
  // The model as it is now as one file, without external data. The file appears whole or not at all.
  Status write(const std::string& path);
  // The texts of the model, the same for all of its imports.
  std::shared_ptr<const StringTable> texts() const;

 private:
  explicit ModelReader(std::unique_ptr<Source> source);
  std::mutex mutex_;
  std::unique_ptr<Source> source_;
};

// A model whose structure depends on no call; an error if it does.
Result<Imported> import_bytes(Bytes bytes, const std::string& path = {});

// Whether bytes may be an ONNX model, by the first of them.
bool looks_like_model(std::string_view bytes);

// Operators that have an importer, "domain.Name" or "Name", sorted.
std::vector<std::string> operator_names();

}  // namespace tilewright::onnx
