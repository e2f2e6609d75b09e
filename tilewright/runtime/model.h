// Model: a session whose weights it holds itself, so that a call brings only data. Weights may be replaced while calls
// run: a call sees the weights that were there when it began, all of them of one moment. Thread-safe. A model whose
// graph writes to a weight (a buffer it keeps) runs one call at a time.
#pragma once

#include <atomic>

#include "tilewright/runtime/call_extras.h"
#include "tilewright/runtime/export_onnx.h"
#include "tilewright/runtime/model_file.h"
#include "tilewright/runtime/random_keys.h"
#include "tilewright/runtime/session.h"

namespace tilewright::runtime {

struct ModelOptions {
  RunnerOptions runner;
  vm::Machine* machine = nullptr;  // null: the machine of the process
  bool check_weights = true;       // see ReadOptions
};

class ModelVariants;

class Model {
 public:
  // Of any form that model_source.h reads.
  static Result<std::unique_ptr<Model>> load(const std::string& path, const ModelOptions& options = {});
  static Result<std::unique_ptr<Model>> load(std::span<const std::byte> bytes, const ModelOptions& options = {});
  static Result<std::unique_ptr<Model>> create(ModelContents contents, const ModelOptions& options = {});

  // Positions in the graph's inputs of those that a call brings, in order.
  const std::vector<std::size_t>& data_inputs() const { return data_inputs_; }
  // What a call gives. One input may be several tensors (onnx::Form).
  const std::vector<onnx::Declared>& inputs() const { return inputs_; }
  // The results as far as they are known before a call: of a model whose structure depends on calls, what it declares.
  const std::vector<onnx::Declared>& outputs() const { return outputs_; }
  // The texts that numbers of string tensors stand for; a table of a call stands on it.
  const std::shared_ptr<const onnx::StringTable>& texts() const { return texts_; }
  // Not empty: the graph gives only what the structure of the model depends on, of which this is the name.
  const std::string& question() const { return question_; }
  const Graph& source() const { return session_->source(); }
  const Session& session() const { return *session_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::vector<std::string> weight_names() const;

  // Tensors in the order of inputs(), scalars in the order of the graph's scalar inputs.
  Status run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
             HostCalls* host = nullptr, CallExtras* extras = nullptr);
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, std::span<const DimValue> scalars = {},
                                  HostCalls* host = nullptr, CallExtras* extras = nullptr);

  // Calls that begin later see all of the new values, and none but these. The content is copied.
  Status set_weights(const std::map<std::string, Tensor>& weights);
  Status set_weight(const std::string& name, const Tensor& value) { return set_weights({{name, value}}); }
  Result<Tensor> weight(const std::string& name) const;
  Status save(const std::string& path) const;  // with the weights of now
  Result<OnnxExportReport> export_onnx(const std::string& path, const OnnxExportOptions& options = {}) const;
  void trim();

 private:
  struct Weights {
    std::vector<Tensor> tensors;    // by graph input; data inputs are empty
    std::vector<TensorArg> inputs;  // the same as arguments, with identity and version
  };
  // What the graphs that one call runs share.
  struct CallState {
    std::span<const onnx::Form> forms;  // of the inputs
    HostCalls* host;
    onnx::StringTable* texts;
    std::uint64_t number;
  };
  struct RandomInput {
    std::size_t input;
    std::uint64_t node;
    std::string seed;
  };
  Model() = default;
  Status bind(std::map<std::string, Tensor> weights);
  std::shared_ptr<const Weights> weights() const;
  std::map<std::string, Tensor> named_weights() const;
  void release_packed(const Weights& weights);
  std::unique_lock<std::mutex> alone_if_stateful() const;
  Result<std::size_t> weight_index(const std::string& name) const;

  friend class ModelVariants;
  Status run_graph(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
                   const CallState& call);
  Status check_forms(std::size_t given, std::span<const onnx::Form> forms) const;
  std::uint64_t identity_of(const std::string& weight);
  void describe(std::vector<onnx::Declared> inputs, std::vector<onnx::Declared> outputs);
  void find_random_inputs();
  bool is_random(std::size_t input) const;

  std::unique_ptr<Session> session_;
  std::shared_ptr<ModelVariants> variants_;  // null: one graph serves all calls
  std::string question_;
  std::ptrdiff_t asked_input_ = -1;
  std::vector<onnx::Declared> inputs_, outputs_;
  std::vector<onnx::Form> forms_;  // of the results; empty: each is one tensor
  std::vector<onnx::TextOperator> text_operators_;
  std::shared_ptr<const onnx::StringTable> texts_;
  std::shared_ptr<RandomKeys> random_;
  std::vector<RandomInput> random_inputs_;
  std::shared_ptr<onnx::ModelReader> reader_;  // see ModelContents
  std::shared_ptr<WeightIdentities> identities_;
  std::vector<std::size_t> data_inputs_;
  std::vector<bool> written_;  // by graph input: the graph assigns to it
  bool keeps_state_ = false;   // a weight is written
  std::vector<std::vector<Dim>> output_strides_;
  std::map<std::string, std::string> metadata_;
  mutable std::mutex weights_mutex_;
  std::shared_ptr<const Weights> weights_;
  std::shared_ptr<void> mapping_;             // of the file that some weights lie in
  std::atomic<bool> released_packed_{false};  // the pages of weights that are used packed
  mutable std::mutex state_mutex_;            // taken by calls if keeps_state_
};

}  // namespace tilewright::runtime
