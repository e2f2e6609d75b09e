// Stream: the recorder of one thread. It sees every call of torch that the thread's dispatch mode sees, and records
// those whose like it has met before; everything else goes to the Python side (`slow`), which may teach it (`learn`).
//
// A signature is all that decides what a call does to metadata: the op, dtypes, sizes, strides, numbers, options. Calls
// of a known signature cost a lookup and the making of their results. Guarded by the interpreter lock.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "src/stream_segment.h"

namespace tilewright::python {

enum class StreamKind : std::uint8_t { kTorch, kView, kRecord };

struct StreamOp {  // what the Python side said of an overload
  std::int64_t number = 0;
  StreamKind kind = StreamKind::kTorch;
  bool names_floats = false;          // the value of a float does not decide metadata
  std::vector<int> written;           // positions of arguments that it writes
  std::vector<nb::object> out_names;  // keywords of arguments that it only writes
};

struct StreamSignature {
  StreamTemplate op;
  std::vector<std::int64_t> ints;
  std::vector<StreamLayout> results;
  std::vector<nb::object> sizes, strides;  // of the results, as tuples
  bool single = true, as_list = false;
};

struct StreamCall {  // one call as it is read
  std::vector<std::int64_t> words;
  std::vector<StreamTensor> tensors;
  std::vector<bool> is_out;  // per tensor: not read
  std::vector<double> floats;
  std::vector<std::size_t> targets;  // tensors that are written
};

void set_stream_op(nb::handle func, StreamOp op);

class Stream {
 public:
  Stream(nb::object slow, std::size_t max_ops);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  nb::object dispatch(nb::handle func, nb::handle types, nb::tuple args, nb::handle kwargs);
  // Teaches what calls like this one do.
  void learn(nb::handle func, nb::tuple args, nb::handle kwargs, StreamSignature signature);
  std::shared_ptr<StreamSegment> take();
  std::shared_ptr<StreamSegment> segment() const { return segment_; }
  // Set while a segment runs: what it writes is not in memory yet, so calls take the slow way, which waits.
  bool is_busy() const { return is_busy_; }
  void set_busy(bool busy) { is_busy_ = busy; }
  std::int64_t num_recorded() const { return num_recorded_; }
  void count_recorded() { ++num_recorded_; }

 private:
  // Invalid: not a known signature.
  nb::object record(const StreamOp& op, nb::handle func, nb::tuple args, nb::handle kwargs);
  bool is_of_numbers() const;
  std::unique_lock<std::recursive_mutex> lock();
  nb::object fast(nb::handle func, nb::tuple args, nb::handle kwargs);  // invalid: it takes the slow way
  nb::object write(const StreamSignature& signature);
  nb::object view(const StreamOp& op, nb::handle func, nb::tuple args, nb::handle kwargs);
  bool read_refs();
  bool is_shared() const;

  nb::object slow_;
  const std::size_t max_ops_;
  std::recursive_mutex recording_;  // what is recorded stays of one segment although torch lets go of the interpreter
  std::shared_ptr<StreamSegment> segment_ = std::make_shared<StreamSegment>();
  std::int64_t num_recorded_ = 0;
  bool is_busy_ = false;
  StreamCall call_;
  std::vector<int> refs_;
  std::vector<nb::object> made_;
};

}  // namespace tilewright::python
