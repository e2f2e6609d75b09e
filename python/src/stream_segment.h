// StreamSegment: a StreamProgram whose storages are torch's. Keeps the ones from outside alive, knows which of its own
// are still held by something when recording ends, and makes the key by which a compiled form is found. Guarded by the
// interpreter lock.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>

#include "src/stream_program.h"
#include "src/stream_torch.h"
#include "tilewright/runtime/arguments.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright::python {

struct StreamOutput {  // an own storage that something still holds
  nb::object storage;
  StreamLayout layout;
  int value = 0;
};

class StreamSegment {
 public:
  enum : int { kHazard = StreamProgram::kHazard, kUnreadable = -2 };

  StreamSegment();
  ~StreamSegment();
  StreamSegment(const StreamSegment&) = delete;
  StreamSegment& operator=(const StreamSegment&) = delete;

  // The value that the tensor holds now, or kHazard, or kUnreadable.
  int read(const StreamTensor& tensor);
  int add_op(const StreamTemplate& op, std::span<const int> refs, std::span<const std::int64_t> ints,
             std::span<const double> floats, std::span<const StreamLayout> results) {
    return program_.add_op(op, refs, ints, floats, results);
  }
  void add_own(const StreamTensor& tensor, int value);
  bool can_write(const StreamTensor& tensor) const { return program_.can_write(tensor.key, tensor.layout); }
  void write(const StreamTensor& tensor, int value);  // after can_write
  void add_view(std::int64_t storage, StreamRecipe recipe) { program_.add_view(storage, std::move(recipe)); }

  bool is_empty() const { return program_.is_empty(); }
  bool is_involved(std::int64_t storage) const { return program_.is_involved(storage); }
  bool is_pending(std::int64_t storage) const { return program_.is_pending(storage); }
  std::size_t num_ops() const { return program_.num_ops(); }

  // Ends recording: finds what is live and gives the weak pointers up.
  void close();
  // The structure of the segment with sizes by name (or as they are); fills names() and named_floats().
  std::string key(bool names_sizes, bool names_floats, std::int64_t default_dtype);

  const StreamProgram& program() const { return program_; }
  const nb::object& storage(std::int64_t key) const { return outside_.at(key); }
  const std::vector<StreamOutput>& outputs() const { return outputs_; }
  const std::vector<std::int64_t>& names() const { return names_; }
  const std::vector<double>& named_floats() const { return named_floats_; }
  int num_own() const { return num_own_; }

 private:
  std::int64_t named(std::int64_t number);
  void append_dims(const StreamLayout& layout);
  void append_op(const StreamProgram::Op& op, bool names_floats);

  StreamProgram program_;
  std::unordered_map<std::int64_t, nb::object> outside_;  // keeps the storages alive
  std::unordered_map<std::int64_t, std::int64_t> weak_;   // weak pointers of own ones
  // After close():
  std::vector<StreamOutput> outputs_;
  int num_own_ = 0;
  bool names_sizes_ = true;
  std::vector<std::int64_t> key_, names_;
  std::vector<double> named_floats_;
};

}  // namespace tilewright::python
