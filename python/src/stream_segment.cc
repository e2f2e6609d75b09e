// StreamSegment: reading, writing, recording.
#include "src/stream_segment.h"

#include <algorithm>
#include <bit>

namespace tilewright::python {
namespace {

using Row = std::pair<StreamLayout, int>;

const Row* find(const std::vector<Row>& rows, const StreamLayout& layout) {
  const auto row = std::ranges::find(rows, layout, &Row::first);
  return row == rows.end() ? nullptr : &*row;
}

std::int64_t itemsize(const StreamLayout& layout) {
  return torch_objects().itemsizes[static_cast<std::size_t>(layout.dtype)];
}

bool overlaps_any(const std::vector<Row>& rows, const StreamLayout& layout, bool skip_equal) {
  return std::ranges::any_of(rows, [&](const Row& row) {
    return !(skip_equal && row.first == layout) && overlap(row.first, layout, itemsize(row.first), itemsize(layout));
  });
}

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

}  // namespace

int StreamSegment::read(const StreamTensor& tensor) {
  const auto known = storages_.find(tensor.key);
  if (known == storages_.end()) {
    if (!is_plain_memory(tensor.object) || is_negated(tensor.object)) return kUnreadable;
    return add_input(outside_state(tensor), tensor);
  }
  StorageState& state = known->second;
  if (!state.own && is_negated(tensor.object)) return kUnreadable;
  if (const Row* row = find(state.current, tensor.layout)) return row->second;
  const int value = derived(state, tensor.layout);
  if (value >= 0) return value;
  if (state.own || overlaps_any(state.written, tensor.layout, false)) return kHazard;
  return add_input(state, tensor);
}

StorageState& StreamSegment::outside_state(const StreamTensor& tensor) {
  StorageState& state = storages_[tensor.key];
  state.storage = tensor.storage;
  order_.push_back(tensor.key);
  return state;
}

int StreamSegment::add_input(StorageState& state, const StreamTensor& tensor) {
  const int value = static_cast<int>(values_.size());
  values_.push_back(tensor.layout);
  state.current.emplace_back(tensor.layout, value);
  state.read.emplace_back(tensor.layout, static_cast<int>(inputs_.size()));
  inputs_.push_back({tensor.storage, tensor.layout, value});
  return value;
}

// The value of a view, by the op that made it, from what the viewed tensor holds now; negative: not known.
int StreamSegment::derived(StorageState& state, const StreamLayout& layout) {
  const auto recipe = std::ranges::find(state.recipes, layout, &StreamRecipe::view);
  if (recipe == state.recipes.end()) return kHazard;
  const Row* row = find(state.current, recipe->parent);
  const int parent = row != nullptr ? row->second : derived(state, recipe->parent);
  if (parent < 0) return parent;
  const int refs[] = {parent};
  const int value = add_op(recipe->op, refs, recipe->ints, {}, recipe->results) + static_cast<int>(recipe->index);
  state.current.emplace_back(layout, value);
  return value;
}

int StreamSegment::add_op(const StreamTemplate& op, std::span<const int> refs, std::span<const std::int64_t> ints,
                          std::span<const double> floats, std::span<const StreamLayout> results) {
  const int first = static_cast<int>(values_.size());
  ops_.push_back({op, static_cast<std::uint32_t>(refs_.size()), static_cast<std::uint32_t>(refs.size()),
                  static_cast<std::uint32_t>(ints_.size()), static_cast<std::uint32_t>(ints.size()),
                  static_cast<std::uint32_t>(floats_.size()), static_cast<std::uint32_t>(floats.size()), first,
                  static_cast<int>(results.size())});
  refs_.insert(refs_.end(), refs.begin(), refs.end());
  ints_.insert(ints_.end(), ints.begin(), ints.end());
  floats_.insert(floats_.end(), floats.begin(), floats.end());
  values_.insert(values_.end(), results.begin(), results.end());
  return first;
}

void StreamSegment::add_own(const StreamTensor& tensor, int value) {
  static PyObject* const kWeakRef = PyUnicode_InternFromString("_weak_ref");
  const nb::object weak = nb::steal(PyObject_CallMethodNoArgs(tensor.storage.ptr(), kWeakRef));
  if (!weak.is_valid()) throw nb::python_error();
  StorageState& state = storages_[tensor.key];
  order_.push_back(tensor.key);
  state.own = true;
  state.weak = PyLong_AsLongLong(weak.ptr());
  state.base = tensor.layout;
  state.current.emplace_back(tensor.layout, value);
}

bool StreamSegment::can_write(const StreamTensor& tensor) {
  const auto known = storages_.find(tensor.key);
  if (known == storages_.end()) return true;
  const StorageState& state = known->second;
  if (state.own) return tensor.layout == state.base;
  return !overlaps_any(state.read, tensor.layout, true) && !overlaps_any(state.written, tensor.layout, true);
}

void StreamSegment::write(const StreamTensor& tensor, int value) {
  const auto known = storages_.find(tensor.key);
  StorageState& state = known == storages_.end() ? outside_state(tensor) : known->second;
  if (state.own) {
    state.current.assign(1, {tensor.layout, value});
    return;
  }
  if (find(state.read, tensor.layout) == nullptr) add_input(state, tensor);
  std::erase_if(state.current, [&](const Row& row) {
    return overlap(row.first, tensor.layout, itemsize(row.first), itemsize(tensor.layout));
  });
  state.current.emplace_back(tensor.layout, value);
  const auto row = std::ranges::find(state.written, tensor.layout, &Row::first);
  if (row == state.written.end()) {
    state.written.emplace_back(tensor.layout, value);
  } else {
    row->second = value;
  }
}

void StreamSegment::add_view(std::int64_t storage, StreamRecipe recipe) {
  const auto known = storages_.find(storage);
  if (known == storages_.end()) return;
  StorageState& state = known->second;
  if (state.own && recipe.view == state.base) return;
  // A view of a view that is the tensor itself tells nothing.
  for (const StreamLayout* source = &recipe.parent; source != nullptr;) {
    if (*source == recipe.view) return;
    const auto next = std::ranges::find(state.recipes, *source, &StreamRecipe::view);
    source = next == state.recipes.end() ? nullptr : &next->parent;
  }
  if (std::ranges::find(state.recipes, recipe.view, &StreamRecipe::view) == state.recipes.end()) {
    state.recipes.push_back(std::move(recipe));
  }
}

bool StreamSegment::is_pending(std::int64_t storage) const {
  const auto known = storages_.find(storage);
  return known != storages_.end() && (known->second.own || !known->second.written.empty());
}

void StreamSegment::close() {
  const TorchObjects& torch = torch_objects();
  for (const std::int64_t key : order_) {
    StorageState& state = storages_.at(key);
    if (!state.own) {
      for (const Row& row : state.written) writes_.emplace_back(find(state.read, row.first)->second, row.second);
      continue;
    }
    ++num_own_;
    const nb::object weak = nb::steal(PyLong_FromLongLong(state.weak));
    nb::object storage = nb::steal(PyObject_CallOneArg(torch.new_with_weak_ptr.ptr(), weak.ptr()));
    const nb::object freed = nb::steal(PyObject_CallOneArg(torch.free_weak_ref.ptr(), weak.ptr()));
    state.weak = 0;
    if (!storage.is_valid() || !freed.is_valid()) throw nb::python_error();
    if (!storage.is_none())
      outputs_.push_back({std::move(storage), state.base, find(state.current, state.base)->second});
  }
}

StreamSegment::~StreamSegment() {
  for (auto& [key, state] : storages_) {
    if (state.weak == 0) continue;
    const nb::object weak = nb::steal(PyLong_FromLongLong(state.weak));
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

std::string StreamSegment::key(bool names_sizes, bool names_floats, std::int64_t default_dtype) {
  names_sizes_ = names_sizes;
  key_.clear();
  names_.clear();
  named_floats_.clear();
  key_.insert(key_.end(),
              {names_sizes    ? 2
               : names_floats ? 1
                              : 0,
               default_dtype, static_cast<std::int64_t>(inputs_.size()), static_cast<std::int64_t>(ops_.size())});
  for (const StreamInput& input : inputs_) {
    key_.push_back(input.value);
    append_dims(input.layout);
  }
  for (const Op& op : ops_) {
    key_.push_back(op.op.id);
    key_.insert(key_.end(), refs(op).begin(), refs(op).end());
    for (const std::int64_t number : ints(op)) key_.push_back(named(number));
    for (const double number : floats(op)) {
      if (names_floats && !is_plain_float(number)) {
        named_floats_.push_back(number);
        key_.insert(key_.end(), {1, 0});
      } else {
        key_.insert(key_.end(), {0, std::bit_cast<std::int64_t>(number)});
      }
    }
    for (int i = 0; i < op.num_results; ++i) append_dims(values_[static_cast<std::size_t>(op.first_result + i)]);
  }
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
  for (const auto& [input, value] : writes_) key_.insert(key_.end(), {input, value});
  return {reinterpret_cast<const char*>(key_.data()), key_.size() * sizeof(std::int64_t)};
}

}  // namespace tilewright::python
