// Columns: reductions over outer dims. The inner tile is walked in chunks whose accumulators, one per position, stay in
// L1 while all reduced rows run; f32 sums go to double every kFoldRows rows, so that their error does not grow with the
// number of rows. The order of additions depends on the reduced dims alone.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/reduction.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {

inline constexpr std::int64_t kChunk = 1024;  // inner positions, a multiple of every strip
inline constexpr std::int64_t kFoldRows = 64;
inline constexpr std::int64_t kChunkBytes = kChunk * 8;
static_assert(2 * isa::kMaxStreams * kChunkBytes <= kPrivateBytes, "accumulators and their folded sums fit");

struct Column {
  ReduceKind kind;
  DType dtype;
  int stream;
  char* chunk;     // kChunk accumulators
  double* folded;  // of f32 sums
  char* result;    // of the task, in scratch

  bool folds() const { return dtype == DType::kF32 && (kind == ReduceKind::kSum || kind == ReduceKind::kSumSquare); }
};

void reset(const Column& column) {
  visit_accumulator(column.kind, column.dtype, [&]<ReduceKind kind, typename T>() TW_LAMBDA {
    for (std::int64_t i = 0; i < kChunk; i += kLanes<T>) {
      store<T>(column.chunk + i * static_cast<std::int64_t>(sizeof(T)), splat<T>(identity<kind, T>()));
    }
  });
  if (!column.folds()) return;
  for (std::int64_t i = 0; i < kChunk; i += kLanes<double>) store<double>(column.folded + i, f64x{});
}

void fold(const Column& column) {
  if (!column.folds()) return;
  for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
    const f32x sums = load<float>(column.chunk + i * 4);
    double* to = column.folded + i;
    store<double>(to, load<double>(to) + low_f64(sums));
    store<double>(to + kLanes<double>, load<double>(to + kLanes<double>) + high_f64(sums));
    store<float>(column.chunk + i * 4, f32x{});
  }
}

void finish(const Column& column, std::int64_t first, std::int64_t count) {
  const std::int64_t bytes = byte_size(column.dtype);
  if (column.folds()) {
    fold(column);
    for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
      store<float>(column.chunk + i * 4,
                   join_f32(load<double>(column.folded + i), load<double>(column.folded + i + kLanes<double>)));
    }
  }
  __builtin_memcpy(column.result + first * bytes, column.chunk, static_cast<std::size_t>(count * bytes));
}

int find_columns(Column* found, const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context) {
  char* memory = reinterpret_cast<char*>(context.private_scratch);
  const int count = phase.b();
  for (int i = 0; i < count; ++i) {
    const isa::StreamHead& head = streams.head(phase.a() + i);
    found[i] = {static_cast<ReduceKind>(head.inner_stride >> 32),
                head.dtype(),
                phase.a() + i,
                memory + 2 * i * kChunkBytes,
                reinterpret_cast<double*>(memory + (2 * i + 1) * kChunkBytes),
                reinterpret_cast<char*>(context.scratch) + head.offset};
  }
  return count;
}

// The next combination of index[first .. last], row-major; false after the last one.
bool next_index(std::int64_t* index, const std::int64_t* dims, int first, int last) {
  for (int d = last; d >= first; --d) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

struct Reduction {
  const isa::Word* code;
  StreamSet streams;
  const TaskContext& context;
  const std::int64_t* dims;
  int kept;
  std::int64_t inner_first;
  Column columns[isa::kMaxStreams];
  int num_columns;
};

// Accumulates positions first .. first + count - 1 of the task over all reduced rows.
void reduce_chunk(const Reduction& work, std::int64_t* index, std::int64_t first, std::int64_t count) {
  const int rank = work.streams.rank;
  StripRun run;
  std::int64_t steps[isa::kMaxStreams], rows_since_fold = 0;
  row_steps(steps, work.streams);
  do {
    place_row(run, work.streams, work.context, index, 0, work.inner_first);
    for (int s = 0; s < work.streams.count; ++s) {
      if (work.streams.head(s).space() == isa::Space::kScratch) steps[s] = 0;
    }
    for (int i = 0; i < work.num_columns; ++i) {
      const Column& column = work.columns[i];
      run.address[column.stream] = column.chunk - first * byte_size(column.dtype);
      run.mask[column.stream] = ~std::uint64_t{0};
    }
    for (std::int64_t row = 0; row < work.dims[rank - 1]; ++row) {
      run_strip_range(work.code, run, first, count);
      next_row(run, steps, work.streams.count);
      if (++rows_since_fold == kFoldRows) {
        for (int i = 0; i < work.num_columns; ++i) fold(work.columns[i]);
        rows_since_fold = 0;
      }
    }
  } while (next_index(index, work.dims, work.kept, rank - 2));
}

}  // namespace

void exec_Columns(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& fields = inst.fields<isa::ColumnsFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, fields), number);
  const auto& first_phase = *reinterpret_cast<const isa::PhaseHead*>(inst.phases<isa::ColumnsFields>());
  const auto& second_phase = *reinterpret_cast<const isa::PhaseHead*>(first_phase.code() + first_phase.words());
  Reduction work{first_phase.code(),
                 stream_set<isa::ColumnsFields>(inst),
                 context,
                 inst.dims<isa::ColumnsFields>(),
                 inst.rank() - static_cast<int>(fields.reduced),
                 task.inner_begin,
                 {},
                 0};
  work.num_columns = find_columns(work.columns, first_phase, work.streams, context);
  bool empty = false;
  std::int64_t index[isa::kMaxRank] = {};
  for (int d = 0; d < work.kept; ++d) index[d] = task.index[d];
  for (int d = work.kept; d < inst.rank(); ++d) empty |= work.dims[d] == 0;
  const std::int64_t count = task.inner_end - task.inner_begin;
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t width = isa::least(kChunk, count - first);
    for (int i = 0; i < work.num_columns; ++i) reset(work.columns[i]);
    if (!empty) reduce_chunk(work, index, first, width);
    for (int i = 0; i < work.num_columns; ++i) finish(work.columns[i], first, width);
  }
  StripRun run;
  place_row(run, work.streams, context, index, 0, task.inner_begin);
  run_strip(second_phase.code(), run, count);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
