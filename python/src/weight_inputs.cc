// Identity and version of parameters.
#include "src/weight_inputs.h"

#include <atomic>
#include <cstring>
#include <unordered_map>

#include "src/convert.h"
#include "src/errors.h"
#include "src/torch_tensor.h"
#include "tilewright/runtime/weights.h"

namespace tilewright::python {
namespace {

constexpr std::int64_t kSamples = 4;

std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  state = (state ^ value) * 0x9e3779b97f4a7c15u;
  return state ^ (state >> 29);
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

// One number per tensor object, the same in every graph that uses it. An object that died gives its address to others,
// so an entry counts only while its weak reference is alive. What is packed of the tensor dies with it.
struct Known {
  nb::object reference;
  std::uint64_t identity;
};
using Identities = std::unordered_map<PyObject*, Known>;

Identities& identities() {
  static auto* const table = new Identities();
  return *table;
}

std::uint64_t identity_of(nb::handle tensor) {
  const auto found = identities().find(tensor.ptr());
  if (found != identities().end() && PyWeakref_GetObject(found->second.reference.ptr()) == tensor.ptr()) {
    return found->second.identity;
  }
  const std::uint64_t identity = runtime::new_weight_identity();
  const nb::object died = nb::cpp_function([identity, address = tensor.ptr()](nb::handle) {
    runtime::drop_packed(identity);
    const auto entry = identities().find(address);
    if (entry != identities().end() && entry->second.identity == identity) identities().erase(entry);
  });
  runtime::keep_packed(identity);
  identities().insert_or_assign(tensor.ptr(), Known{nb::steal(PyWeakref_NewRef(tensor.ptr(), died.ptr())), identity});
  return identity;
}

// Byte offsets of up to kSamples words spread over `words` words: the first and the last among them.
std::vector<std::int64_t> sample_offsets(std::int64_t words) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(std::min(words, kSamples)));
  const auto count = static_cast<std::int64_t>(offsets.size());
  for (std::int64_t i = 0; i < count; ++i) {
    offsets[static_cast<std::size_t>(i)] = (count == words ? i : i * (words - 1) / (count - 1)) * 8;
  }
  return offsets;
}

}  // namespace

void WeightInput::see(nb::handle tensor, DType dtype) {
  reference_ = nb::steal(PyWeakref_NewRef(tensor.ptr(), nullptr));
  known_ = read_argument(tensor, dtype);
  known_.identity = identity_of(tensor);
  std::int64_t count = 1, expected = 1;
  bool dense = true;
  for (int axis = known_.rank - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    dense = dense && (known_.strides[i] == expected || known_.sizes[i] == 1);
    expected *= known_.sizes[i];
    count *= known_.sizes[i];
  }
  samples_ = sample_offsets(dense ? count * byte_size(dtype) / 8 : 0);
  has_version_ = has_version(tensor);
}

void WeightInput::read(nb::handle tensor, DType dtype, runtime::TensorArg& arg) {
  std::byte* data = data_pointer(tensor);
  const bool same =
      reference_.is_valid() && PyWeakref_GetObject(reference_.ptr()) == tensor.ptr() && data == known_.data;
  if (!same) see(tensor, dtype);
  arg = known_;
  if (!packed_) return;
  std::uint64_t version = mix(epoch_ + 1, has_version_ ? version_of(tensor) : 0);
  // Memory with gaps is not sampled: without a version counter it counts as new each time.
  if (samples_.empty() && !has_version_) version = mix(version, next_number());
  for (const std::int64_t offset : samples_) {
    std::uint64_t word;
    std::memcpy(&word, data + offset, sizeof word);
    version = mix(version, word);
  }
  arg.version = version;
}

void WeightInput::prefetch() const {
  if (!packed_) return;
  for (const std::int64_t offset : samples_) __builtin_prefetch(known_.data + offset);
}

Tensor WeightInput::value(std::string_view name) const {
  PyObject* tensor = reference_.is_valid() ? PyWeakref_GetObject(reference_.ptr()) : Py_None;
  if (tensor == Py_None) {
    throw Failure{
        fail(ErrorKind::kInvalidArgument, "parameter '{}' has no value yet: call the compiled function first", name)};
  }
  const auto rank = static_cast<std::ptrdiff_t>(known_.rank);
  return Tensor(known_.dtype, {known_.sizes.begin(), known_.sizes.begin() + rank},
                {known_.strides.begin(), known_.strides.begin() + rank}, known_.data, hold(nb::borrow(tensor)));
}

void WeightInput::refresh() {
  epoch_ = next_number();
}

}  // namespace tilewright::python
