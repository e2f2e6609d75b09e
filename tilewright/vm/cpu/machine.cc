// Runs the launches of a program in order, as one sequence of the pool: a launch that is worth several threads is a
// phase, shorter ones run on the thread that ended the phase before them. HOT: per instruction no allocation, no lock,
// one indirect call per task.
#include "tilewright/vm/cpu/machine.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tilewright/vm/cpu/cost.h"
#include "tilewright/vm/cpu/launch.h"
#include "tilewright/vm/cpu/machine_levels.h"
#include "tilewright/vm/cpu/machine_scratch.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm {
namespace cpu {
namespace {

constexpr double kSplitMicros = 10;  // waking a worker costs more than shorter work takes
constexpr double kAwakeSplitMicros =
    6;                          // a worker that spins begins within half a microsecond, and fetches what others wrote
constexpr int kLookAhead = 24;  // instructions

// Keeps the first fault that a task reports, and of which instruction it was.
struct FaultSink {
  std::atomic<bool> met{false};
  std::mutex mutex;
  Fault first{};
  isa::Inst inst{nullptr};
};

struct InstructionSink {
  FaultSink* sink;
  isa::Inst inst;

  static void report(void* context, const Fault& fault) {
    const auto& self = *static_cast<InstructionSink*>(context);
    const std::lock_guard lock(self.sink->mutex);
    if (self.sink->met.load(std::memory_order_relaxed)) return;
    self.sink->first = fault;
    self.sink->inst = self.inst;
    self.sink->met.store(true, std::memory_order_release);
  }
};

// A program that runs: the launches one after the other, the next one when all tasks of the one before are done.
class Sequence {
 public:
  Sequence(const LevelTable& level, const BackendTraits& traits, std::span<const isa::Word> words,
           std::byte* const* buffers)
      : level_(level),
        traits_(traits),
        threads_(num_threads()),
        at_(words.data()),
        end_(words.data() + words.size()),
        buffers_(buffers) {}

  // Runs launches up to the next one that is worth several threads. False: none is left, or one failed.
  bool next(std::int64_t& tasks) {
    while (at_ < end_ && !sink_.met.load(std::memory_order_acquire)) {
      if (!read_launch()) return false;
      if (is_worth_threads() && launch_.split(threads_)) {
        tasks = launch_.chunks();
        return true;
      }
      const WorkerMemory memory = memory_of_worker();
      launch_.visit_all([&](const isa::Inst& inst, TaskHandler handler, std::int64_t first, std::int64_t last) {
        run_tasks(memory, inst, handler, first, last);
      });
    }
    return false;
  }

  void run_chunks(std::int64_t first, std::int64_t last) {
    const WorkerMemory memory = memory_of_worker();
    launch_.visit_chunks(first, last,
                         [&](const isa::Inst& inst, TaskHandler handler, std::int64_t task, std::int64_t stop) {
                           run_tasks(memory, inst, handler, task, stop);
                         });
  }

  Status status() const {
    if (unknown_ >= 0)
      return fail(ErrorKind::kUnsupported, "the {} level has no instruction {}", level_.name, unknown_);
    if (!sink_.met.load(std::memory_order_acquire)) return {};
    const isa::InstInfo* info = isa::find_inst(sink_.inst.opcode());
    return fail(ErrorKind::kIndexOutOfRange, "{}: index {} is out of range for an axis of size {}",
                info == nullptr ? "instruction" : info->text, sink_.first.value, sink_.first.limit);
  }

 private:
  static WorkerMemory memory_of_worker() {
    const WorkerMemory memory = worker_memory();
    TW_CHECK(memory.scratch != nullptr, "the system has memory for a worker");
    return memory;
  }

  // Whether several threads finish the launch sooner than one.
  bool is_worth_threads() {
    if (threads_ == 1 || launch_.tasks() <= 1) return false;
    double micros = launch_.predict(traits_);
    if (micros < kAwakeSplitMicros || micros >= kSplitMicros || workers_are_awake()) return micros >= kAwakeSplitMicros;
    // A worker that is woken now serves the launches that follow, too.
    const isa::Word* at = at_;
    for (int i = 0; i < kLookAhead && at < end_ && micros < kSplitMicros; ++i) {
      const isa::Inst inst(at);
      if (inst.tasks() > 1 || inst.beside()) micros += predict_microseconds(inst, traits_);
      at += inst.num_words();
    }
    return micros >= kSplitMicros;
  }

