// Stream: reading calls, looking their signatures up, recording them. Hot: one lookup per call, no allocation beyond
// the results and what makes vectors grow.
#include "src/stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilewright::python {
namespace {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Signatures = std::unordered_map<std::string, std::shared_ptr<const StreamSignature>, Hash, std::equal_to<>>;
constexpr std::size_t kMaxSignatures = 20'000;

// Tables of the process, never freed; under the interpreter lock.
std::unordered_map<PyObject*, StreamOp>& stream_ops() {
  static auto* const ops = new std::unordered_map<PyObject*, StreamOp>;
  return *ops;
}
Signatures& signatures() {
  static auto* const known = new Signatures;
  return *known;
}
// The recorders of the process.
std::vector<const Stream*>& streams() {
  static auto* const all = new std::vector<const Stream*>;
  return *all;
}

enum Mark : std::int64_t { kTensor = 1, kNone, kTrue, kFalse, kInt, kFloat, kList, kObject, kCpu, kText, kIntAsFloat };

void append_tensor(StreamCall& call, const StreamTensor& tensor) {
  const StreamLayout& layout = tensor.layout;
  call.words.insert(call.words.end(), {kTensor, layout.dtype * 16 + layout.rank});
  call.words.insert(call.words.end(), layout.shape().begin(), layout.shape().end());
  call.words.insert(call.words.end(), layout.steps().begin(), layout.steps().end());
}

bool append_text(StreamCall& call, PyObject* text) {
  Py_ssize_t length = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &length);
  if (bytes == nullptr || length > 16) return false;
  std::int64_t words[2] = {};
  std::memcpy(words, bytes, static_cast<std::size_t>(length));
  call.words.insert(call.words.end(), {kText, words[0], words[1]});
  return true;
}

bool append(StreamCall& call, const StreamOp& op, PyObject* item, bool is_out);

bool append_list(StreamCall& call, const StreamOp& op, PyObject* list, bool is_out) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  call.words.insert(call.words.end(), {kList, count});
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!append(call, op, PySequence_Fast_GET_ITEM(list, i), is_out)) return false;
  }
  return true;
}

// An int beside float tensors only does not change the dtype.
bool counts_as_float(const StreamCall& call, std::int64_t number) {
  const TorchObjects& torch = torch_objects();
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  return number < kExact && number > -kExact && !call.tensors.empty() &&
         std::ranges::all_of(call.tensors, [&](const StreamTensor& tensor) {
           return torch.is_float[static_cast<std::size_t>(tensor.layout.dtype)] != 0;
         });
}

bool append_number(StreamCall& call, const StreamOp& op, PyObject* number) {
  if (PyLong_CheckExact(number)) {
    int overflow = 0;
    const std::int64_t integer = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (op.names_floats && overflow == 0 && counts_as_float(call, integer)) {
      call.floats.push_back(static_cast<double>(integer));
      call.words.push_back(kIntAsFloat);
      return true;
    }
    call.words.insert(call.words.end(), {kInt, integer});
    return overflow == 0;
  }
  const double value = PyFloat_AS_DOUBLE(number);
  if (op.names_floats) call.floats.push_back(value);
  call.words.insert(call.words.end(), {kFloat, op.names_floats ? 0 : std::bit_cast<std::int64_t>(value)});
  return true;
}

// False: not a kind of argument that signatures have.
bool append(StreamCall& call, const StreamOp& op, PyObject* item, bool is_out) {
  const TorchObjects& torch = torch_objects();
  if (is_ordinary_tensor(item)) {
    call.tensors.emplace_back();
    call.is_out.push_back(is_out);
    if (!read_tensor(item, call.tensors.back())) return false;
    append_tensor(call, call.tensors.back());
    return true;
  }
  if (item == Py_None || item == Py_True || item == Py_False) {
    call.words.push_back(item == Py_None ? kNone : item == Py_True ? kTrue : kFalse);
    return true;
  }
  if (PyLong_CheckExact(item) || PyFloat_CheckExact(item)) return append_number(call, op, item);
  if (PyList_CheckExact(item) || PyTuple_CheckExact(item)) return append_list(call, op, item, is_out);
  if (PyUnicode_CheckExact(item)) return append_text(call, item);
  if (reinterpret_cast<PyObject*>(Py_TYPE(item)) == torch.device_type.ptr()) {
    call.words.push_back(kCpu);
    return PyObject_RichCompareBool(item, torch.cpu.ptr(), Py_EQ) == 1;
  }
  const int dtype = torch.dtype_number(item);
  call.words.insert(call.words.end(), {kObject, dtype >= 0 ? dtype : reinterpret_cast<std::int64_t>(item)});
  return dtype >= 0 || torch.is_constant(item);
}

bool append_keywords(StreamCall& call, const StreamOp& op, PyObject* kwargs) {
  PyObject *name = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, &item) != 0;) {
    if (!append_text(call, name)) return false;
    const bool is_out = std::ranges::any_of(
        op.out_names, [&](const nb::object& own) { return PyUnicode_Compare(own.ptr(), name) == 0; });
    if (is_out) call.targets.push_back(call.tensors.size());
    if (!append(call, op, item, is_out)) return false;
  }
  return true;
}

