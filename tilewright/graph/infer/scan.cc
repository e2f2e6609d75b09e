// The loop that stacks. A symbol that is a size of a slice stands for the size passed; carried sizes follow the rule of
// `while`; a size of an element that only the region knows gets a symbol of `late`.
#include <unordered_set>

#include "tilewright/graph/bound_symbols.h"
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/regions.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

class ScanInference {
 public:
  explicit ScanInference(const InferInput& in)
      : in_(in), body_(*in.regions[0]), conditional_(in.attrs.flag("conditional") ? 1 : 0) {}

  Result<Types> run() {
    TW_TRY(check_form());
    Types out;
    TW_TRY(add_carried(out));
    TW_TRY(check_slices());
    find_inner_symbols();
    TW_TRY(add_stacked(out));
    return out;
  }

 private:
  Status check_form() {
    const std::int64_t carried = in_.attrs.integer("carried");
    if (carried < 0 || static_cast<std::size_t>(carried) > in_.types.size()) {
      return fail(ErrorKind::kInvalidArgument, "'carried' is {} for {} inputs", carried, in_.types.size());
    }
    carried_ = static_cast<std::size_t>(carried);
    const std::size_t first = conditional_ + carried_;
    if (in_.types.size() < first) return check_numbers("inputs", in_.types.size(), first);
    scanned_ = in_.types.size() - first;
    TW_TRY(check_numbers("symbols in 'count'", in_.attrs.dims("count").size(), conditional_));
    for (const Dim symbol : in_.attrs.dims("count")) TW_TRY(check_late_symbol("count", symbol));
    TW_TRY(check_integers(std::array{in_.attrs.dim("trips")}));
    TW_TRY(check_numbers("inputs of the body", body_.inputs().size(), 1 + carried_ + scanned_));
    if (body_.outputs().size() < first) return check_numbers("results of the body", body_.outputs().size(), first);
    const TensorType& trip = body_.type(body_.inputs()[0]);
    if (trip.dtype != DType::kI64 || !trip.shape.empty()) {
      return fail(ErrorKind::kDTypeMismatch, "the trip number must be i64[]: {}", trip);
    }
    if (conditional_ == 0) return {};
    TW_TRY(check_bool_scalar("the condition", in_.types[0]));
    return check_bool_scalar("the condition of the body", body_.type(body_.outputs()[0]));
  }

  Status add_carried(Types& out) {
    for (std::size_t i = 0; i < carried_; ++i) {
      const TensorType& initial = in_.types[conditional_ + i];
      const TensorType& carried = body_.type(body_.inputs()[1 + i]);
      TW_TRY(check_carried(i, initial, carried, body_.type(body_.outputs()[conditional_ + i]), in_.facts));
      for (std::size_t axis = 0; axis < carried.shape.size(); ++axis) {
        if (varies(carried.shape[axis], initial.shape[axis])) inner_.insert(carried.shape[axis]);
      }
      out.push_back(carried);
    }
    return {};
  }

  Status check_slices() {
    for (std::size_t i = 0; i < scanned_; ++i) {
      const TensorType& whole = in_.types[conditional_ + carried_ + i];
      const TensorType& slice = body_.type(body_.inputs()[1 + carried_ + i]);
      if (whole.dtype != slice.dtype || whole.shape.size() != slice.shape.size() + 1) {
        return fail(ErrorKind::kShapeMismatch, "the body takes {} as a slice of scanned input {}, {}", slice, i, whole);
      }
      if (provably_different(whole.shape[0], in_.attrs.dim("trips"), in_.facts)) {
        return fail(ErrorKind::kShapeMismatch, "scanned input {} has {} slices for {} trips", i, whole.shape[0],
                    in_.attrs.dim("trips"));
      }
      for (std::size_t axis = 0; axis < slice.shape.size(); ++axis) {
        const Dim given = whole.shape[axis + 1];
        Dim wanted = slice.shape[axis];
        if (wanted.is_symbol() && !inner_.contains(wanted)) wanted = passed_.emplace(wanted, given).first->second;
        if (!provably_different(wanted, given, in_.facts)) continue;
        return fail(ErrorKind::kShapeMismatch, "scanned input {} does not fit: {} where the body takes {}", i, whole,
                    slice);
      }
    }
    return {};
  }

  void find_inner_symbols() {
    for (const NodeId id : body_.order()) {
      if (body_.node(id).dead) continue;
      for (const Dim symbol : bound_symbols(body_, body_.node(id))) inner_.insert(symbol);
    }
  }

  bool only_inside(Dim dim) const {
    std::vector<Dim> symbols;
    collect_symbols(dim, symbols);
    for (const Dim symbol : symbols) {
      if (inner_.contains(symbol)) return true;
    }
    return false;
  }

  Dim count() const {
    if (conditional_ == 1) return in_.attrs.dims("count")[0];
    const Dim trips = in_.attrs.dim("trips");
    return in_.facts.range(trips).low >= 0 ? trips : max(trips, 0);
  }

  Status add_stacked(Types& out) {
    const Dims& late = in_.attrs.dims("late");
    std::size_t used = 0;
    for (std::size_t i = conditional_ + carried_; i < body_.outputs().size(); ++i) {
      const TensorType& element = body_.type(body_.outputs()[i]);
      TensorType stacked{element.dtype, {count()}};
      for (Dim dim : element.shape) {
        if (!only_inside(dim)) {
          stacked.shape.push_back(substitute(dim, [&](Dim symbol) {
            const auto found = passed_.find(symbol);
            return found == passed_.end() ? symbol : found->second;
          }));
          continue;
        }
        if (used == late.size()) {
          return fail(ErrorKind::kInvalidArgument, "'late' needs a symbol for {}, a size of the element {}", dim,
                      element);
        }
        TW_TRY(check_late_symbol("late", late[used]));
        stacked.shape.push_back(late[used++]);
      }
      out.push_back(std::move(stacked));
    }
    return check_numbers("symbols in 'late'", late.size(), used);
  }

  const InferInput& in_;
  const Graph& body_;
  const std::size_t conditional_;  // inputs and results that are conditions: 0 or 1
  std::size_t carried_ = 0, scanned_ = 0;
  std::unordered_set<Dim> inner_;        // bound in the region, and different from trip to trip
  std::unordered_map<Dim, Dim> passed_;  // sizes of slices
};

}  // namespace

Result<Types> infer_scan(const InferInput& in) {
  return ScanInference(in).run();
}

}  // namespace tilewright
