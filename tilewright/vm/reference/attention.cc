// attention: for each query the scores of all keys, their softmax and the weighted sum of values, in f64.
#include <bit>
#include <cmath>
#include <limits>

#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

struct Query {
  std::int64_t batch, head, row;
};

// Row `row` of an operand.
Elements row_of(const Frame& frame, int stream, std::int64_t batch, std::int64_t head, std::int64_t row) {
  const std::int64_t index[] = {batch, head, row};
  return elements(frame, stream, {index}, false);
}

double real_at(const Frame& frame, int stream, const Elements& row, std::int64_t i) {
  return read_real(row.first + i * row.step, frame.at.stream(stream).dtype());
}

// 0 where the query attends, -inf where it does not, or the float added to the score.
double mask_at(const Frame& frame, const Elements& mask, std::int64_t key) {
  const DType dtype = frame.at.stream(4).dtype();
  if (dtype != DType::kBool) return read_real(mask.first + key * mask.step, dtype);
  return mask.get<std::uint8_t>(key) != 0 ? 0 : -std::numeric_limits<double>::infinity();
}

void attend(const Frame& frame, const isa::AttentionFields& f, std::int64_t inner, const Query& query) {
  const std::int64_t kv_head = query.head * f.kv_heads / frame.at.dims()[1];
  const std::int64_t keys = f.causal != 0 ? std::min(f.keys, query.row + 1) : f.keys;
  const double scale = std::bit_cast<double>(f.scale);
  const Elements q = row_of(frame, 0, query.batch, query.head, query.row);
  std::vector<double> weights(static_cast<std::size_t>(keys));
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t t = 0; t < keys; ++t) {
    const Elements k = row_of(frame, 1, query.batch, kv_head, t);
    double score = 0;
    for (std::int64_t d = 0; d < f.depth; ++d) score += real_at(frame, 0, q, d) * real_at(frame, 1, k, d);
    score *= scale;
    if (frame.at.streams == 5) score += mask_at(frame, row_of(frame, 4, query.batch, query.head, query.row), t);
    weights[static_cast<std::size_t>(t)] = score;
    largest = isa::larger(largest, score);
  }
  const bool attends = largest != -std::numeric_limits<double>::infinity();
  double sum = 0;
  for (double& weight : weights) sum += weight = attends ? std::exp(weight - largest) : 0;
  const bool is_nan = !attends && keys > 0 && f.empty_is_nan != 0;
  std::vector<double> out(static_cast<std::size_t>(inner), is_nan ? std::numeric_limits<double>::quiet_NaN() : 0);
  for (std::int64_t t = 0; t < keys && attends; ++t) {
    const Elements v = row_of(frame, 2, query.batch, kv_head, t);
    const double weight = weights[static_cast<std::size_t>(t)] / sum;
    for (std::int64_t e = 0; e < inner; ++e) out[static_cast<std::size_t>(e)] += weight * real_at(frame, 2, v, e);
  }
  const Elements to = row_of(frame, 3, query.batch, query.head, query.row);
  for (std::int64_t e = 0; e < inner; ++e) {
    write_real(to.first + e * to.step, frame.at.stream(3).dtype(), out[static_cast<std::size_t>(e)]);
  }
}

}  // namespace

Status exec_Attention(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::AttentionFields>();
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    const isa::Task task = isa::decode_task(tiling, number);
    for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
      attend(frame, fields, inst.inner(), {task.index[0], task.index[1], row});
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