bool read_call(StreamCall& call, const StreamOp& op, nb::tuple args, nb::handle kwargs) {
  call.words.clear();
  call.tensors.clear();
  call.is_out.clear();
  call.floats.clear();
  call.targets.clear();
  PyObject* const dtype = PyObject_CallNoArgs(torch_objects().default_dtype.ptr());
  Py_XDECREF(dtype);
  call.words.insert(call.words.end(), {op.number, torch_objects().dtype_number(dtype)});
  const Py_ssize_t count = PyTuple_GET_SIZE(args.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (std::ranges::find(op.written, static_cast<int>(i)) != op.written.end()) {
      call.targets.push_back(call.tensors.size());
    }
    if (!append(call, op, PyTuple_GET_ITEM(args.ptr(), i), false)) return false;
  }
  if (!kwargs.is_none() && !append_keywords(call, op, kwargs.ptr())) return false;
  return std::ranges::all_of(call.targets, [&](std::size_t target) { return target < call.tensors.size(); });
}

std::string_view key_of(const StreamCall& call) {
  return {reinterpret_cast<const char*>(call.words.data()), call.words.size() * sizeof(std::int64_t)};
}

// A target that overlaps another argument in part: eager reads and writes in an order of its own.
bool overlaps_arguments(const StreamCall& call) {
  const auto itemsize = [](const StreamTensor& tensor) {
    return torch_objects().itemsizes[static_cast<std::size_t>(tensor.layout.dtype)];
  };
  return std::ranges::any_of(call.targets, [&](std::size_t target) {
    const StreamTensor& own = call.tensors[target];
    return std::ranges::any_of(call.tensors, [&](const StreamTensor& other) {
      return other.key == own.key && !(other.layout == own.layout) &&
             overlap(other.layout, own.layout, itemsize(other), itemsize(own));
    });
  });
}

nb::object results_of(const StreamSignature& signature, std::vector<nb::object>& made) {
  if (signature.single) return std::move(made[0]);
  const auto count = static_cast<Py_ssize_t>(made.size());
  PyObject* out = signature.as_list ? PyList_New(count) : PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = made[static_cast<std::size_t>(i)].release().ptr();
    if (signature.as_list) {
      PyList_SET_ITEM(out, i, item);
    } else {
      PyTuple_SET_ITEM(out, i, item);
    }
  }
  return nb::steal(out);
}

}  // namespace

void set_stream_op(nb::handle func, StreamOp op) {
  op.number = static_cast<std::int64_t>(stream_ops().size());
  stream_ops().emplace(func.inc_ref().ptr(), std::move(op));
}

Stream::Stream(nb::object slow, std::size_t max_ops) : slow_(std::move(slow)), max_ops_(max_ops) {
  streams().push_back(this);
}

Stream::~Stream() {
  std::erase(streams(), this);
}

// True if a recorder of another thread has to do with a tensor of the call.
bool Stream::is_shared() const {
  return streams().size() > 1 && std::ranges::any_of(call_.tensors, [&](const StreamTensor& tensor) {
           return std::ranges::any_of(streams(), [&](const Stream* other) {
             return other != this && (other->is_busy_ || other->segment_->is_involved(tensor.key));
           });
         });
}

// Nobody waits for it with the interpreter lock held, so who has it may wait for that.
std::unique_lock<std::recursive_mutex> Stream::lock() {
  std::unique_lock own(recording_, std::try_to_lock);
  if (!own.owns_lock()) {
    nb::gil_scoped_release release;
    own.lock();
  }
  return own;
}

nb::object Stream::fast(nb::handle func, nb::tuple args, nb::handle kwargs) {
  const auto op = stream_ops().find(func.ptr());
  if (op == stream_ops().end() || op->second.kind == StreamKind::kTorch) return {};
  const auto own = lock();
  if (is_busy_) return {};
  nb::object result = op->second.kind == StreamKind::kView ? view(op->second, func, args, kwargs)
                                                           : record(op->second, func, args, kwargs);
  call_.tensors.clear();  // they keep storages alive
  made_.clear();
  return result;
}

nb::object Stream::dispatch(nb::handle func, nb::handle types, nb::tuple args, nb::handle kwargs) {
  if (!is_busy_) {
    nb::object result = fast(func, args, kwargs);
    if (result.is_valid()) return result;
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
  }
  return slow_(func, types, args, kwargs);
}

