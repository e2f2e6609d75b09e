#include "tilewright/vm/cpu/cost.h"

#include <algorithm>
#include <array>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/panels.h"
#include "tilewright/isa/strip_facts.h"

namespace tilewright::vm::cpu {
namespace {

// Nanoseconds, as bench/models/cost_model.cc measured them on a core with AVX-512 at about 4 GHz.
constexpr double kInstructionNs = 20;
constexpr double kTaskNs = 30;
constexpr double kRowNs = 3.5;            // of a strip program: addresses move, the first and the last strip
constexpr double kAccumulatorNs = 6;      // of a row: folded to one value
constexpr double kColumnsNs = 100;        // of accumulators in memory
constexpr double kTileRowNs = 12;         // of a block that an epilogue reads
constexpr double kLaneNs = 6;             // of a function that is called lane by lane
constexpr double kStridedNs = 0.29;       // of an element that is gathered
constexpr double kNormElementNs = 0.145;  // softmax and norms: three passes
constexpr double kMovedElementNs = 0.2;   // gather, copies of blocks, panels
constexpr double kQueryNs = 25, kHeadNs = 200, kKeyElementNs = 0.085;  // attention: softmax of a row, keys transposed
constexpr double kPooledElementNs = 0.14;
constexpr double kNearBytesPerNs = 96;  // of an operand in the second-level cache, read once for few rows

// What other levels take beside AVX-512: a strip of simple operations and of functions, softmax, norms, products at
// their nominal rate.
struct LevelFactors {
  double simple, functions, softmax, norms, products;
};
constexpr LevelFactors kAvx512{1, 1, 1, 1, 1}, kAvx2{0.75, 2, 2.6, 1.2, 0.85}, kPortable{1.2, 14, 27, 6.5, 0.5};
constexpr double kFunctionNs = 8;  // operations that take as much are functions

const LevelFactors& factors_of(const BackendTraits& traits) {
  return traits.vector_floats >= 16 ? kAvx512 : traits.flops_per_us >= 50000 ? kAvx2 : kPortable;
}

// Per strip of 4-byte lanes.
constexpr double strip_ns(isa::StripOp op) {
  using isa::StripOp;
  if (op >= StripOp::kEnd && op < StripOp::kAdd) return op == StripOp::kEnd ? 0.5 : 2.6;
  switch (op) {
    case StripOp::kExp:
    case StripOp::kExp2:
    case StripOp::kTanh:
    case StripOp::kErf:
    case StripOp::kSigmoid:
    case StripOp::kGelu:
    case StripOp::kGeluTanh:
    case StripOp::kSilu:
    case StripOp::kLog:
    case StripOp::kSin:
    case StripOp::kCos:
      return 8;
    case StripOp::kDiv:
    case StripOp::kSqrt:
    case StripOp::kRsqrt:
    case StripOp::kReciprocal:
      return 8;
    case StripOp::kPow:
    case StripOp::kFloorDiv:
    case StripOp::kTruncDiv:
    case StripOp::kMod:
    case StripOp::kRem:
    case StripOp::kExpm1:
    case StripOp::kLog1p:
    case StripOp::kLog2:
    case StripOp::kLog10:
      return 40;
    default:
      break;
  }
  if ((op >= StripOp::kTan && op <= StripOp::kDigamma) || op == StripOp::kAtan2 || op == StripOp::kHypot)
    return kLaneNs * 128;
  return 2;
}

constexpr std::array<float, isa::kNumStripOps> kStripNs = [] {
  std::array<float, isa::kNumStripOps> table{};
  for (std::size_t op = 0; op < table.size(); ++op)
    table[op] = static_cast<float>(strip_ns(static_cast<isa::StripOp>(op)));
  for (std::size_t op = 0; op < table.size(); ++op) {
    const isa::StripFacts& facts = isa::kStripFacts[op];
    if (facts.shape == isa::StripShape::kPair) {
      table[op] = table[static_cast<std::size_t>(facts.first)] + table[static_cast<std::size_t>(facts.second)];
    }
  }
  return table;
}();

struct Sizes {
  double inner, rows;  // rows: all outer positions
};

// One run of a strip program over `rows` rows of `inner` elements.
double predict_strips(const isa::PhaseHead& phase, Sizes sizes, const BackendTraits& traits) {
  const isa::Word* code = phase.code();
  const bool wide = isa::lane_bytes(isa::decode_strip(*code).lane) == 8;
  const double lanes = static_cast<double>(traits.strip_elements) / (wide ? 2 : 1);
  const LevelFactors& factors = factors_of(traits);
  double strip = 0, element = 0;
  for (const isa::Word* end = code + phase.words(); code < end; ++code) {
    const isa::StripCode word = isa::decode_strip(*code);
    const auto ns = static_cast<double>(kStripNs[static_cast<std::size_t>(word.op)]);
    strip += ns * (ns >= kFunctionNs ? factors.functions : factors.simple);
    const isa::StripShape shape = isa::kStripFacts[static_cast<std::size_t>(word.op)].shape;
    const bool in_memory = shape == isa::StripShape::kLoad || shape == isa::StripShape::kStore;
    if (in_memory && word.form == isa::kStrided) element += kStridedNs;
    if (wide && ns >= kFunctionNs) element += kLaneNs;  // libm
  }
  const double strips = static_cast<double>(static_cast<std::int64_t>((sizes.inner + lanes - 1) / lanes));
  return sizes.rows * (kRowNs + strips * strip + sizes.inner * element);
}

// The phases of rows, columns, maps and epilogues.
double predict_phases(const isa::Layout& at, Sizes sizes, const BackendTraits& traits) {
  const isa::Opcode opcode = isa::Inst(at.words).opcode();
  const bool folds = opcode == isa::Opcode::kRows;
  double time = 0;
  for (const isa::Word* word = at.phases(); word < at.end();) {
    const auto& phase = *reinterpret_cast<const isa::PhaseHead*>(word);
    if (phase.op() == isa::PhaseOp::kStrip) {
      time += predict_strips(phase, sizes, traits) + sizes.rows * kAccumulatorNs * (folds ? phase.b() : 0);
    } else if (phase.op() == isa::PhaseOp::kScalar) {
      time += predict_strips(phase, {sizes.rows, 1}, traits);
    } else {
      const bool softmax = phase.op() == isa::PhaseOp::kSoftmax || phase.op() == isa::PhaseOp::kLogSoftmax ||
                           phase.op() == isa::PhaseOp::kScaledSoftmax;
      const double factor = softmax ? factors_of(traits).softmax : factors_of(traits).norms;
      time += sizes.rows * (kRowNs + factor * kNormElementNs * sizes.inner);
    }
    word = phase.code() + phase.words();
    if (opcode != isa::Opcode::kColumns || word >= at.end()) continue;
    time += kColumnsNs;
    for (int d = at.rank - static_cast<int>(at.field(0)); d < at.rank; ++d)  // the second phase runs once per kept row
      sizes.rows /= static_cast<double>(std::max<std::int64_t>(at.dims()[d], 1));
  }
  return time;
}

// The time that the elements of its buffers take from beyond the second-level cache, if they do not fit it.
double predict_far_memory(const isa::Layout& at, double elements, const BackendTraits& traits) {
  double bytes = 0;
  for (int i = 0; i < at.streams; ++i) {
    const isa::StreamHead& head = at.stream(i);
    if (head.space() == isa::Space::kBuffer && head.inner_stride != 0) {
      bytes += elements * static_cast<double>(byte_size(head.dtype()));
    }
  }
  return bytes > static_cast<double>(traits.l2_bytes) ? 1000 * bytes / static_cast<double>(traits.bytes_per_us) : 0;
}

double round_up(double value, std::int64_t step) {
  const auto unit = static_cast<double>(step);
  return static_cast<double>(static_cast<std::int64_t>((value + unit - 1) / unit)) * unit;
}

// A product of a[batch, m, k] and b[batch, k, n]: arithmetic, or the way of b to the core.
double predict_product(const isa::Inst& inst, Sizes sizes, double m, double k, std::int64_t n_tile, double flops_factor,
                       const BackendTraits& traits) {
  const isa::Layout at = isa::layout_of(inst);
  const double flops_per_ns = static_cast<double>(traits.flops_per_us) / 1000;
  const double n = round_up(sizes.inner, std::max<std::int64_t>(traits.vector_floats, 1));
  const double batch = sizes.rows / std::max(m, 1.0), bytes = 4 * n * k;
  const bool is_near = bytes < static_cast<double>(traits.l2_bytes) / 2;
  const double bytes_per_ns = is_near ? kNearBytesPerNs : static_cast<double>(traits.bytes_per_us) / 1000;
  const double sums = std::max(flops_factor * factors_of(traits).products * 2 * sizes.rows * n * k / flops_per_ns,
                               batch * bytes / bytes_per_ns);
  if (at.phases() == at.end()) return sums + sizes.rows * kRowNs;
  const auto width = static_cast<double>(std::max<std::int64_t>(n_tile, 1));
  const double parts = static_cast<double>(static_cast<std::int64_t>((sizes.inner + width - 1) / width));
  const double rows = sizes.rows * parts;
  return sums + rows * kTileRowNs + predict_phases(at, {std::min(width, sizes.inner), rows}, traits);
}

double predict_windows(const isa::Inst& inst, double elements, const BackendTraits& traits) {
  if (inst.opcode() == isa::Opcode::kPool) {
    const auto& f = inst.fields<isa::PoolFields>();
    return elements * static_cast<double>(f.window1 * f.window2 * f.window3) * kPooledElementNs;
  }
  const auto& f = inst.fields<isa::ConvFields>();
  const double taps = static_cast<double>(f.window1) * static_cast<double>(f.window2) * static_cast<double>(f.window3);
  return elements * kMovedElementNs + 2500 * factors_of(traits).products * elements * taps *
                                          static_cast<double>(f.channels) / static_cast<double>(traits.flops_per_us);
}

double predict_attention(const isa::Inst& inst, Sizes sizes, const BackendTraits& traits) {
  const auto& f = inst.fields<isa::AttentionFields>();
  const isa::Layout at = isa::layout_of(inst);
  const auto keys = static_cast<double>(f.keys), depth = static_cast<double>(f.depth);
  const double heads = static_cast<double>(at.dims()[0]) * static_cast<double>(at.dims()[1]);
  const double flops_per_ns = static_cast<double>(traits.flops_per_us) / 1000;
  return 2 * sizes.rows * keys * (depth + sizes.inner) / flops_per_ns + sizes.rows * kQueryNs +
         heads * (kHeadNs + keys * depth * kKeyElementNs);
}

double predict_ns(const isa::Inst& inst, Sizes sizes, const BackendTraits& traits) {
  const isa::Layout at = isa::layout_of(inst);
  const double elements = sizes.inner * sizes.rows;
  const auto m = static_cast<double>(at.rank == 0 ? 1 : at.dims()[at.rank - 1]);
  switch (inst.opcode()) {
    case isa::Opcode::kMap:
    case isa::Opcode::kRows:
    case isa::Opcode::kColumns:
      return std::max(predict_phases(at, sizes, traits), predict_far_memory(at, elements, traits));
    case isa::Opcode::kMatMul: {
      const auto& f = inst.fields<isa::MatMulFields>();
      return predict_product(inst, sizes, m, static_cast<double>(f.k), f.n_tile, 1, traits);
    }
    case isa::Opcode::kDot: {  // narrow elements come in words: as many bytes and multiplications as a sum over words
      const auto& f = inst.fields<isa::DotFields>();
      const std::int64_t words = f.k / isa::group_of(inst.stream<isa::DotFields>(0).dtype());
      return predict_product(inst, sizes, m, static_cast<double>(words), f.n_tile, 1, traits);
    }
    case isa::Opcode::kBlockDot: {
      const auto& f = inst.fields<isa::BlockDotFields>();
      return predict_product(inst, sizes, m, static_cast<double>(f.k), f.n_tile, 1.5, traits);
    }
    case isa::Opcode::kAttention:
      return predict_attention(inst, sizes, traits);
    case isa::Opcode::kConv:
    case isa::Opcode::kPool:
      return predict_windows(inst, elements, traits);
    case isa::Opcode::kSort:
    case isa::Opcode::kRandom:
      return elements * 10;
    case isa::Opcode::kScan:
    case isa::Opcode::kArgReduce:
      return elements;
    default:
      return elements * kMovedElementNs;
  }
}

}  // namespace

double predict_microseconds(const isa::Inst& inst, const BackendTraits& traits) {
  const isa::Layout at = isa::layout_of(inst);
  Sizes sizes{static_cast<double>(inst.inner()), 1};
  for (int d = 0; d < at.rank; ++d) sizes.rows *= static_cast<double>(at.dims()[d]);
  const double ns = kInstructionNs + kTaskNs * static_cast<double>(inst.tasks()) + predict_ns(inst, sizes, traits);
  return std::min(ns / 1000, 1e15);
}

}  // namespace tilewright::vm::cpu
