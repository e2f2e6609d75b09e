// Packed weights: panels made from a weight once per content. One table for the process, shared by all plans. What is
// packed lives as long as a plan holds it, and a plan holds what its last call read. Of a kept weight it lives as long
// as the weight, so a plan that serves many weights in turn (one compiled block for all layers of a model) packs each
// once. Thread-safe.
#pragma once

#include <memory>

#include "tilewright/compiler/kernels.h"
#include "tilewright/runtime/arguments.h"
#include "tilewright/vm/machine.h"

namespace tilewright::runtime {

using compiler::View;

struct PackedWeight {
  explicit PackedWeight(std::int64_t bytes);
  ~PackedWeight();
  std::byte* data;
  std::int64_t bytes;
};

struct PackKey {
  std::uint64_t identity = 0, version = 0;
  const std::byte* data = nullptr;
  std::int64_t panel = 0;
  View view;  // of the operand over the weight
  compiler::PackForm form = compiler::PackForm::kMatrix;
  bool operator==(const PackKey& other) const;
};

// The packed form of `view` over memory `base`, from the table if it is there.
Result<std::shared_ptr<const PackedWeight>> packed_weight(const PackKey& key, std::byte* base, std::int64_t base_bytes,
                                                          vm::Machine& machine);

// An identity that no other weight of the process has (TensorArg::identity).
std::uint64_t new_weight_identity();
// From now on what is packed of the weight stays, one version of it, until it is dropped.
void keep_packed(std::uint64_t identity);
void drop_packed(std::uint64_t identity);

}  // namespace tilewright::runtime
