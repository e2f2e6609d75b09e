// StreamSegment: ops of a stream that have not run yet, and what each storage holds in terms of their values.
//
// Values are numbers. A storage that the segment made ("own") has memory that nothing has written; the memory of one
// from outside counts until the segment writes to it. Invariant: of two layouts of one storage that overlap, never is
// one read from memory and another written. Guarded by the interpreter lock; recording allocates only to grow.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>

#include "src/stream_torch.h"
#include "tilewright/runtime/arguments.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright::python {

// What ops with the same arguments but for values, sizes and floats share; `id` indexes the Python side's list.
struct StreamTemplate {
  std::int64_t id = 0;
  std::uint64_t none_results = 0;  // bit i: result i is None
};

struct StreamRecipe {  // how torch made a view: an op of the viewed tensor
  StreamTemplate op;
  std::vector<std::int64_t> ints;
  std::vector<StreamLayout> results;
  std::size_t index = 0;  // of the view among the results
  StreamLayout view, parent;
};

struct StorageState {
  bool own = false;
  nb::object storage;                                 // of one from outside: kept alive
  std::int64_t weak = 0;                              // weak pointer of an own one
  StreamLayout base;                                  // of an own one: all of its memory
  std::vector<std::pair<StreamLayout, int>> current;  // what eager would see now
  std::vector<std::pair<StreamLayout, int>> read;     // layout -> number of an input
  std::vector<std::pair<StreamLayout, int>> written;  // from outside: layout -> value to store
  std::vector<StreamRecipe> recipes;
};

struct StreamInput {
  nb::object storage;
  StreamLayout layout;
  int value = 0;
};

struct StreamOutput {  // an own storage that something still holds
  nb::object storage;
  StreamLayout layout;
  int value = 0;
};

class StreamSegment {
 public:
  enum : int { kHazard = -1, kUnreadable = -2 };

  struct Op {
    StreamTemplate op;
    std::uint32_t refs, num_refs, ints, num_ints, floats, num_floats;  // ranges of the pools
    int first_result, num_results;
  };

  // The value that the tensor holds now, or kHazard, or kUnreadable.
  int read(const StreamTensor& tensor);
  // Returns the first of its results, which are numbered in a row.
  int add_op(const StreamTemplate& op, std::span<const int> refs, std::span<const std::int64_t> ints,
             std::span<const double> floats, std::span<const StreamLayout> results);
  void add_own(const StreamTensor& tensor, int value);
  bool can_write(const StreamTensor& tensor);
  void write(const StreamTensor& tensor, int value);  // after can_write
  void add_view(std::int64_t storage, StreamRecipe recipe);

  bool is_empty() const { return storages_.empty(); }
  bool is_involved(std::int64_t storage) const { return storages_.contains(storage); }
  bool is_pending(std::int64_t storage) const;
  std::size_t num_ops() const { return ops_.size(); }

  // Ends recording: finds what is live and gives the weak pointers up.
  void close();
  ~StreamSegment();
  // The structure of the segment with sizes by name (or as they are); fills names() and named_floats().
  std::string key(bool names_sizes, bool names_floats, std::int64_t default_dtype);

  const std::vector<StreamLayout>& values() const { return values_; }
  const std::vector<StreamInput>& inputs() const { return inputs_; }
  const std::vector<StreamOutput>& outputs() const { return outputs_; }
  const std::vector<std::pair<int, int>>& writes() const { return writes_; }  // input number, value
  const std::vector<Op>& ops() const { return ops_; }
  std::span<const int> refs(const Op& op) const { return {refs_.data() + op.refs, op.num_refs}; }
  std::span<const std::int64_t> ints(const Op& op) const { return {ints_.data() + op.ints, op.num_ints}; }
  std::span<const double> floats(const Op& op) const { return {floats_.data() + op.floats, op.num_floats}; }
  const std::vector<std::int64_t>& names() const { return names_; }
  const std::vector<double>& named_floats() const { return named_floats_; }
  int num_own() const { return num_own_; }

 private:
  StorageState& outside_state(const StreamTensor& tensor);
  int add_input(StorageState& state, const StreamTensor& tensor);
  int derived(StorageState& state, const StreamLayout& layout);
  std::int64_t named(std::int64_t number);
  void append_dims(const StreamLayout& layout);

  std::vector<StreamLayout> values_;
  std::vector<Op> ops_;
  std::vector<int> refs_;
  std::vector<std::int64_t> ints_;
  std::vector<double> floats_;
  std::vector<StreamInput> inputs_;
  std::unordered_map<std::int64_t, StorageState> storages_;
  std::vector<std::int64_t> order_;  // of storages, as they came
  // After close():
  std::vector<StreamOutput> outputs_;
  std::vector<std::pair<int, int>> writes_;
  int num_own_ = 0;
  bool names_sizes_ = true;
  std::vector<std::int64_t> key_, names_;
  std::vector<double> named_floats_;
};

}  // namespace tilewright::python
