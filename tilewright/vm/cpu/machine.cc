// Runs the launches of a program in order. The tasks of all instructions of a launch go to the pool together when there
// is work for more than about 10 us, else the caller runs them: waking a worker costs more than it brings.
// HOT: per instruction no allocation, no lock, one indirect call per task.
#include "tilewright/vm/cpu/machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/panels.h"
#include "tilewright/vm/cpu/machine_levels.h"
#include "tilewright/vm/cpu/machine_scratch.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm {
namespace cpu {
namespace {

constexpr std::int64_t kSplitMicroseconds = 10;
constexpr std::int64_t kElementWordsPerMicrosecond = 20000;  // elements x words of strip code, one core

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

// The instructions that stand side by side, their tasks numbered one after the other.
struct Launch {
  struct Part {
    isa::Inst inst{nullptr};
    TaskHandler handler;
    std::int64_t end;  // number behind its last task
  };
  std::array<Part, isa::kMaxLaunch> parts;
  int count = 0;
  std::int64_t tasks = 0, micros = 0;
  std::byte* const* buffers;
  FaultSink* sink;
};

void run_tasks(const Launch& launch, std::int64_t first, std::int64_t last) {
  const WorkerMemory memory = worker_memory();
  TW_CHECK(memory.scratch != nullptr, "the system has memory for a worker");
  std::int64_t start = 0;
  for (int i = 0; i < launch.count && first < last; ++i) {
    const Launch::Part& part = launch.parts[static_cast<std::size_t>(i)];
    const std::int64_t end = std::min(part.end, last);
    InstructionSink sink{launch.sink, part.inst};
    const TaskContext context{launch.buffers, memory.scratch, memory.private_scratch, InstructionSink::report, &sink};
    for (; first < end; ++first) part.handler(part.inst, context, first - start);
    start = part.end;
  }
}

// A guess at the work of an instruction in microseconds of one core.
std::int64_t estimate_microseconds(const isa::Inst& inst, const BackendTraits& traits) {
  const isa::Layout at{inst.words(), isa::num_fields(inst.opcode()), inst.rank(), inst.num_streams()};
  double elements = static_cast<double>(inst.inner());
  for (int d = 0; d < at.rank; ++d) elements *= static_cast<double>(at.dims()[d]);
  const auto flops_per_us = static_cast<double>(traits.flops_per_us);
  double time = elements * static_cast<double>(4 + (at.end() - at.phases())) / kElementWordsPerMicrosecond;
  if (inst.opcode() == isa::Opcode::kMatMul || inst.opcode() == isa::Opcode::kDot) {
    // Narrow elements come in words: as many bytes and multiplications as a sum over words.
    const std::int64_t length =
        inst.opcode() == isa::Opcode::kMatMul
            ? inst.fields<isa::MatMulFields>().k
            : inst.fields<isa::DotFields>().k / isa::group_of(inst.stream<isa::DotFields>(0).dtype());
    const auto k = static_cast<double>(length);
    const auto rows = static_cast<double>(at.rank == 0 ? 1 : at.dims()[at.rank - 1]);
    time += std::max(2 * elements * k / flops_per_us,
                     4 * elements * k / std::max(rows, 1.0) / static_cast<double>(traits.bytes_per_us));
  } else if (inst.opcode() == isa::Opcode::kBlockDot) {
    time += 3 * elements * static_cast<double>(inst.fields<isa::BlockDotFields>().k) / flops_per_us;
  } else if (inst.opcode() == isa::Opcode::kAttention) {
    const auto& f = inst.fields<isa::AttentionFields>();
    const double scores =
        elements / static_cast<double>(inst.inner() + (inst.inner() == 0)) * static_cast<double>(f.keys);
    time += scores * static_cast<double>(16 + 2 * f.depth + 2 * inst.inner()) / flops_per_us;
  } else if (inst.opcode() == isa::Opcode::kConv) {
    const auto& f = inst.fields<isa::ConvFields>();
    const auto taps = static_cast<double>(f.window1) * static_cast<double>(f.window2) * static_cast<double>(f.window3);
    time += 2 * elements * taps * static_cast<double>(f.channels) / flops_per_us;
  } else if (inst.opcode() == isa::Opcode::kPool) {
    const auto& f = inst.fields<isa::PoolFields>();
    time += elements * static_cast<double>(f.window1 * f.window2 * f.window3) / kElementWordsPerMicrosecond * 8;
  } else if (inst.opcode() == isa::Opcode::kSort || inst.opcode() == isa::Opcode::kRandom) {
    time += elements / 100;
  } else if (inst.opcode() == isa::Opcode::kScan || inst.opcode() == isa::Opcode::kArgReduce) {
    time += elements / 1000;
  }
  return time < 1e15 ? static_cast<std::int64_t>(time) : std::int64_t{1} << 50;
}

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
    FaultSink sink;
    Launch launch;
    launch.buffers = buffers.data();
    launch.sink = &sink;
    const isa::Word* const end = words.data() + words.size();
    for (const isa::Word* at = words.data(); at < end;) {
      launch.count = 0;
      launch.tasks = launch.micros = 0;
      do {
        const isa::Inst inst(at);
        TW_TRY(add(launch, inst));
        at += inst.num_words();
      } while (at < end && isa::Inst(at).beside());
      run_launch(launch);
      if (sink.met.load(std::memory_order_acquire)) return describe(sink);
    }
    return {};
  }

 private:
  Status add(Launch& launch, const isa::Inst& inst) const {
    const auto opcode = static_cast<std::size_t>(inst.opcode());
    const TaskHandler handler = opcode < kNumOpcodes ? level_.handlers[opcode] : nullptr;
    if (handler == nullptr)
      return fail(ErrorKind::kUnsupported, "the {} level has no instruction {}", level_.name, opcode);
    launch.tasks += inst.tasks();
    launch.parts[static_cast<std::size_t>(launch.count++)] = {inst, handler, launch.tasks};
    if (launch.micros < kSplitMicroseconds && num_threads() > 1) launch.micros += estimate_microseconds(inst, traits_);
    return {};
  }

  void run_launch(const Launch& launch) const {
    if (launch.tasks <= 1 || num_threads() == 1 || launch.micros < kSplitMicroseconds) {
      if (launch.tasks > 0) run_tasks(launch, 0, launch.tasks);
      return;
    }
    parallel_for(launch.tasks, [&launch](std::int64_t first, std::int64_t last) { run_tasks(launch, first, last); });
  }

  static Error describe(const FaultSink& sink) {
    const isa::InstInfo* info = isa::find_inst(sink.inst.opcode());
    return fail(ErrorKind::kIndexOutOfRange, "{}: index {} is out of range for an axis of size {}",
                info == nullptr ? "instruction" : info->text, sink.first.value, sink.first.limit);
  }

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
