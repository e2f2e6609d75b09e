// For tests and benchmarks of contractions: encodes single instructions and holds matrices of any dtype with any
// strides.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "tilewright/isa/tasks.h"
#include "tilewright/tensor/half.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::vm::testing {

struct Stream {
  isa::Space space = isa::Space::kBuffer;
  DType dtype = DType::kF32;
  std::uint32_t buffer = 0;
  std::int64_t offset = 0;
  std::int64_t inner_stride = 4;
  std::vector<std::int64_t> strides;
};

template <typename Fields>
std::vector<isa::Word> encode(const Fields& fields, const std::vector<std::int64_t>& dims, std::int64_t inner,
                              const std::vector<Stream>& streams, const std::vector<isa::Word>& strip = {}) {
  std::vector<isa::Word> words(3);
  const auto add = [&words](std::int64_t value) { words.push_back(static_cast<isa::Word>(value)); };
  for (std::size_t i = 0; i < sizeof(Fields) / sizeof(isa::Word); ++i) {
    isa::Word word;
    std::memcpy(&word, reinterpret_cast<const char*>(&fields) + i * sizeof word, sizeof word);
    words.push_back(word);
  }
  for (const std::int64_t dim : dims) add(dim);
  for (const Stream& stream : streams) {
    words.push_back(isa::StreamHead::pack(stream.space, stream.dtype, stream.buffer));
    add(stream.offset);
    add(stream.inner_stride);
    for (const std::int64_t stride : stream.strides) add(stride);
  }
  if (!strip.empty()) {
    words.push_back(static_cast<isa::Word>(strip.size()) << 16);
    words.push_back(0);
    words.insert(words.end(), strip.begin(), strip.end());
  }
  words[0] = isa::inst_head(Fields::kOpcode, static_cast<std::uint32_t>(words.size()), static_cast<int>(dims.size()),
                            static_cast<int>(streams.size()));
  words[2] = static_cast<isa::Word>(inner);
  std::int64_t tasks = 0;
  isa::count_tasks(isa::tiling_of(isa::Inst(words.data()), fields), tasks);
  words[1] = static_cast<isa::Word>(tasks);
  return words;
}

// Elements of a dtype in memory. Canary bytes around them show writes beyond the ends.
class Memory {
 public:
  Memory(DType dtype, std::int64_t count)
      : dtype_(dtype), bytes_(static_cast<std::size_t>(count * byte_size(dtype)) + 2 * kCanary, kFill) {}

  std::byte* data() { return reinterpret_cast<std::byte*>(bytes_.data()) + kCanary; }
  bool intact() const {
    for (std::size_t i = 0; i < kCanary; ++i) {
      if (bytes_[i] != kFill || bytes_[bytes_.size() - 1 - i] != kFill) return false;
    }
    return true;
  }
  double get(std::int64_t i) {
    return visit(dtype_, [&]<typename T>() { return static_cast<double>(reinterpret_cast<T*>(data())[i]); });
  }
  void set(std::int64_t i, double value) {
    visit(dtype_, [&]<typename T>() {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        reinterpret_cast<T*>(data())[i] = T(static_cast<float>(value));
      } else {
        reinterpret_cast<T*>(data())[i] = static_cast<T>(value);
      }
    });
  }
  // Small values: floats in [-1, 1), integers in [-9, 9] (bool: 0 and 1).
  void fill(std::mt19937& random, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(random() & 0xffff) / 32768.0 - 1.0;
      const double integer = static_cast<double>(random() % 19) - 9.0;
      set(i, is_float(dtype_) ? unit : kind(dtype_) == 'i' ? integer : static_cast<double>(random() % 2));
    }
  }

 private:
  static constexpr std::size_t kCanary = 64;
  static constexpr unsigned char kFill = 0xa5;
  DType dtype_;
  std::vector<unsigned char> bytes_;
};

}  // namespace tilewright::vm::testing
