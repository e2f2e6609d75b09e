// A launch: the instructions that stand side by side, their tasks grouped into chunks of about equal predicted cost.
// Threads claim chunks, so cores are shared among unlike instructions in proportion to their cost, and a large one is
// split beside small ones; costly chunks come first, so that the last ones to finish are short. HOT: no allocation.
#pragma once

#include <array>
#include <utility>

#include "tilewright/isa/traits.h"
#include "tilewright/vm/cpu/levels.h"

namespace tilewright::vm::cpu {

class Launch {
 public:
  void reset() { count_ = 0; }
  void add(const isa::Inst& inst, TaskHandler handler) {
    parts_[static_cast<std::size_t>(count_++)] = {inst, handler, inst.tasks()};
  }
  std::int64_t tasks() const;

  // What all tasks take on one core.
  double predict(const BackendTraits& traits);
  // Makes the chunks, after predict(). Whether there is more than one.
  bool split(int threads);
  std::int64_t chunks() const { return chunks_; }

  // Calls visit(inst, handler, first, last) for ranges of tasks that together are the chunks [first, last).
  template <typename Visit>
  void visit_chunks(std::int64_t first, std::int64_t last, Visit&& visit) const {
    std::int64_t start = 0;
    for (int i = 0; i < count_ && first < last; ++i) {
      const Part& part = parts_[static_cast<std::size_t>(i)];
      const std::int64_t end = last < part.end ? last : part.end;
      if (first < end) {
        const std::int64_t stop = (end - start) * part.per_chunk;
        visit(part.inst, part.handler, (first - start) * part.per_chunk, stop < part.tasks ? stop : part.tasks);
        first = end;
      }
      start = part.end;
    }
  }
  template <typename Visit>
  void visit_all(Visit&& visit) const {
    for (int i = 0; i < count_; ++i) {
      const Part& part = parts_[static_cast<std::size_t>(i)];
      if (part.tasks > 0) visit(part.inst, part.handler, 0, part.tasks);
    }
  }

 private:
  struct Part {
    isa::Inst inst{nullptr};
    TaskHandler handler = nullptr;
    std::int64_t tasks = 0;
    double micros = 0;
    std::int64_t per_chunk = 0;  // tasks
    std::int64_t end = 0;        // number behind its last chunk
  };
  std::array<Part, isa::kMaxLaunch> parts_;
  int count_ = 0;
  std::int64_t chunks_ = 0;
  double micros_ = 0;
};

}  // namespace tilewright::vm::cpu
