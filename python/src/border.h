// Border: where calls of torch cross into a compiled graph. It is built once per graph from what the lowering knows
// (which argument feeds which graph input, how each result is laid out) and then turns a list of arguments into the
// list of results: pointers, sizes and strides cross as integers, nothing is copied that need not be. Calls are
// re-entrant; the interpreter lock is released while the graph runs.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <vector>

#include "src/graph_binding.h"
#include "src/weight_inputs.h"
#include "tilewright/runtime/session.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright::python {

namespace nb = nanobind;
using Slot = DimProgram::Slot;

// A layout whose numbers are known when symbols are bound. Strides and offset in elements.
struct Layout {
  std::vector<Slot> sizes, strides;
  Slot offset = 0;
  bool is_absolute = false;  // offset counts from the start of the storage, else from the start of the viewed tensor
};

struct InputRow {  // one graph input
  std::size_t argument;
  DType dtype;
  std::optional<Layout> view;     // set: this view of the argument's storage, else the argument itself
  std::size_t weight = SIZE_MAX;  // index in weights_, if it is one
};

struct ScalarRow {  // an argument that is a Python number
  std::size_t argument;
  Slot slot;
  bool is_float;
};

struct DimRow {  // a symbol that is the size of an axis of an argument
  std::size_t input, axis;
  Slot slot;
};

struct LateRow {  // a symbol known after the run: graph output `output` holds its value
  std::size_t output;
  Slot slot;
};

struct ValueRow {  // a tensor that a call makes: graph output `output` in memory of this layout
  std::size_t output;
  nb::object dtype;
  Layout layout;
  std::vector<Dim> strides;
  bool is_late = false;
};

enum class ResultKind { kValue, kArgument, kViewOfValue, kViewOfArgument, kNumber, kConstant };

struct ResultRow {
  ResultKind kind;
  std::size_t source = 0;  // a value or an argument
  nb::object constant;
  Layout layout;  // of views
  Slot number = 0;
  char type = 'i';  // of a number: i, f or b
};

class Border {
 public:
  Border(const PyGraph& graph, nb::object empty_strided, nb::object as_strided, nb::object from_dlpack)
      : graph_(graph.graph),
        empty_strided_(std::move(empty_strided)),
        as_strided_(std::move(as_strided)),
        from_dlpack_(std::move(from_dlpack)) {}

  void add_input(std::size_t argument, nb::handle dtype, bool is_weight);
  void add_view_input(std::size_t argument, nb::handle dtype, nb::handle sizes, nb::handle strides, nb::handle offset,
                      bool is_absolute);
  void add_scalar(std::size_t argument, Dim symbol);
  void add_late(std::size_t output, Dim symbol);
  // Returns the number of the value, which results name.
  std::size_t add_value(std::size_t output, nb::object dtype, nb::handle sizes, nb::handle strides);
  void add_result(bool is_argument, std::size_t source);
  void add_view(bool of_argument, std::size_t source, nb::handle sizes, nb::handle strides, nb::handle offset);
  void add_number(Dim value, char type);
  void add_constant(nb::object value);
  void set_host_call(nb::object host_call) { host_call_ = std::move(host_call); }
  // Binds what is left (symbols that are sizes of inputs) and compiles the graph, or keeps it for the oracle.
  void finish(bool use_oracle);
  void refresh();
  nb::dict weights() const;  // graph input name -> value, of the parameters of the last call
  std::vector<std::uintptr_t> weight_addresses() const;
  runtime::Session* session() const { return session_.get(); }
  // Kernels, refused merges and passes of the compiled graph; bytes moved for the sizes of the last call.
  nb::dict explain() const;

  nb::list call(nb::list arguments) const;

 private:
  struct Call;
  friend struct Call;
  Layout layout(nb::handle sizes, nb::handle strides, nb::handle offset);
  void mark_late_values();
  void compile();

  std::shared_ptr<Graph> graph_;
  std::unique_ptr<runtime::Session> session_;  // null: the oracle runs the graph
  nb::object empty_strided_, as_strided_, from_dlpack_, host_call_;
  DimProgram program_;
  std::vector<InputRow> inputs_;
  std::vector<ScalarRow> scalars_;
  std::vector<DimRow> dims_;
  std::vector<LateRow> late_;
  std::vector<ValueRow> values_;
  std::vector<ResultRow> results_;
  // Guarded by the interpreter lock:
  mutable std::vector<WeightInput> weights_;
  mutable std::vector<runtime::TensorArg> last_inputs_;  // of the last call; only their sizes count
  mutable std::vector<DimValue> last_scalars_;
};

}  // namespace tilewright::python
