// What became of a compiled graph, as Python values.
#include "src/explain_session.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/border.h"
#include "src/errors.h"
#include "tilewright/runtime/explain.h"

namespace tilewright::python {

nb::dict explain_session(runtime::Session& session, const std::vector<runtime::TensorArg>& inputs,
                         const std::vector<DimValue>& scalars) {
  nb::dict out;
  std::vector<runtime::Sizes> sizes;
  for (const runtime::TensorArg& input : inputs) {
    sizes.emplace_back(input.sizes.begin(), input.sizes.begin() + input.rank);
  }
  const runtime::Explanation given = unwrap(runtime::explain(session, sizes, scalars));
  nb::list kernels, refused, passes;
  for (const auto& kernel : given.kernels) {
    nb::dict row;
    row["kind"] = kernel.kind;
    row["name"] = kernel.name;
    row["ops"] = kernel.ops;
    row["bytes"] = kernel.bytes;
    kernels.append(row);
  }
  for (const passes::FuseRefusal& refusal : given.refused) {
    refused.append(nb::make_tuple(refusal.producer, refusal.consumer, std::string(refusal.reason)));
  }
  for (const passes::PassReport& pass : given.passes) {
    passes.append(nb::make_tuple(std::string(pass.name), pass.micros, pass.changed));
  }
  out["kernels"] = kernels;
  out["refused"] = refused;
  out["passes"] = passes;
  out["views"] = given.views;
  out["bytes_unfused"] = given.bytes_unfused;
  out["bytes_fused"] = given.bytes_fused;
  out["text"] = to_string(given);
  return out;
}

nb::dict Border::explain() const {
  return session_ == nullptr ? nb::dict() : explain_session(*session_, last_inputs_, last_scalars_);
}

}  // namespace tilewright::python
