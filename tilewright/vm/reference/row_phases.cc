// softmax, log_softmax, layer_norm and rms_norm of one f32 row, in f64 throughout.
#include <bit>
#include <cmath>
#include <limits>

#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

using Row = std::vector<double>;

Row read_row(const Frame& frame, int stream, const Place& place, std::int64_t count) {
  const Elements from = elements(frame, stream, place, false);
  Row row(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) row[static_cast<std::size_t>(i)] = from.get<float>(i);
  return row;
}

void softmax(Row& row, bool logarithm) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double x : row) largest = isa::larger(largest, x);
  double sum = 0;
  for (const double x : row) sum += std::exp(x - largest);
  for (double& x : row) x = logarithm ? x - largest - std::log(sum) : std::exp(x - largest) / sum;
}

void normalise(Row& row, bool centre, double eps) {
  const auto count = static_cast<double>(row.size());
  double mean = 0;
  if (centre) {
    for (const double x : row) mean += x;
    mean /= count;
  }
  double squares = 0;
  for (double& x : row) {
    x -= mean;
    squares += x * x;
  }
  const double scale = 1 / std::sqrt(squares / count + eps);
  for (double& x : row) x *= scale;
}

}  // namespace

void run_row_phase(const Frame& frame, const isa::PhaseHead& phase, const Place& place, std::int64_t count) {
  Row row = read_row(frame, phase.a(), place, count);
  if (phase.op() == isa::PhaseOp::kSoftmax || phase.op() == isa::PhaseOp::kLogSoftmax) {
    softmax(row, phase.op() == isa::PhaseOp::kLogSoftmax);
  } else {
    const float eps = std::bit_cast<float>(static_cast<std::uint32_t>(frame.at.stream(phase.e()).offset));
    normalise(row, phase.op() == isa::PhaseOp::kLayerNorm, double{eps});
    for (const bool adds : {false, true}) {
      const std::uint16_t stream = adds ? phase.d() : phase.c();
      if (stream == isa::kNoStream) continue;
      const Row operand = read_row(frame, stream, place, count);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = adds ? row[i] + operand[i] : row[i] * operand[i];
    }
  }
  const Elements to = elements(frame, phase.b(), place, false);
  for (std::int64_t i = 0; i < count; ++i) to.set(i, static_cast<float>(row[static_cast<std::size_t>(i)]));
}

}  // namespace tilewright::vm::reference
