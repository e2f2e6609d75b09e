// The sort instruction. Elements become unsigned keys whose order is theirs (nan largest, both zeros equal), paired
// with their positions. A full sort is a stable radix sort, byte by byte, that leaves out bytes in which all keys
// agree; few elements are inserted; few of many are picked with a heap. HOT: no allocation, no call but conversions.
#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kInsertion = 32;  // up to here insertion beats the histograms
constexpr std::int64_t kHeapShare = 16;  // a heap where at most this part of a row is wanted

template <typename Key>
struct Entry {
  Key key, at;  // a row has fewer elements than Key has values
};
static_assert(2 * isa::kMaxScratchSort * sizeof(Entry<std::uint64_t>) <= kPrivateBytes);

[[gnu::always_inline]] inline std::uint32_t key_of(float value) {
  if (value != value) return 0xffffffffu;
  const auto bits = __builtin_bit_cast(std::uint32_t, value + 0.0f);  // -0 becomes 0
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
[[gnu::always_inline]] inline std::uint64_t key_of(double value) {
  if (value != value) return ~std::uint64_t{0};
  const auto bits = __builtin_bit_cast(std::uint64_t, value + 0.0);
  return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}
[[gnu::always_inline]] inline std::uint64_t key_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << 63;
}

template <typename Key>
[[gnu::always_inline]] inline bool before(const Entry<Key>& a, const Entry<Key>& b) {
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}

// Calls f(key, position) for every element of a line, in order.
template <typename T, typename F>
[[gnu::always_inline]] inline void for_each_key(const Line& x, std::int64_t count, bool descending, F f) {
  T buffer[kChunk];
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t now = isa::least(kChunk, count - first);
    const T* from = read_line<T>(x.from(first), now, buffer);
    for (std::int64_t i = 0; i < now; ++i) {
      const auto key = key_of(from[i]);
      f(descending ? static_cast<decltype(key)>(~key) : key, first + i);
    }
  }
}

template <typename Key>
void insertion_sort(Entry<Key>* entries, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    const Entry<Key> moving = entries[i];
    std::int64_t place = i;
    for (; place > 0 && before(moving, entries[place - 1]); --place) entries[place] = entries[place - 1];
    entries[place] = moving;
  }
}

// Returns where the result is: one of the two arrays.
template <typename Key>
Entry<Key>* radix_sort(Entry<Key>* entries, Entry<Key>* other, std::int64_t count) {
  constexpr int kBytes = sizeof(Key);
  std::int64_t starts[kBytes][256] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int byte = 0; byte < kBytes; ++byte) ++starts[byte][entries[i].key >> (8 * byte) & 0xff];
  }
  for (int byte = 0; byte < kBytes; ++byte) {
    if (starts[byte][entries[0].key >> (8 * byte) & 0xff] == count) continue;
    std::int64_t sum = 0;
    for (std::int64_t& start : starts[byte]) {
      const std::int64_t size = start;
      start = sum;
      sum += size;
    }
    for (std::int64_t i = 0; i < count; ++i) other[starts[byte][entries[i].key >> (8 * byte) & 0xff]++] = entries[i];
    Entry<Key>* const swapped = entries;
    entries = other;
    other = swapped;
  }
  return entries;
}

// heap[0] is the last in order of those that are kept.
template <typename Key>
void sink(Entry<Key>* heap, std::int64_t size, std::int64_t place) {
  const Entry<Key> moving = heap[place];
  for (std::int64_t child; (child = 2 * place + 1) < size; place = child) {
    if (child + 1 < size && before(heap[child], heap[child + 1])) ++child;
    if (!before(moving, heap[child])) break;
    heap[place] = heap[child];
  }
  heap[place] = moving;
}

template <typename T, typename Key>
void pick(const Line& x, std::int64_t count, std::int64_t wanted, bool descending, Entry<Key>* heap) {
  std::int64_t size = 0;
  for_each_key<T>(x, count, descending, [&](Key key, std::int64_t at) [[gnu::always_inline]] {
    if (size < wanted) {
      heap[size++] = {key, static_cast<Key>(at)};
      if (size == wanted) {
        for (std::int64_t place = wanted / 2; place-- > 0;) sink(heap, wanted, place);
      }
    } else if (key < heap[0].key) {
      heap[0] = {key, static_cast<Key>(at)};
      sink(heap, wanted, 0);
    }
  });
  for (std::int64_t left = wanted; left > 1; --left) {
    const Entry<Key> last = heap[0];
    heap[0] = heap[left - 1];
    sink(heap, left - 1, 0);
    heap[left - 1] = last;
  }
}

template <typename T>
void sort_row(const Line& x, const Line& values, const Line& positions, std::int64_t count, std::int64_t wanted,
              bool descending, char* memory) {
  using Key = decltype(key_of(T{}));
  auto* entries = reinterpret_cast<Entry<Key>*>(memory);
  if (wanted == 0) return;
  if (wanted <= count / kHeapShare) {
    pick<T, Key>(x, count, wanted, descending, entries);
  } else {
    for_each_key<T>(x, count, descending, [&](Key key, std::int64_t at) [[gnu::always_inline]] {
      entries[at] = {key, static_cast<Key>(at)};
    });
    if (count <= kInsertion) {
      insertion_sort(entries, count);
    } else {
      entries = radix_sort(entries, entries + count, count);
    }
  }
  const std::int64_t bytes = byte_size(x.dtype);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto at = static_cast<std::int64_t>(entries[i].at);
    const char* from = x.first + at * x.stride;
    char* to = values.first + i * values.stride;
    switch (bytes) {
      case 1:
        __builtin_memcpy(to, from, 1);
        break;
      case 2:
        __builtin_memcpy(to, from, 2);
        break;
      case 4:
        __builtin_memcpy(to, from, 4);
        break;
      default:
        __builtin_memcpy(to, from, 8);
        break;
    }
    __builtin_memcpy(positions.first + i * positions.stride, &at, 8);
  }
}

}  // namespace

void exec_Sort(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& f = inst.fields<isa::SortFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, f), number);
  const Rows x = rows_of<isa::SortFields>(inst, 0, context, task),
             values = rows_of<isa::SortFields>(inst, 1, context, task);
  const Rows positions = rows_of<isa::SortFields>(inst, 2, context, task);
  const bool has_work = inst.num_streams() > 3;
  Rows work{};
  if (has_work) work = rows_of<isa::SortFields>(inst, 3, context, task);
  with_number(x.line.dtype, [&]<typename T>() [[gnu::always_inline]] {
    for (std::int64_t row = 0; row < task.row_end - task.row_begin; ++row) {
      char* memory = has_work ? work.row(row).first : reinterpret_cast<char*>(context.private_scratch);
      sort_row<T>(x.row(row), values.row(row), positions.row(row), inst.inner(), f.count, f.descending != 0, memory);
    }
  });
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