// Views run at once; how one of what is involved was made is kept for reading it later.
nb::object Stream::view(const StreamOp& op, nb::handle func, nb::tuple args, nb::handle kwargs) {
  const auto call = [&] { return PyObject_Call(func.ptr(), args.ptr(), kwargs.is_none() ? nullptr : kwargs.ptr()); };
  StreamTensor source;
  if (PyTuple_GET_SIZE(args.ptr()) == 0 || !is_ordinary_tensor(PyTuple_GET_ITEM(args.ptr(), 0))) return {};
  if (segment_->is_empty()) return nb::steal(call());
  if (!read_storage(PyTuple_GET_ITEM(args.ptr(), 0), source)) {
    PyErr_Clear();
    return {};
  }
  if (!segment_->is_involved(source.key)) return nb::steal(call());
  if (!read_call(call_, op, args, kwargs)) {
    PyErr_Clear();
    return {};
  }
  const auto known = signatures().find(key_of(call_));
  if (known == signatures().end()) return {};
  const std::shared_ptr<const StreamSignature> signature = known->second;
  source = call_.tensors[0];
  nb::object result = nb::steal(call());
  if (!result.is_valid()) return {};
  for (std::size_t i = 0; i < signature->results.size(); ++i) {
    StreamTensor view;
    const nb::object item = signature->single ? result : nb::object(result[i]);
    if (!read_tensor(item.ptr(), view) || view.key != source.key) continue;
    segment_->add_view(view.key, {signature->op, signature->ints, signature->results, i, view.layout, source.layout});
  }
  return result;
}

bool Stream::read_refs() {
  refs_.clear();
  for (std::size_t i = 0; i < call_.tensors.size(); ++i) {
    if (call_.is_out[i]) continue;
    const int value = segment_->read(call_.tensors[i]);
    if (value < 0) return false;
    refs_.push_back(value);
  }
  return true;
}

// Numbers that lie in memory (the counters of optimisers): torch computes with them at once, so that a host read of one
// later ends nothing.
bool Stream::is_of_numbers() const {
  const auto is_number = [&](const StreamTensor& tensor) {
    return tensor.layout.rank == 0 && !segment_->is_pending(tensor.key);
  };
  return !call_.tensors.empty() && std::ranges::all_of(call_.tensors, is_number) &&
         std::ranges::none_of(call_.targets,
                              [&](std::size_t target) { return segment_->is_involved(call_.tensors[target].key); });
}

nb::object Stream::record(const StreamOp& op, nb::handle func, nb::tuple args, nb::handle kwargs) {
  if (!read_call(call_, op, args, kwargs) || is_shared()) {
    PyErr_Clear();
    return {};
  }
  if (is_of_numbers())
    return nb::steal(PyObject_Call(func.ptr(), args.ptr(), kwargs.is_none() ? nullptr : kwargs.ptr()));
  const auto known = signatures().find(key_of(call_));
  if (known == signatures().end() || segment_->num_ops() + 1 >= max_ops_) return {};
  const std::shared_ptr<const StreamSignature> held = known->second;
  const StreamSignature& signature = *held;
  if (!call_.targets.empty()) return write(signature);
  // Results first: making them may let other threads run, and what is read must be of the segment that is recorded to.
  std::vector<StreamTensor> tensors(signature.results.size());
  made_.clear();
  for (std::size_t i = 0; i < signature.results.size(); ++i) {
    if ((signature.op.none_results >> i & 1) != 0) {
      made_.push_back(nb::none());
      continue;
    }
    made_.push_back(new_stream_tensor(signature.results[i], signature.sizes[i].ptr(), signature.strides[i].ptr()));
    if (!read_storage(made_.back().ptr(), tensors[i])) return {};
    tensors[i].layout = signature.results[i];
  }
  if (!read_refs()) return {};
  const int first = segment_->add_op(signature.op, refs_, signature.ints, call_.floats, signature.results);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].key != 0) segment_->add_own(tensors[i], first + static_cast<int>(i));
  }
  ++num_recorded_;
  return results_of(signature, made_);
}

nb::object Stream::write(const StreamSignature& signature) {
  if (overlaps_arguments(call_) || call_.targets.size() != signature.results.size()) return {};
  const auto can_write = [&](std::size_t target) { return segment_->can_write(call_.tensors[target]); };
  if (!std::ranges::all_of(call_.targets, can_write) || !read_refs()) return {};
  if (!std::ranges::all_of(call_.targets, can_write)) return {};  // the op reads a part of what it writes
  const int first = segment_->add_op(signature.op, refs_, signature.ints, call_.floats, signature.results);
  made_.clear();
  for (std::size_t i = 0; i < call_.targets.size(); ++i) {
    const StreamTensor& target = call_.tensors[call_.targets[i]];
    segment_->write(target, first + static_cast<int>(i));
    made_.push_back(nb::borrow(target.object));
  }
  ++num_recorded_;
  return results_of(signature, made_);
}

void Stream::learn(nb::handle func, nb::tuple args, nb::handle kwargs, StreamSignature signature) {
  const auto op = stream_ops().find(func.ptr());
  const bool is_known = op != stream_ops().end() && read_call(call_, op->second, args, kwargs);
  call_.tensors.clear();
  PyErr_Clear();
  if (!is_known) return;
  if (signatures().size() >= kMaxSignatures) signatures().clear();
  signatures().insert_or_assign(std::string(key_of(call_)),
                                std::make_shared<const StreamSignature>(std::move(signature)));
}

std::shared_ptr<StreamSegment> Stream::take() {
  const auto own = lock();
  return std::exchange(segment_, std::make_shared<StreamSegment>());
}

}  // namespace tilewright::python
