// The rules of map, rows and columns: their phases, tiles and tasks, and the domain over which each stream is used.
#include "tilewright/isa/verify/verifier.h"

namespace tilewright::isa {
namespace {

bool check_end(Verifier& v, const Word* words) {
  return words == v.at.end() || v.reject("words after the last phase");
}

}  // namespace

bool verify_Map(Verifier& v, const Inst& inst, const MapFields& f) {
  if (!check_positive(v, "row_tile", f.row_tile) || !check_positive(v, "inner_tile", f.inner_tile)) return false;
  if (f.inner_tile < inst.inner() && f.inner_tile % 128 != 0) {
    return v.reject("inner_tile {} is neither a multiple of 128 nor all of {}", f.inner_tile, inst.inner());
  }
  const Tiling tiling = tiling_of(inst, f);
  if (!check_tasks(v, tiling)) return false;
  const PhaseHead* phase = read_phase(v.at.phases(), v.at.end());
  PhaseUse use;
  if (!check_plain_strip(v, phase, {}, use) || !check_end(v, after(phase))) return false;
  return check_streams(
      v, use.elements,
      {v.at.rank, inst.inner(), least(tiling.row_tile, tiling.rows), least(f.inner_tile, inst.inner())});
}

bool verify_Rows(Verifier& v, const Inst& inst, const RowsFields& f) {
  if (v.at.rank < 1) return v.reject("rank 0");
  if (!check_positive(v, "row_tile", f.row_tile)) return false;
  const Tiling tiling = tiling_of(inst, f);
  if (!check_tasks(v, tiling)) return false;
  PhaseUse use;
  const Word* words = v.at.phases();
  if (words == v.at.end()) return v.reject("no phase");
  while (words != v.at.end()) {
    const PhaseHead* phase = read_phase(words, v.at.end());
    if (phase == nullptr) return v.reject("a phase is cut off");
    if (!check_phase(v, *phase, {}, use)) return false;
    words = after(phase);
  }
  const std::int64_t rows = least(tiling.row_tile, tiling.rows);
  return check_streams(v, use.elements, {v.at.rank, inst.inner(), rows, inst.inner()}) &&
         check_streams(v, use.rows, {v.at.rank, 1, rows, 1});
}

bool verify_Columns(Verifier& v, const Inst& inst, const ColumnsFields& f) {
  if (f.reduced < 1 || f.reduced > v.at.rank) return v.reject("{} reduced of {} outer dims", f.reduced, v.at.rank);
  if (!check_positive(v, "inner_tile", f.inner_tile) || !check_tasks(v, tiling_of(inst, f))) return false;
  const std::int64_t tile = least(f.inner_tile, inst.inner());
  PhaseRules rules;
  rules.accumulator_bytes = least(tile, kMaxScratchBytes);  // in elements of the accumulator; a larger one cannot fit
  const PhaseHead* reduce = read_phase(v.at.phases(), v.at.end());
  if (reduce == nullptr) return v.reject("a phase is missing or cut off");
  if (reduce->op() != PhaseOp::kStrip || reduce->b() == 0)
    return v.reject("the first phase is not a strip phase with accumulators");
  PhaseUse all;
  PhaseUse kept;
  if (!check_phase(v, *reduce, rules, all)) return false;
  const PhaseHead* finish = read_phase(after(reduce), v.at.end());
  if (!check_plain_strip(v, finish, {}, kept) || !check_end(v, after(finish))) return false;
  return check_streams(v, all.elements, {v.at.rank, inst.inner(), 1, tile}) &&
         check_streams(v, kept.elements, {v.at.rank - static_cast<int>(f.reduced), inst.inner(), 1, tile});
}

}  // namespace tilewright::isa