  bool read_launch() {
    launch_.reset();
    do {
      const isa::Inst inst(at_);
      const auto opcode = static_cast<std::size_t>(inst.opcode());
      const TaskHandler handler = opcode < kNumOpcodes ? level_.handlers[opcode] : nullptr;
      if (handler == nullptr) {
        unknown_ = static_cast<int>(opcode);
        return false;
      }
      launch_.add(inst, handler);
      at_ += inst.num_words();
    } while (at_ < end_ && isa::Inst(at_).beside());
    return true;
  }

  void run_tasks(const WorkerMemory& memory, const isa::Inst& inst, TaskHandler handler, std::int64_t first,
                 std::int64_t last) {
    InstructionSink sink{&sink_, inst};
    const TaskContext context{buffers_, memory.scratch, memory.private_scratch, InstructionSink::report, &sink};
    for (; first < last; ++first) handler(inst, context, first);
  }

  const LevelTable& level_;
  const BackendTraits& traits_;
  const int threads_;
  const isa::Word* at_;
  const isa::Word* const end_;
  std::byte* const* buffers_;
  FaultSink sink_;
  Launch launch_;
  int unknown_ = -1;  // an opcode that the level lacks
};

class CpuMachine final : public Machine {
 public:
  explicit CpuMachine(const LevelTable& level) : level_(level), traits_(traits_of(level)) {}

  const BackendTraits& traits() const override {
    // The pool's size may be changed by the user at any time.
    std::atomic_ref<std::int64_t> threads(traits_.threads);
    if (const int now = num_threads(); threads.load(std::memory_order_relaxed) != now) {
      threads.store(now, std::memory_order_relaxed);
    }
    return traits_;
  }

  Status run(std::span<const isa::Word> words, std::int64_t scratch_bytes,
             std::span<std::byte* const> buffers) override {
    if (scratch_bytes > isa::kMaxScratchBytes) {
      return fail(ErrorKind::kInvalidArgument, "the program wants more scratch than a worker has: {} and {} bytes",
                  scratch_bytes, isa::kMaxScratchBytes);
    }
    Sequence sequence(level_, traits_, words, buffers.data());
    run_phases([](void* self, std::int64_t& tasks) { return static_cast<Sequence*>(self)->next(tasks); },
               [](void* self, std::int64_t first, std::int64_t last) {
                 static_cast<Sequence*>(self)->run_chunks(first, last);
               },
               &sequence);
    return sequence.status();
  }

 private:
  const LevelTable& level_;
  mutable BackendTraits traits_;
};

}  // namespace
}  // namespace cpu

CpuOptions cpu_options_from_environment() {
  const char* isa = std::getenv("TILEWRIGHT_ISA");
  return {isa == nullptr ? "" : isa};
}

Result<std::unique_ptr<Machine>> make_cpu_machine(const CpuOptions& options) {
  const auto levels = cpu::available_levels();
  if (options.isa.empty()) return std::unique_ptr<Machine>(std::make_unique<cpu::CpuMachine>(*levels.back()));
  std::string names;
  for (const cpu::LevelTable* level : levels) {
    if (options.isa == level->name) return std::unique_ptr<Machine>(std::make_unique<cpu::CpuMachine>(*level));
    names += names.empty() ? level->name : fmt::format(", {}", level->name);
  }
  return fail(ErrorKind::kUnsupported, "TILEWRIGHT_ISA: this processor or build has no level '{}', it has {}",
              options.isa, names);
}

std::span<const std::string_view> cpu_levels() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const cpu::LevelTable* level : cpu::available_levels()) {
      if (!level->variant) list.emplace_back(level->name);
    }
    return list;
  }();
  return names;
}

}  // namespace tilewright::vm
