// Random tensors. tensor/philox.h defines which bits an element gets and what becomes of them.
#include "tilewright/graph/eval/families.h"
#include "tilewright/tensor/philox.h"

namespace tilewright {
Results eval_random(const EvalCall& call) {
  const DType dtype = call.attrs.dtype("dtype");
  const std::string& distribution = call.attrs.text("distribution");
  TW_ASSIGN(const Ints sizes, call.sizes("shape"));
  TW_TRY(check_sizes(sizes));
  const Elements<std::int64_t> key = load<std::int64_t>(call.in[0]);
  if (key.size() != 2) return fail(ErrorKind::kShapeMismatch, "the key must be i64[2]: {} elements", key.size());
  const RandomStream stream{static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1])};
  const auto count = static_cast<std::uint64_t>(product(sizes));
  if (distribution == "bits") {
    Elements<std::int64_t> out;
    for (std::uint64_t i = 0; i < count; ++i) {
      out.push_back(static_cast<std::int64_t>(dtype == DType::kI64 ? stream.bits64(i) : stream.bits32(i)));
    }
    return std::vector<Tensor>{store(dtype, sizes, out)};
  }
  Elements<double> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    out.push_back(distribution == "normal" ? normal_of(dtype, stream, i) : uniform_of(dtype, stream, i));
  }
  return std::vector<Tensor>{store(dtype, sizes, out)};
}

}  // namespace tilewright
