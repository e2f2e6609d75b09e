#include "tilewright/runtime/weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/runtime/stats.h"
#include "tilewright/runtime/views.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;

struct Table {
  std::mutex mutex;
  std::vector<std::pair<PackKey, std::weak_ptr<const PackedWeight>>> entries;
};

Table& table() {
  static Table instance;
  return instance;
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
  Table& shared = table();
  if (key.identity != 0) {
    const std::lock_guard lock(shared.mutex);
    for (const auto& [known, weak] : shared.entries) {
      if (!(known == key)) continue;
      if (auto held = weak.lock()) return held;
    }
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
  if (key.identity != 0) {
    const std::lock_guard lock(shared.mutex);
    std::erase_if(shared.entries, [](const auto& entry) { return entry.second.expired(); });
    shared.entries.emplace_back(key, packed);
  }
  return std::shared_ptr<const PackedWeight>(std::move(packed));
}

}  // namespace tilewright::runtime
