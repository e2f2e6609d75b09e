// What the compiler made of a graph: passes, kernels and what is fused in them, what runs on the host and why, and how
// many bytes move with and without fusion. For people and tools; not for hot paths.
#pragma once

#include "tilewright/runtime/session.h"

namespace tilewright::runtime {

struct Explanation {
  struct Kernel {
    std::string name;              // of its first result
    std::string kind;              // "map", "rows", "columns", "matmul", or the operator of a kernel of its own
    std::vector<std::string> ops;  // fused operators, in order
    std::vector<std::string> reads, writes;  // name and type of each stream: "x: f32[B, 64]"
    bool packed = false;                     // reads a packed weight
    std::int64_t bytes = -1;                 // read and written; -1: not known
    std::string condition;                   // of a speculation: "if B = C", of its split "unless B = C"; else empty
    bool chosen = true;                      // by the given sizes; without sizes the split is not
  };
  struct HostStep {
    std::string name, kind, reason;
    std::vector<Explanation> regions;  // of control flow
  };

  std::size_t nodes_before = 0, nodes_after = 0;
  std::vector<passes::PassReport> passes;
  std::vector<Kernel> kernels;
  std::size_t speculations = 0;              // kernels of which the plan has a split form too
  std::size_t views = 0;                     // steps that move nothing, as far as strides allow
  std::size_t programs = 0;                  // launches of one call, without regions
  std::vector<HostStep> fallbacks;           // operators that the runtime lacks
  std::vector<HostStep> host_steps;          // control flow, late sizes, checks
  std::vector<std::string> packed_weights;   // "w: f32[64, 64]"
  std::vector<Explanation> prepared;         // what runs once, when a weight has changed
  std::vector<std::string> late_symbols;     // known only while a call runs
  std::vector<passes::FuseRefusal> refused;  // neighbours that stayed two kernels, and why
  // For given sizes: bytes that the operators read and write one by one, and that the kernels do; -1: not known.
  std::int64_t bytes_unfused = -1, bytes_fused = -1;
};

using Sizes = std::vector<std::int64_t>;

// `sizes`: one list per graph input, or none. Scalars in the order of the graph's, as many as are known.
Result<Explanation> explain(const Session& session, std::span<const Sizes> sizes = {},
                            std::span<const DimValue> scalars = {});
std::string to_string(const Explanation& explanation);

}  // namespace tilewright::runtime
