#include "tilewright/runtime/weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/runtime/stats.h"
#include "tilewright/runtime/views.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;

using Packed = std::shared_ptr<const PackedWeight>;

struct Weight {
  std::vector<std::pair<PackKey, std::weak_ptr<const PackedWeight>>> forms;
  bool is_kept = false;
  std::vector<Packed> kept;  // all of one version
};

class Table {
 public:
  Packed find(const PackKey& key);
  void add(const PackKey& key, const Packed& packed);
  void keep(std::uint64_t identity);
  void drop(std::uint64_t identity);

 private:
  void forget_expired();

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Weight> weights_;  // by identity
  std::size_t prune_at_ = 64;
};

Packed Table::find(const PackKey& key) {
  const std::lock_guard lock(mutex_);
  const auto weight = weights_.find(key.identity);
  if (weight == weights_.end()) return nullptr;
  for (const auto& [known, weak] : weight->second.forms) {
    if (!(known == key)) continue;
    if (Packed held = weak.lock()) return held;
  }
  return nullptr;
}

void Table::add(const PackKey& key, const Packed& packed) {
  std::vector<Packed> outdated;  // freed without the lock
  const std::lock_guard lock(mutex_);
  forget_expired();
  Weight& weight = weights_[key.identity];
  if (weight.is_kept) {
    if (!weight.forms.empty() && weight.forms.back().first.version != key.version) outdated.swap(weight.kept);
    weight.kept.push_back(packed);
  }
  std::erase_if(weight.forms, [](const auto& form) { return form.second.expired(); });
  weight.forms.emplace_back(key, packed);
}

void Table::keep(std::uint64_t identity) {
  const std::lock_guard lock(mutex_);
  weights_[identity].is_kept = true;
}

void Table::drop(std::uint64_t identity) {
  Weight dropped;
  const std::lock_guard lock(mutex_);
  const auto weight = weights_.find(identity);
  if (weight == weights_.end()) return;
  dropped = std::move(weight->second);
  weights_.erase(weight);
}

// Each time the table has doubled: a walk through it costs little per weight.
void Table::forget_expired() {
  if (weights_.size() < prune_at_) return;
  std::erase_if(weights_, [](const auto& item) {
    const Weight& weight = item.second;
    const auto expired = [](const auto& form) { return form.second.expired(); };
    return !weight.is_kept && std::all_of(weight.forms.begin(), weight.forms.end(), expired);
  });
  prune_at_ = std::max<std::size_t>(64, 2 * weights_.size());
}

Table& table() {
  static auto* const instance = new Table;  // never freed: weights may be dropped while the process ends
  return *instance;
}

}  // namespace

PackedWeight::PackedWeight(std::int64_t size) : data(nullptr), bytes(size) {
  // Panels are streamed once per call: 2 MB pages save a tenth of the time.
  const bool huge = size >= kHugePage;
  const std::size_t alignment = huge ? static_cast<std::size_t>(kHugePage) : 64;
  const std::size_t rounded =
      (static_cast<std::size_t>(std::max<std::int64_t>(size, 1)) + alignment - 1) / alignment * alignment;
  data = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (data != nullptr && huge) madvise(data, rounded, MADV_HUGEPAGE);
  stats().packed_bytes += size;
}

PackedWeight::~PackedWeight() {
  std::free(data);
  stats().packed_bytes -= bytes;
}

bool PackKey::operator==(const PackKey& other) const {
  return identity == other.identity && version == other.version && data == other.data && panel == other.panel &&
         form == other.form && view.dtype == other.view.dtype && view.rank == other.view.rank &&
         view.offset == other.view.offset &&
         std::equal(view.sizes.begin(), view.sizes.begin() + view.rank, other.view.sizes.begin()) &&
         std::equal(view.strides.begin(), view.strides.begin() + view.rank, other.view.strides.begin());
}

Result<std::shared_ptr<const PackedWeight>> packed_weight(const PackKey& key, std::byte* base, std::int64_t base_bytes,
                                                          vm::Machine& machine) {
  if (key.identity != 0) {
    if (Packed held = table().find(key)) return held;
  }
  View from = key.view;
  from.buffer = 0;
  const DType wanted = compiler::packable_dtype(from.dtype, key.form);
  const bool in_rows = key.form == compiler::PackForm::kMatrix || compiler::is_row_major(from);
  const bool converts = from.dtype != wanted || !in_rows;
  if (converts) {
    from.dtype = wanted;
    from.buffer = 2;
    from.offset = 0;
    set_contiguous(from);
  }
  const View matrix = compiler::matrix_of(from, key.form);
  const std::int64_t bytes = compiler::packed_bytes(matrix, key.panel);
  auto packed = std::make_shared<PackedWeight>(bytes);
  if (packed->data == nullptr) return fail(ErrorKind::kOutOfMemory, "a packed weight needs {} bytes", bytes);
  View to = compiler::packed_layout(matrix, key.panel);
  to.buffer = 1;
  isa::Program program;
  compiler::Emitter out(program.words);
  std::vector<float> converted;
  if (converts) {
    converted.resize(static_cast<std::size_t>((from.count() * byte_size(wanted) + 3) / 4));
    View source = key.view;
    source.buffer = 0;
    TW_TRY(compiler::emit_copy(source, from, machine.traits(), out));
  }
  TW_TRY(compiler::emit_pack(matrix, to, key.panel, out));
  const auto converted_bytes = static_cast<std::int64_t>(converted.size() * sizeof(float));
  program.buffers = {{isa::BufferKind::kInput, base_bytes},
                     {isa::BufferKind::kPacked, bytes},
                     {isa::BufferKind::kArena, converted_bytes}};
  program.scratch_bytes = out.scratch_bytes();
  TW_TRY(isa::verify_program(program));
  std::byte* const buffers[] = {base, packed->data, reinterpret_cast<std::byte*>(converted.data())};
  TW_TRY(machine.run(program.words, program.scratch_bytes, buffers));
  stats().weights_packed++;
  if (key.identity != 0) table().add(key, packed);
  return Packed(std::move(packed));
}

std::uint64_t new_weight_identity() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void keep_packed(std::uint64_t identity) {
  table().keep(identity);
}

void drop_packed(std::uint64_t identity) {
  table().drop(identity);
}

}  // namespace tilewright::runtime
