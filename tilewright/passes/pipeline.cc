// The whole optimiser, in the order it runs. Read this file first.
#include <algorithm>
#include <chrono>

#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

template <bool (*run)(Graph&)>
bool plain(Graph& graph, FuseReport&) {
  return run(graph);
}

template <bool (*run)(Graph&, FuseReport*)>
bool reporting(Graph& graph, FuseReport& report) {
  return run(graph, &report);
}

constexpr Pass kPipeline[] = {
    {"remove_no_ops", plain<remove_no_ops>, "a node whose result is one of its inputs, bit for bit, is that input"},
    {"merge_transposes", plain<merge_transposes>, "a transpose of a transpose is one transpose, or none"},
    {"merge_reshapes", plain<merge_reshapes>, "a reshape of a reshape is one reshape, or none"},
    {"merge_updates", plain<merge_updates>, "an update of a part that is put back where it was is one update"},
    {"fold_constants", plain<fold_constants>,
     "what depends on small constants alone is a constant, on host scalars a host scalar"},
    {"common_subexpressions", plain<common_subexpressions>, "nodes that compute the same are one"},
    {"recognise_composites", plain<recognise_composites>,
     "primitives that spell out a norm, softmax or activation are that composite"},
    {"recognise_attention", plain<recognise_attention>, "two products with a softmax between them are attention"},
    {"quantized_products", plain<quantized_products>, "a product of dequantised bytes is a product of bytes"},
    {"inline_composites", plain<inline_composites>, "a composite without a native kernel is its definition"},
    {"fold_constants", plain<fold_constants>, "so it is in definitions"},
    {"simple_powers", plain<simple_powers>, "a power with a small exponent is a product or a root"},
    {"scale_convolutions", plain<scale_convolutions>,
     "factors and shifts of the channels of a convolution are in its weights and bias", true},
    {"widen_products", plain<widen_products>, "a product of values that were widened for it reads them as they are"},
    {"split_reduces", plain<split_reduces>, "a reduction is over adjacent axes and keeps them as size 1"},
    {"sink_reshapes", plain<sink_reshapes>,
     "elementwise operations stand before the reshape of a matmul or a reduction, not behind"},
    {"merge_reshapes", plain<merge_reshapes>, "the reshapes that met are one"},
    {"sink_concats", plain<sink_concats>, "elementwise operations stand before a concat, on each piece"},
    {"common_subexpressions", plain<common_subexpressions>, "what several definitions compute is computed once"},
    {"remove_dead_nodes", plain<remove_dead_nodes>, "a node without effect whose results nobody reads is gone"},
    {"prepare_weights", plain<prepare_weights>, "what depends on weights alone is computed once and kept", true},
    {"fuse_areas", reporting<fuse_areas>, "areas of nodes that one kernel can run are one fused node each"},
    {"fuse_decided_areas", reporting<fuse_decided_areas>, "the same without speculation, if fuse_areas was skipped"},
    {"fuse_nothing", plain<fuse_nothing>, "what is in no area yet is an area of its own"},
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Regions first: what a pass leaves in them is final when the graph around them is walked.
bool run_on_all(const Pass& pass, Graph& graph, FuseReport& report) {
  bool changed = false;
  for (std::size_t i = 0; i < graph.order().size() && !pass.whole; ++i) {
    const NodeId id = graph.order()[i];
    if (graph.node(id).op == Op::kFused) continue;
    for (const auto& region : graph.node(id).regions) changed |= run_on_all(pass, *region, report);
  }
  return pass.run(graph, report) || changed;
}

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

Result<std::vector<PassReport>> run_pipeline(Graph& graph, const PipelineOptions& options) {
  std::vector<PassReport> reports;
  for (const Pass& pass : kPipeline) {
    if (contains(options.skip, pass.name)) continue;
    const auto start = std::chrono::steady_clock::now();
    FuseReport report;
    const bool changed = run_on_all(pass, graph, report);
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    reports.push_back({pass.name, elapsed.count(), changed, {}, std::move(report)});
    if (options.verify_each) {
      if (Status status = verify(graph); !status.ok())
        return std::move(status).error().in(fmt::format("after pass {}", pass.name));
    }
    if (contains(options.print_after, pass.name) || contains(options.print_after, "all")) {
      reports.back().printed = print(graph);
    }
  }
  return reports;
}

}  // namespace tilewright::passes
