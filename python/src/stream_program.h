// StreamProgram: ops of a stream that have not run yet, and what each storage holds in terms of their values.
//
// Values are numbers. A storage that the program made ("own") has memory that nothing has written; the memory of one
// from outside counts until the program writes to it. Invariant: of two layouts of one storage that overlap, never is
// one read from memory and another written. A write to a part of what is known makes the whole anew by slice_scatter.
// Knows nothing of Python. Recording allocates only to grow.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "src/stream_part.h"

namespace tilewright::python {

// What ops with the same arguments but for values, sizes and floats share; `id` indexes the Python side's list.
struct StreamTemplate {
  std::int64_t id = 0;
  std::uint64_t none_results = 0;  // bit i: result i is None
};

enum class StreamMove : std::uint8_t { kSlice, kSliceScatter, kView, kPermute };

// What the program asks of its surroundings.
struct StreamLibrary {
  std::span<const std::int64_t> itemsizes;  // by dtype
  // The template of a movement; numbers: axis and step of a slice, the rank of a view, the axes of a permute.
  std::int64_t (*movement)(StreamMove move, std::int32_t dtype, std::span<const std::int64_t> numbers) = nullptr;
};

struct StreamRecipe {  // how torch made a view: an op of the viewed tensor
  StreamTemplate op;
  std::vector<std::int64_t> ints;
  std::vector<StreamLayout> results;
  std::size_t index = 0;  // of the view among the results
  StreamLayout view, parent;
};

struct StreamInput {
  std::int64_t storage = 0;
  StreamLayout layout;
  int value = 0;
};

class StreamProgram {
 public:
  enum : int { kHazard = -1 };

  struct Op {
    StreamTemplate op;
    std::uint32_t refs, num_refs, ints, num_ints, floats, num_floats;  // ranges of the pools
    int first_result, num_results;
  };

  explicit StreamProgram(const StreamLibrary& library) : library_(&library) {}

  // The value that the layout holds now, or kHazard: the program must run first.
  int read(std::int64_t storage, const StreamLayout& layout);
  // Returns the first of its results, which are numbered in a row.
  int add_op(const StreamTemplate& op, std::span<const int> refs, std::span<const std::int64_t> ints,
             std::span<const double> floats, std::span<const StreamLayout> results);
  void add_own(std::int64_t storage, const StreamLayout& layout, int value);
  bool can_write(std::int64_t storage, const StreamLayout& layout) const;
  void write(std::int64_t storage, const StreamLayout& layout, int value);  // after can_write
  void add_view(std::int64_t storage, StreamRecipe recipe);

  bool is_empty() const { return storages_.empty(); }
  bool is_involved(std::int64_t storage) const { return storages_.contains(storage); }
  bool is_own(std::int64_t storage) const;
  bool is_pending(std::int64_t storage) const;
  std::size_t num_ops() const { return ops_.size() + first_ops_.size(); }

  // Ends recording; what follows is valid from then on.
  void close();
  const std::vector<StreamLayout>& values() const { return values_; }
  const std::vector<StreamInput>& inputs() const { return inputs_; }
  const std::vector<std::pair<int, int>>& writes() const { return writes_; }  // input number, value
  // What an own storage holds at the end.
  std::pair<StreamLayout, int> content(std::int64_t storage) const;
  const std::vector<Op>& ops() const { return ops_; }
  std::span<const int> refs(const Op& op) const { return {refs_.data() + op.refs, op.num_refs}; }
  std::span<const std::int64_t> ints(const Op& op) const { return {ints_.data() + op.ints, op.num_ints}; }
  std::span<const double> floats(const Op& op) const { return {floats_.data() + op.floats, op.num_floats}; }
  const std::vector<std::int64_t>& storages() const { return order_; }  // as they came

 private:
  using Row = std::pair<StreamLayout, int>;
  struct State {
    bool own = false;
    int num_scatters = 0;      // of parts into the whole
    StreamLayout base;         // of an own one: all of its memory
    std::vector<Row> current;  // what eager would see now
    std::vector<Row> read;     // layout -> number of an input
    std::vector<Row> written;  // from outside: layout -> value to store
    std::vector<StreamRecipe> recipes;
  };

  State& outside_state(std::int64_t storage);
  int add_input(State& state, std::int64_t storage, const StreamLayout& layout);
  int derived(State& state, const StreamLayout& layout);
  std::int64_t itemsize(const StreamLayout& layout) const;
  bool meet(const StreamLayout& a, const StreamLayout& b) const;
  bool overlaps_any(const std::vector<Row>& rows, const StreamLayout& layout) const;
  // The smallest known layout that holds all known ones which meet `layout`; nothing if there is none.
  std::optional<StreamLayout> cover(const State& state, const StreamLayout& layout) const;
  bool may_scatter(const State& state, const StreamLayout& whole, int count) const;
  void promote(State& state, std::int64_t storage, const StreamLayout& whole);
  void store(State& state, std::int64_t storage, const StreamLayout& layout, int value);
  void scatter_into(State& state, std::int64_t storage, const StreamLayout& whole, const StreamLayout& part, int value);

  // Ops of movements. `result`: the number of their value, -1 for a new one.
  int move(StreamMove kind, std::span<const int> refs, std::span<const std::int64_t> numbers,
           std::span<const std::int64_t> ints, const StreamLayout& layout, int result = -1);
  int view(int value, const StreamLayout& layout, int result = -1);
  int slice(int value, const StreamPart& part, int axis, StreamLayout& layout);
  int take(int whole_value, const StreamLayout& whole, const StreamLayout& part, int result = -1);
  int put(int whole_value, const StreamLayout& whole, const StreamLayout& part, int part_value);

  const StreamLibrary* library_;
  std::vector<StreamLayout> values_;
  std::vector<Op> ops_, first_ops_;  // first_ops_ run before ops_
  std::vector<int> refs_;
  std::vector<std::int64_t> ints_;
  std::vector<double> floats_;
  std::vector<StreamInput> inputs_;  // storage 0: it became a part of another one
  std::unordered_map<std::int64_t, State> storages_;
  std::vector<std::int64_t> order_;
  std::vector<std::pair<int, int>> writes_;
};

}  // namespace tilewright::python
