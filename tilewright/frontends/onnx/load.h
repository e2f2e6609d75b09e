// Reads an ONNX model and gives its graph: what the layers above use of this one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

// A result as the model declares it: what it leaves open is not there.
struct DeclaredOutput {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

struct Imported {
  std::unique_ptr<Graph> graph;
  std::map<std::string, Tensor> weights;  // by the name of the graph input that each is the value of
  std::map<std::string, std::string> metadata;
  // Not empty: how the model goes on depends on something that only a call can tell, of which this is the name. The
  // graph then has one result, the answer; imported again with it, the model goes on from there.
  std::string question;
  std::vector<DeclaredOutput> outputs;  // if there is a question
};

class Source;

// A model that can be imported once for every way in which its structure comes out. Not thread-safe.
class ModelReader {
 public:
  // `path` is where the bytes are from: external data lies beside it. Empty: there may be none.
  static Result<std::shared_ptr<ModelReader>> open(Bytes bytes, const std::string& path = {});
  ~ModelReader();

  // The answers to the questions of earlier imports, in their order.
  Result<Imported> import(std::span<const Tensor> answers = {});

 private:
  explicit ModelReader(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

// A model whose structure depends on no call; an error if it does.
Result<Imported> import_bytes(Bytes bytes, const std::string& path = {});

// Whether bytes may be an ONNX model, by the first of them.
bool looks_like_model(std::string_view bytes);

// Operators that have an importer, "domain.Name" or "Name", sorted.
std::vector<std::string> operator_names();

}  // namespace tilewright::onnx
