// Parameters as inputs of a compiled graph. What a call needs of one is its address; what packed copies need is a
// number that changes when its content does: torch's version counter (absent on inference tensors), the address, and a
// few words sampled from its memory, because `p.data += 1` and writes through numpy change neither. All methods need
// the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "tilewright/runtime/arguments.h"

namespace tilewright::python {

namespace nb = nanobind;

class WeightInput {
 public:
  // `arg` is filled from the tensor; sizes and strides are read again only if it is another object or moved.
  void read(nb::handle tensor, DType dtype, runtime::TensorArg& arg);
  void prefetch() const;                      // of the words that the next read compares
  void set_packed() { packed_ = true; }       // identity and version are needed
  Tensor value(std::string_view name) const;  // a view of the tensor of the last call, which it keeps alive
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(known_.data); }
  void refresh();  // counts the content as changed

 private:
  void see(nb::handle tensor, DType dtype);

  nb::object reference_;  // a weak reference to the tensor of the last call
  runtime::TensorArg known_;
  std::vector<std::int64_t> samples_;  // byte offsets of the words that are compared, none if its memory has gaps
  std::uint64_t epoch_ = 0;
  bool packed_ = false;
  bool has_version_ = true;
};

}  // namespace tilewright::python
