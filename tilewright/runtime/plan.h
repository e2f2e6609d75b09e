// Plan: an optimised graph made ready to be bound again and again. Immutable after build, shared by threads.
// Steps run in order. Encodable steps (areas, kernels, views) between two host steps form a segment: it is bound and
// encoded as one program once the symbols it needs are known. Host steps (branches, loops, late sizes, host calls) run
// between.
#pragma once

#include <memory>

#include "tilewright/compiler/area.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/graph/graph.h"
#include "tilewright/runtime/guards.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright::passes {
struct SpeculativeArea;
}

namespace tilewright::runtime {

using Slot = DimProgram::Slot;
inline constexpr std::uint32_t kNone = UINT32_MAX;

enum class StepKind : std::uint8_t {
  kArea,
  kKernel,
  kView,  // encodable
  kItem,
  kReadCount,
  kHostCall,
  kIf,
  kWhile,
  kScan,
  kCall,
  kAssert,
  kUnique,  // on the host
  kAssign,  // encodable, after everything else
};

struct PlanAttr {
  std::string name;
  AttrKind kind;
  std::vector<std::int64_t> integers;  // kInts, kInt, kBool
  std::vector<Slot> slots;             // kDims, kDim
  double real = 0;
  std::string text;
};

struct Plan;

// Two forms of one computation, both in the list of steps: which runs is chosen when sizes are bound.
struct Speculation {
  std::vector<std::pair<Slot, Slot>> equal;  // one kernel if every pair is
  std::shared_ptr<const Graph> region;       // that kernel
};

inline bool choose(const Speculation& speculation, std::span<const DimValue> dims) {
  for (const auto& [a, b] : speculation.equal) {
    if (dims[a].integer != dims[b].integer) return false;
  }
  return true;
}

struct Step {
  StepKind kind;
  Op op;
  const Graph* fused = nullptr;       // kArea: what is fused
  std::uint32_t speculation = kNone;  // runs only if this one is decided
  bool if_equal = false;              // in favour of one kernel (or not)
  std::vector<ValueId> inputs, outputs;
  std::vector<PlanAttr> attrs;
  std::uint32_t area = kNone;                           // kArea: index in areas
  std::uint32_t pack = kNone;                           // contraction: index in packs of its right operand
  std::uint32_t scale_pack = kNone, zero_pack = kNone;  // of the parameters of a 4-bit weight
  std::vector<std::unique_ptr<Plan>> regions;
  std::vector<std::vector<ValueId>> captures;  // per region: outer values, in the order of its captures
  std::vector<Slot> late;                      // symbols this step binds
  std::int64_t target = 0;                     // kHostCall
  std::size_t carried = 0;                     // kWhile, kScan: the first results
  bool in_place = false;                       // an update that writes where its first input lies
  bool conditional = false;                    // kScan: the first input and body result are conditions
  Slot trips = 0;                              // kScan
  Slot count = 0;                              // kScan, if conditional
  bool beside = false;                         // may run in the launch of the kernel before it (launches.h)
  bool counts = false;                         // kKernel of a late-sized op: the first half, which counts
  std::string name;                            // for messages
  std::vector<ValueId> released;  // storage (computed values, copies of reshapes) whose last reader this step is
};

struct Segment {
  std::size_t begin, end;                      // steps
  std::vector<std::uint32_t> outputs_started;  // outputs whose memory must be known when it is bound
};

// Where a value's bytes come from.
enum class Origin : std::uint8_t { kInput, kConstant, kComputed, kView, kDynamic };

struct PlanValue {
  DType dtype;
  std::vector<Slot> sizes;
  Origin origin = Origin::kComputed;
  ValueId root = 0;                         // the value whose storage this one is (part of)
  std::uint32_t buffer = 0;                 // inputs, constants, dynamic values
  std::uint32_t part_of = kNone, part = 0;  // the concat step whose input `part` it is, and lies in its result
  std::vector<std::int8_t> order;           // storage order of axes if not row-major: outermost first
};

struct PackPlan {
  ValueId value;  // the packed operand [.., k, n], a view of a weight or a constant
  ValueId root;   // the weight input or constant itself
  std::uint32_t buffer;
  compiler::PackForm form = compiler::PackForm::kMatrix;
};

// A `call` that reads weights and constants alone: its results are inputs of the plan like weights (prepared.h).
struct PreparedPlan {
  std::unique_ptr<Plan> plan;
  std::vector<std::size_t> inputs;  // of the graph, in the order of the plan's inputs
  std::size_t first_result;         // in Plan::inputs
};

struct PlanOutput {
  ValueId value;
  std::vector<Slot> strides;  // in elements; empty: row-major
  std::uint32_t buffer;
  bool stacked = false;  // a scan writes its elements here: nothing is copied
  bool kept = false;     // it lies where the donated input was whose next state it is: nothing is copied
};

struct PlanOptions {
  std::int64_t panel = 0;                        // width of packed panels; 0: never pack
  std::vector<std::vector<Dim>> output_strides;  // per output, empty: row-major
  // Graph inputs that nobody reads after the call; result first_next + i is the next state of input first_donated + i.
  std::size_t first_donated = 0, num_donated = 0, first_next = 0;
  std::vector<bool> weight_captures;  // of a region: which captures are weights of the graph around it
  bool stack = true;                  // kernels that do not depend on each other share a launch
  const std::vector<passes::SpeculativeArea>* speculative = nullptr;  // those whose graph is `speculated`
  const Graph* speculated = nullptr;
  const Graph* source = nullptr;  // what the passes were given: its sizes are guarded, not those they left
};

struct Plan {
  std::unique_ptr<Graph> graph;  // optimised
  DimProgram dims;
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<Segment> segments;
  std::vector<compiler::Area> areas;
  std::vector<PackPlan> packs;
  std::vector<PreparedPlan> prepared;
  std::vector<Speculation> speculations;
  std::vector<ValueId> inputs;  // graph inputs, then captures, then what is prepared
  std::size_t num_graph_inputs = 0;
  std::vector<PlanOutput> outputs;
  std::vector<std::pair<std::uint32_t, Tensor>> constants;  // buffer, value
  std::vector<std::uint32_t> written_buffers;               // of inputs and dynamic values, by updates in place
  std::vector<Guard> guards;
  std::vector<Slot> scalar_slots;  // of graph.scalar_inputs(), in order
  std::vector<Slot> symbol_slots;  // every symbol in dims
  std::vector<bool> late_slots;    // per slot: depends on a late symbol
  bool has_late = false;
  bool outer_symbols = false;  // of a region: some symbols are bound by the graph around it
  std::vector<Slot>
      outer_slots;  // of a region: per entry of symbol_slots, the slot of the same symbol in the outer plan
  std::uint32_t num_buffers = 1;  // buffer 0 is the arena
};

// Lowers an optimised graph (after passes::run_pipeline).
Result<std::unique_ptr<Plan>> build_plan(std::unique_ptr<Graph> graph, const PlanOptions& options);

}  // namespace tilewright::runtime
