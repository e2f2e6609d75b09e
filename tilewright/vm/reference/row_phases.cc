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

// The one number of a literal stream.
float number(const Frame& frame, int stream) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(frame.at.stream(stream).offset));
}

// from * scale + addend, rounded once to f32; addend may be absent.
void scale_and_add(Row& row, double scale, const Frame& frame, std::uint16_t addend, const Place& place) {
  const bool adds = addend != isa::kNoStream;
  const Row terms =
      adds ? read_row(frame, addend, place, static_cast<std::int64_t>(row.size())) : Row(row.size(), -0.0);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = std::fma(static_cast<float>(row[i]), static_cast<float>(scale), static_cast<float>(terms[i]));
  }
}

void run_norm(const Frame& frame, const isa::PhaseHead& phase, const Place& place, Row& row) {
  const bool sums = phase.op() == isa::PhaseOp::kSumLayerNorm || phase.op() == isa::PhaseOp::kSumRmsNorm;
  if (sums) scale_and_add(row, 1, frame, phase.f(), place);
  const bool centres = phase.op() == isa::PhaseOp::kLayerNorm || phase.op() == isa::PhaseOp::kSumLayerNorm;
  normalise(row, centres, double{number(frame, phase.e())});
  for (const bool adds : {false, true}) {
    const std::uint16_t stream = adds ? phase.d() : phase.c();
    if (stream == isa::kNoStream) continue;
    const Row operand = read_row(frame, stream, place, static_cast<std::int64_t>(row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = adds ? row[i] + operand[i] : row[i] * operand[i];
  }
}

}  // namespace

void run_row_phase(const Frame& frame, const isa::PhaseHead& phase, const Place& place, std::int64_t count) {
  Row row = read_row(frame, phase.a(), place, count);
  switch (phase.op()) {
    case isa::PhaseOp::kScaledSoftmax:
      scale_and_add(row, double{number(frame, phase.c())}, frame, phase.d(), place);
      [[fallthrough]];
    case isa::PhaseOp::kSoftmax:
    case isa::PhaseOp::kLogSoftmax:
      softmax(row, phase.op() == isa::PhaseOp::kLogSoftmax);
      break;
    default:
      run_norm(frame, phase, place, row);
      break;
  }
  const Elements to = elements(frame, phase.b(), place, false);
  for (std::int64_t i = 0; i < count; ++i) to.set(i, static_cast<float>(row[static_cast<std::size_t>(i)]));
}

}  // namespace tilewright::vm::reference
