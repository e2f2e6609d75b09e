// What the operator compiler is given: one node (or fused area) with all sizes known, and where its operands lie.
// Everything here is plain data in fixed arrays: encoding a kernel allocates nothing once the emitter's buffer is warm.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tilewright/graph/graph.h"
#include "tilewright/isa/program.h"
#include "tilewright/isa/traits.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright::compiler {

inline constexpr int kMaxTensorRank = isa::kMaxRank;

// A strided tensor in a numbered buffer. Sizes and strides in elements; strides may be 0 or negative.
struct View {
  std::uint32_t buffer = 0;
  DType dtype = DType::kF32;
  std::int8_t rank = 0;
  std::int64_t offset = 0;  // bytes
  std::array<std::int64_t, kMaxTensorRank> sizes{};
  std::array<std::int64_t, kMaxTensorRank> strides{};

  std::int64_t count() const {
    std::int64_t total = 1;
    for (int i = 0; i < rank; ++i) total *= sizes[static_cast<std::size_t>(i)];
    return total;
  }
};

// The attributes of a node with its dims evaluated. Integer lists and single integers read alike whether the attribute
// is a number or a Dim.
class BoundAttrs {
 public:
  virtual ~BoundAttrs() = default;
  virtual std::int64_t integer(std::string_view name) const = 0;  // int, dim, bool
  virtual double real(std::string_view name) const = 0;           // dim or float as f64
  virtual std::span<const std::int64_t> integers(
      std::string_view name) const = 0;  // ints, dims; valid until the next call
  virtual const std::string& text(std::string_view name) const = 0;
};

// Memory for the duration of one kernel, from the arena: allocate returns the byte offset in buffer `arena`.
struct TempMemory {
  std::uint32_t arena = 0;
  std::int64_t (*allocate)(void* state, std::int64_t bytes) = nullptr;
  void* state = nullptr;
};

struct Kernel {
  Op op;
  std::span<const View> inputs;
  std::span<const View> outputs;
  const BoundAttrs* attrs;
  const BackendTraits* traits;
  bool counts = false;  // nonzero: write the i64 count to the one output instead of the positions
  TempMemory temp = {};
};

// Appends encoded instructions to a word buffer that is reused from bind to bind.
class Emitter {
 public:
  explicit Emitter(std::vector<isa::Word>& words) : words_(words) {}

  // begin .. field* (in table order) .. dims .. stream* .. phase* .. end. begin takes the number of outer dims.
  void begin(isa::Opcode opcode, int rank, std::int64_t tasks, std::int64_t inner);
  void field(std::int64_t value) { words_.push_back(static_cast<isa::Word>(value)); }
  void dim(std::int64_t size) { words_.push_back(static_cast<isa::Word>(size)); }
  // Returns the number of the stream. Strides in bytes, one per outer dim.
  std::uint16_t stream(isa::Space space, DType dtype, std::uint32_t buffer, std::int64_t offset,
                       std::int64_t inner_stride, std::span<const std::int64_t> strides);
  void phase(isa::PhaseOp op, std::span<const isa::Word> code, std::array<std::uint16_t, 6> operands = {});
  void end();
  void need_scratch(std::int64_t bytes) { scratch_bytes_ = bytes > scratch_bytes_ ? bytes : scratch_bytes_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  std::vector<isa::Word>& words_;
  std::size_t start_ = 0;
  int streams_ = 0;
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace tilewright::compiler
