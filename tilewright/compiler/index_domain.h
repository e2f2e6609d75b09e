// The loop nest that gather, gather_elements, index, index_put and scatter_elements share: the positions of an index,
// where some axes of x are reached by an index and the others by strides. The gather and scatter instructions differ in
// what is read and what is written.
#pragma once

#include "tilewright/compiler/kernel.h"
#include "tilewright/compiler/loop_nest.h"

namespace tilewright::compiler {

struct IndexDomain {
  // An index tensor and the axis of x that it stands for.
  struct Pair {
    const View* index;
    int axis;
  };
  LoopNest nest;  // view 0: x by its kept axes; view 1: the dense side (result or updates); then the indices
  std::array<Pair, isa::kMaxStreams / 2> pairs;
  int num_pairs = 0;
  std::uint32_t indexed = 0;  // bit per axis of the domain: positions of the index, which may meet in x
};

// gather (one axis), index and index_put (several). `dense` is what indexing reads: the result, or the broadcast
// updates.
IndexDomain indexed_domain(const View& x, const View& dense, std::span<const View> indices,
                           std::span<const std::int64_t> axes);
// gather_elements and scatter_elements: the index has the rank of x and replaces `axis` only.
Result<IndexDomain> elements_domain(const View& x, const View& dense, const View& index, int axis);
// The streams of a gather or scatter instruction: x, the dense side, the pairs.
void write_index_streams(const IndexDomain& domain, const View& x, const View& dense, Emitter& out);
// `dense` with the sizes of what indexing x reads, which it broadcasts to.
View broadcast_to_indexed(const View& dense, const View& x, std::span<const View> indices,
                          std::span<const std::int64_t> axes);

}  // namespace tilewright::compiler
