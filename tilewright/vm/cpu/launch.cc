#include "tilewright/vm/cpu/launch.h"

#include <algorithm>

#include "tilewright/vm/cpu/cost.h"

namespace tilewright::vm::cpu {
namespace {

constexpr double kChunkMicros = 0.75;  // a claim costs about a tenth of it
constexpr double kLongestMicros = 50;  // a descheduled worker holds up the others for no more than this, if it can
constexpr int kChunksPerThread = 16;
constexpr std::int64_t kMostChunks = 4096;  // of an instruction: the pool counts 2^17 in all

}  // namespace

std::int64_t Launch::tasks() const {
  std::int64_t all = 0;
  for (int i = 0; i < count_; ++i) all += parts_[static_cast<std::size_t>(i)].tasks;
  return all;
}

double Launch::predict(const BackendTraits& traits) {
  micros_ = 0;
  for (int i = 0; i < count_; ++i) {
    Part& part = parts_[static_cast<std::size_t>(i)];
    micros_ += part.micros = predict_microseconds(part.inst, traits);
  }
  return micros_;
}

bool Launch::split(int threads) {
  const double wanted = std::clamp(micros_ / (kChunksPerThread * threads), kChunkMicros, kLongestMicros);
  std::array<std::pair<double, std::uint8_t>, isa::kMaxLaunch> order;
  for (int i = 0; i < count_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Part& part = parts_[at];
    const auto tasks = static_cast<double>(std::max<std::int64_t>(part.tasks, 1));
    const double task = part.micros / tasks;
    // Not more than a thread's share, however cheap.
    const double most = std::max(tasks / threads, 1.0);
    part.per_chunk = std::max(static_cast<std::int64_t>(std::clamp(wanted / std::max(task, 1e-6), 1.0, most)),
                              (part.tasks + kMostChunks - 1) / kMostChunks);
    order[at] = {-task * static_cast<double>(part.per_chunk), static_cast<std::uint8_t>(i)};
  }
  if (count_ > 1) {
    std::sort(order.begin(), order.begin() + count_);
    const auto before = parts_;
    for (int i = 0; i < count_; ++i)
      parts_[static_cast<std::size_t>(i)] = before[order[static_cast<std::size_t>(i)].second];
  }
  chunks_ = 0;
  for (int i = 0; i < count_; ++i) {
    Part& part = parts_[static_cast<std::size_t>(i)];
    chunks_ += (part.tasks + part.per_chunk - 1) / part.per_chunk;
    part.end = chunks_;
  }
  return chunks_ > 1;
}

}  // namespace tilewright::vm::cpu
