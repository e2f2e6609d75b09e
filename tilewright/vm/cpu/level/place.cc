// Where the streams of an instruction lie for one row, or for one column of rows (isa/program.h has the contract).
#include "tilewright/vm/cpu/level/row_phases.h"

namespace tilewright::vm::cpu::TW_LEVEL {

using isa::Space;
using isa::StreamHead;

namespace {

inline constexpr std::int64_t kFarElements = 96 << 10;                           // operands beyond L2
inline constexpr std::int64_t kStreamingElements = (std::int64_t{6} << 20) / 4;  // from about 6 MB of output
inline constexpr std::int64_t kSpareFloats = 64 << 10;
inline constexpr std::int64_t kLeastStreamed = 64;  // shorter rows are mostly the lines that they share
inline constexpr std::uint64_t kMoves = ~std::uint64_t{0};

// The integer part of an address of a buffer or iota stream at the outer indices and an element of the row. It wraps
// where nothing is read.
inline __attribute__((always_inline)) std::uint64_t at_index(const StreamHead& head, int rank,
                                                             const std::int64_t* index, std::int64_t inner_first) {
  std::uint64_t sum = static_cast<std::uint64_t>(head.offset);
  const std::int64_t* strides = head.strides();
  for (int d = 0; d < rank; ++d) sum += static_cast<std::uint64_t>(index[d]) * static_cast<std::uint64_t>(strides[d]);
  return sum + static_cast<std::uint64_t>(inner_first) * static_cast<std::uint64_t>(head.inner_stride);
}

struct Place {
  char* address;
  std::uint64_t mask;
};

inline __attribute__((always_inline)) Place place(const StreamHead& head, int rank, const TaskContext& context,
                                                  const std::int64_t* index, std::int64_t tile_row,
                                                  std::int64_t inner_first, const TileBlock& tile) {
  char* scratch = reinterpret_cast<char*>(context.scratch);
  switch (head.space()) {
    case Space::kBuffer:
      return {moved(reinterpret_cast<char*>(context.buffers[head.buffer()]),
                    static_cast<std::int64_t>(at_index(head, rank, index, inner_first))),
              kMoves};
    case Space::kScratch: {
      const std::int64_t row_stride = rank > 0 ? head.strides()[rank - 1] : 0;
      return {scratch + head.offset + tile_row * row_stride, kMoves};
    }
    case Space::kSlot:
    case Space::kAccumulator:
      return {scratch + head.offset, 0};
    case Space::kTile:
      return {tile.address + tile_row * tile.row_stride, kMoves};
    case Space::kLiteral:
      return {const_cast<char*>(reinterpret_cast<const char*>(&head.offset)), 0};
    case Space::kIota:
      return {reinterpret_cast<char*>(at_index(head, rank, index, inner_first)), kMoves};
  }
  __builtin_unreachable();
}

inline __attribute__((always_inline)) std::int64_t row_step(const StreamHead& head, int rank, const TileBlock& tile) {
  if (head.space() == Space::kTile) return tile.row_stride;
  const bool moves = head.space() == Space::kBuffer || head.space() == Space::kScratch || head.space() == Space::kIota;
  return moves && rank > 0 ? head.strides()[rank - 1] : 0;
}

}  // namespace

RowStream row_stream(const StreamSet& streams, std::uint16_t stream, const TaskContext& context, const Tile& tile) {
  const StreamHead& head = streams.head(stream);
  return {place(head, streams.rank, context, tile.index, tile.row, tile.inner_first, tile.block).address,
          row_step(head, streams.rank, tile.block)};
}

RowWork row_work(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile,
                 std::uint16_t addend) {
  RowWork work{row_stream(streams, phase.a(), context, tile),
               row_stream(streams, phase.b(), context, tile),
               {nullptr, 0},
               1,
               tile.rows,
               tile.inner_count,
               tile.reach != Reach::kNear && streams.head(phase.a()).space() == Space::kBuffer,
               false,
               reinterpret_cast<float*>(context.private_scratch)};
  if (addend != isa::kNoStream) work.addend = row_stream(streams, addend, context, tile);
  const bool whole_floats =
      ((reinterpret_cast<std::uintptr_t>(work.to.address) | static_cast<std::uintptr_t>(work.to.step)) % 4) == 0;
  work.streaming = tile.reach == Reach::kStreaming && streams.head(phase.b()).space() == Space::kBuffer &&
                   whole_floats && work.n >= kLeastStreamed && work.n <= kSpareFloats;
  return work;
}

Reach reach_of(const isa::Inst& inst, const std::int64_t* dims) {
  std::int64_t elements = inst.inner();
  for (int d = 0; d < inst.rank(); ++d) elements *= dims[d];
  return elements < kFarElements ? Reach::kNear : elements < kStreamingElements ? Reach::kFar : Reach::kStreaming;
}

void stream_fence_of(Reach reach) {
  if (reach == Reach::kStreaming) stream_fence();
}

void row_steps(std::int64_t* steps, const StreamSet& streams, const TileBlock& tile) {
  for (int s = 0; s < streams.count; ++s) steps[s] = row_step(streams.head(s), streams.rank, tile);
}

void place_row(StripRun& run, const StreamSet& streams, const TaskContext& context, const std::int64_t* index,
               std::int64_t tile_row, std::int64_t inner_first, const TileBlock& tile) {
  for (int s = 0; s < streams.count; ++s) {
    const StreamHead& head = streams.head(s);
    const Place at = place(head, streams.rank, context, index, tile_row, inner_first, tile);
    run.address[s] = at.address;
    run.mask[s] = at.mask;
    run.stride[s] = head.space() == Space::kAccumulator ? 0 : head.inner_stride;
  }
}

void place_column(StripRun& run, const StreamSet& streams, const TaskContext& context, const std::int64_t* index,
                  std::int64_t tile_row, const TileBlock& tile) {
  for (int s = 0; s < streams.count; ++s) {
    const StreamHead& head = streams.head(s);
    const Place at = place(head, streams.rank, context, index, tile_row, 0, tile);
    run.address[s] = at.address;
    run.mask[s] = at.mask;
    run.stride[s] = row_step(head, streams.rank, tile);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
