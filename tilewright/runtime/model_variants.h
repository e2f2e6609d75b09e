// ModelVariants: a model whose structure depends on values of a call (axes that are an input, a size that is 1 or not,
// a condition whose branches differ in rank). It is imported once for every way in which it comes out: an import either
// gives the model or stops with a question, and its graph gives the answer from the inputs of a call; the next import
// knows that answer. A call follows the answers it gives to the model it needs. The least used models are dropped
// beyond kMaxVariants. Thread-safe; calls whose model is there do not wait for an import. Weights are shared, packed
// once.
#pragma once

#include <mutex>
#include <unordered_map>

#include "tilewright/runtime/model.h"

namespace tilewright::runtime {

class ModelVariants {
 public:
  static constexpr std::size_t kMaxVariants = 64;
  static constexpr std::int64_t kMaxAnswerElements = 4096;
  static constexpr int kMaxQuestions = 256;  // of a call

  // `first` is what the import without answers gave: it has a question.
  ModelVariants(std::shared_ptr<onnx::ModelReader> reader, const Model& first, const ModelOptions& options);

  // The model for a call. Scalars are those of Model::run.
  Result<std::shared_ptr<Model>> choose(Model& first, std::span<const TensorArg> inputs,
                                        std::span<const DimValue> scalars, const Model::CallState& call);
  // These weights have other values now: what comes of them is imported again.
  void forget(const std::map<std::string, Tensor>& weights);
  void trim();
  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<Model> model;
    std::uint64_t last_used = 0;
  };
  std::shared_ptr<Model> find(const std::string& key);
  Result<std::shared_ptr<Model>> find_or_import(const std::string& key, std::span<const Tensor> answers);
  void keep(const std::string& key, std::shared_ptr<Model> model);

  static Result<Tensor> answer_of(Model& model, std::span<const TensorArg> inputs, std::span<const DimValue> scalars,
                                  const Model::CallState& call);

  ModelOptions options_;
  std::shared_ptr<void> mapping_;
  std::shared_ptr<WeightIdentities> identities_;  // under import_mutex_
  std::shared_ptr<RandomKeys> random_;
  std::mutex import_mutex_;  // taken before mutex_
  std::shared_ptr<onnx::ModelReader> reader_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;  // by the answers, encoded
  std::uint64_t clock_ = 0;
};

}  // namespace tilewright::runtime
