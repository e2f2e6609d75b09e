// scan: running sums, products and extremes, in f64 or i64.
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/lines.h"

namespace tilewright::vm::reference {
namespace {

template <typename T>
T combined(bool product, T a, T b) {
  if constexpr (isa::Integer<T>) return product ? isa::wrapping_mul(a, b) : isa::wrapping_add(a, b);
  return product ? a * b : a + b;
}

template <typename T>
void accumulate(const Frame& frame, const isa::ScanFields& f, const std::int64_t* index, const std::vector<T>& line) {
  T so_far = f.kind == 1 ? T{1} : T{0};
  for (std::size_t i = 0; i < line.size(); ++i) {
    const T next = combined(f.kind == 1, so_far, line[i]);
    write_element<T>(frame, 1, index, static_cast<std::int64_t>(i), f.exclusive != 0 ? so_far : next);
    so_far = next;
  }
}

template <typename T>
void extreme(const Frame& frame, const isa::ScanFields& f, const std::int64_t* index, const std::vector<T>& line) {
  T best{};
  std::int64_t best_at = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto p = static_cast<std::int64_t>(i);
    const bool better = f.kind == 2 ? line[i] >= best : line[i] <= best;
    if (i == 0 || is_nan(line[i]) || (!is_nan(best) && better)) {
      best = line[i];
      best_at = p;
    }
    write_element<T>(frame, 1, index, p, best);
    if (frame.at.streams == 3) write_element<std::int64_t>(frame, 2, index, p, best_at);
  }
}

}  // namespace

Status exec_Scan(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::ScanFields>();
  for_each_row(at, is_float(at.stream(0).dtype()), [&]<typename T>(const std::int64_t* index) {
    const std::vector<T> line = read_line<T>(frame, 0, index, inst.inner());
    if (f.kind < 2) {
      accumulate<T>(frame, f, index, line);
    } else {
      extreme<T>(frame, f, index, line);
    }
  });
  return {};
}

}  // namespace tilewright::vm::reference
