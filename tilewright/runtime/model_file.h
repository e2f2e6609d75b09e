// The model file: a graph, the values of its weights, and how its outputs lie. One file, the same for every machine:
// weights are stored as they are, row-major, so that the file can be mapped and its weights used in place. Little
// endian, version 1 (model_file_format.h has the fields). Reading checks everything before it allocates; a damaged file
// is an error of kind Corrupt, a text in it that is no graph one of kind Parse.
#pragma once

#include <map>

#include "tilewright/frontends/onnx/load.h"
#include "tilewright/graph/graph.h"
#include "tilewright/runtime/random_keys.h"

namespace tilewright::runtime {

// Identities of weights by their names, so that models of one source share what is packed (TensorArg::identity).
using WeightIdentities = std::map<std::string, std::uint64_t>;

struct ModelContents {
  std::unique_ptr<Graph> graph;                  // as it was before the passes
  std::map<std::string, Tensor> weights;         // by the name of the graph input that each is the value of
  std::vector<std::vector<Dim>> output_strides;  // per output, in elements; empty: row-major
  std::map<std::string, std::string> metadata;   // free text of whoever saved the model
  std::shared_ptr<void> mapping;                 // of read_model: the owner of the weights that lie in the file
  // A model whose structure depends on a value of a call (model_variants.h): the graph gives that value, the reader
  // what follows from it, and these are the results then.
  std::string question;
  std::ptrdiff_t asked_input = -1;  // of onnx::Imported, as the next four
  std::vector<onnx::Declared> declared_inputs;
  std::vector<onnx::Declared> declared_outputs;
  std::vector<onnx::Form> forms;
  std::vector<onnx::TextOperator> text_operators;
  std::shared_ptr<onnx::ModelReader> reader;       // of an ONNX model that no one graph without calls of the host holds
  std::shared_ptr<WeightIdentities> identities;    // null: new ones
  std::shared_ptr<const onnx::StringTable> texts;  // null: those in the metadata
  std::shared_ptr<RandomKeys> random;              // null: new ones
};

// Gives the memory of a weight that lies in a mapped file back; the next read loads it again.
void release_pages(const Tensor& mapped);

// What is stored beside the graph; see ModelContents.
struct ModelExtras {
  std::vector<std::vector<Dim>> output_strides;
  std::map<std::string, std::string> metadata;
};

// Every weight of the graph must have a value; data inputs may have one, and are no inputs of the model then.
// The file appears whole or not at all.
Status save_model(const Graph& graph, const std::map<std::string, Tensor>& weights, const ModelExtras& extras,
                  const std::string& path);
Result<std::vector<std::byte>> encode_model(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                            const ModelExtras& extras);

struct ReadOptions {
  bool check_weights = true;  // compare the checksum of each weight, which reads all of the file
};

// The weights are views of the mapped file.
Result<ModelContents> read_model(const std::string& path, const ReadOptions& options = {});
// `owner` keeps the bytes alive as long as a weight is in use; null: the weights are copied.
Result<ModelContents> decode_model(std::span<const std::byte> bytes, std::shared_ptr<void> owner = nullptr,
                                   const ReadOptions& options = {});
// A file holds what any machine can run by itself: no calls of the host, and no areas that only the passes make right.
Status check_storable(const Graph& graph);
// Whether a tensor can be the value of something of this type; a size that is an expression may be any.
bool fits(const Tensor& tensor, const TensorType& type);
std::string describe_type(const Tensor& tensor);       // "f32[3, 64]"
bool is_model_file(std::span<const std::byte> bytes);  // by its first bytes

}  // namespace tilewright::runtime
