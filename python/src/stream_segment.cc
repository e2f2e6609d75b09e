// StreamSegment: storages of torch, and the key.
#include "src/stream_segment.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tilewright::python {
namespace {

// Memory of the CPU, read as it is: no lazily negated view.
bool is_plain_memory(PyObject* tensor) {
  static PyObject* const kDevice = PyUnicode_InternFromString("device");
  const nb::object device = nb::steal(PyObject_GetAttr(tensor, kDevice));
  return device.is_valid() && PyObject_RichCompareBool(device.ptr(), torch_objects().cpu.ptr(), Py_EQ) == 1;
}

bool is_negated(PyObject* tensor) {
  const nb::object answer = nb::steal(PyObject_CallOneArg(torch_objects().is_neg.ptr(), tensor));
  return answer.ptr() != Py_False;
}

// Asks the Python side once for each kind of movement.
std::int64_t movement(StreamMove move, std::int32_t dtype, std::span<const std::int64_t> numbers) {
  static auto* const known = new std::map<std::vector<std::int64_t>, std::int64_t>;
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(move), dtype};
  key.insert(key.end(), numbers.begin(), numbers.end());
  if (const auto row = known->find(key); row != known->end()) return row->second;
  nb::list items;
  for (const std::int64_t number : numbers) items.append(number);
  const nb::object answer = torch_objects().movement(static_cast<int>(move), dtype, items);
  return known->emplace(std::move(key), nb::cast<std::int64_t>(answer)).first->second;
}

const StreamLibrary& library() {
  static const auto* const own = new StreamLibrary{torch_objects().itemsizes, &movement};
  return *own;
}

}  // namespace

StreamSegment::StreamSegment() : program_(library()) {}

int StreamSegment::read(const StreamTensor& tensor) {
  const bool is_known = program_.is_involved(tensor.key);
  if (!is_known && !is_plain_memory(tensor.object)) return kUnreadable;
  if (!program_.is_own(tensor.key) && is_negated(tensor.object)) return kUnreadable;
  if (!is_known) outside_.emplace(tensor.key, tensor.storage);
  return program_.read(tensor.key, tensor.layout);
}

void StreamSegment::add_own(const StreamTensor& tensor, int value) {
  static PyObject* const kWeakRef = PyUnicode_InternFromString("_weak_ref");
  const nb::object weak = nb::steal(PyObject_CallMethodNoArgs(tensor.storage.ptr(), kWeakRef));
  if (!weak.is_valid()) throw nb::python_error();
  weak_[tensor.key] = PyLong_AsLongLong(weak.ptr());
  program_.add_own(tensor.key, tensor.layout, value);
}

void StreamSegment::write(const StreamTensor& tensor, int value) {
  if (!program_.is_involved(tensor.key)) outside_.emplace(tensor.key, tensor.storage);
  program_.write(tensor.key, tensor.layout, value);
}

void StreamSegment::close() {
  const TorchObjects& torch = torch_objects();
  program_.close();
  for (const std::int64_t key : program_.storages()) {
    if (!program_.is_own(key)) continue;
    ++num_own_;
    const nb::object weak = nb::steal(PyLong_FromLongLong(std::exchange(weak_.at(key), 0)));
    nb::object storage = nb::steal(PyObject_CallOneArg(torch.new_with_weak_ptr.ptr(), weak.ptr()));
    const nb::object freed = nb::steal(PyObject_CallOneArg(torch.free_weak_ref.ptr(), weak.ptr()));
    if (!storage.is_valid() || !freed.is_valid()) throw nb::python_error();
    const auto [layout, value] = program_.content(key);
    if (!storage.is_none()) outputs_.push_back({std::move(storage), layout, value});
  }
}

StreamSegment::~StreamSegment() {
  for (const auto& [key, pointer] : weak_) {
    if (pointer == 0) continue;
    const nb::object weak = nb::steal(PyLong_FromLongLong(pointer));
    const nb::object freed = nb::steal(PyObject_CallOneArg(torch_objects().free_weak_ref.ptr(), weak.ptr()));
    if (!freed.is_valid()) PyErr_Clear();
  }
}

// ---- the key --------------------------------------------------------------------------------------------------------

namespace {

bool is_plain_float(double number) {
  constexpr double kPlain[] = {0.0, 1.0, -1.0, 2.0, 0.5, -2.0, -0.5};
  return number != number || number - number != 0 || std::ranges::find(kPlain, number) != std::end(kPlain);
}

}  // namespace

// 0, 1 and what is no size keep their value; any other number is its name, below -2^40.
std::int64_t StreamSegment::named(std::int64_t number) {
  constexpr std::int64_t kFirstName = -(std::int64_t{1} << 40);
  if (!names_sizes_ || number < 2 || number > 0x7fffffff) return number;
  const auto name = std::ranges::find(names_, number);
  const std::int64_t place = name - names_.begin();
  if (name == names_.end()) names_.push_back(number);
  return kFirstName - place;
}

void StreamSegment::append_dims(const StreamLayout& layout) {
  key_.push_back(layout.dtype * 16 + layout.rank);
  for (const std::int64_t size : layout.shape()) key_.push_back(named(size));
}

void StreamSegment::append_op(const StreamProgram::Op& op, bool names_floats) {
  key_.push_back(op.op.id);
  key_.insert(key_.end(), program_.refs(op).begin(), program_.refs(op).end());
  for (const std::int64_t number : program_.ints(op)) key_.push_back(named(number));
  for (const double number : program_.floats(op)) {
    if (names_floats && !is_plain_float(number)) {
      named_floats_.push_back(number);
      key_.insert(key_.end(), {1, 0});
    } else {
      key_.insert(key_.end(), {0, std::bit_cast<std::int64_t>(number)});
    }
  }
  for (int i = 0; i < op.num_results; ++i) {
    append_dims(program_.values()[static_cast<std::size_t>(op.first_result + i)]);
  }
}

std::string StreamSegment::key(bool names_sizes, bool names_floats, std::int64_t default_dtype) {
  names_sizes_ = names_sizes;
  key_.clear();
  names_.clear();
  named_floats_.clear();
  key_.insert(key_.end(), {names_sizes    ? 2
                           : names_floats ? 1
                                          : 0,
                           default_dtype, static_cast<std::int64_t>(program_.inputs().size()),
                           static_cast<std::int64_t>(program_.ops().size())});
  for (const StreamInput& input : program_.inputs()) {
    key_.push_back(input.value);
    append_dims(input.layout);
  }
  for (const StreamProgram::Op& op : program_.ops()) append_op(op, names_floats);
  std::vector<std::int64_t> order;
  for (const StreamOutput& output : outputs_) {
    key_.push_back(output.value);
    if (names_sizes && dense_order(output.layout, order)) {
      key_.insert(key_.end(), order.begin(), order.end());
    } else {
      key_.push_back(-1);
      key_.insert(key_.end(), output.layout.steps().begin(), output.layout.steps().end());
    }
  }
  key_.push_back(-2);
  for (const auto& [input, value] : program_.writes()) key_.insert(key_.end(), {input, value});
  return {reinterpret_cast<const char*>(key_.data()), key_.size() * sizeof(std::int64_t)};
}

}  // namespace tilewright::python
