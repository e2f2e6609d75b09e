// Regions (if, while, call, fused; scan.cc has scan) and effects (host_call, assign, assert).
#include <algorithm>

#include "tilewright/graph/eval/evaluator.h"

namespace tilewright {

Result<bool> truth(const Tensor& condition) {
  if (condition.dtype() != DType::kBool || condition.count() != 1) {
    return fail(ErrorKind::kInvalidArgument, "the condition must be one bool, got {} elements of {}", condition.count(),
                to_string(condition.dtype()));
  }
  return load<std::int64_t>(condition)[0] != 0;
}

// A symbol that is a whole dim of a region input stands for the size passed, whatever it is outside.
Results Evaluator::run_region(const Graph& region, std::span<const Tensor> inputs, const Frame& outer) {
  Frame frame{region, std::vector<Tensor>(region.num_values()), outer.symbols};
  for (const ValueId input : region.inputs()) {
    for (const Dim dim : region.type(input).shape) {
      if (dim.is_symbol()) frame.symbols.forget(dim);
    }
  }
  for (const Graph::Capture& capture : region.captures()) frame.values[capture.inner] = outer.values[capture.outer];
  TW_TRY(bind(frame, inputs, "region input"));
  return run_nodes(frame);
}

Results Evaluator::run_control(const Node& node, const Attrs& attrs, std::span<const Tensor> in, Frame& frame) {
  switch (node.op) {
    case Op::kIf: {
      TW_ASSIGN(const bool chosen, truth(in[0]));
      return run_region(*node.regions[chosen ? 0 : 1], {}, frame);
    }
    case Op::kWhile:
      return run_while(node, in, frame);
    case Op::kScan:
      return run_scan(node, attrs, in, frame);
    case Op::kCall:
    case Op::kFused:
      return run_region(*node.regions[0], in, frame);
    default:
      break;
  }
  TW_CHECK(false, info(node.op).text);
  return std::vector<Tensor>{};
}

Results Evaluator::run_while(const Node& node, std::span<const Tensor> in, Frame& frame) {
  std::vector<Tensor> carried(in.begin(), in.end());
  while (true) {
    TW_ASSIGN(const std::vector<Tensor> condition, run_region(*node.regions[0], carried, frame));
    TW_ASSIGN(const bool again, truth(condition[0]));
    if (!again) return carried;
    TW_ASSIGN(carried, run_region(*node.regions[1], carried, frame));
  }
}

Results Evaluator::run_effect(const Node& node, const Attrs& attrs, std::span<const Tensor> in, Frame& frame) {
  switch (node.op) {
    case Op::kAssign:
      // The value is copied now: it may be a buffer that another assign writes.
      if (in[0].dtype() != in[1].dtype() || !std::ranges::equal(in[0].sizes(), in[1].sizes())) {
        return fail(ErrorKind::kShapeMismatch, "the value does not fit the buffer: {} elements of {} into {} of {}",
                    in[1].count(), to_string(in[1].dtype()), in[0].count(), to_string(in[0].dtype()));
      }
      writes_.push_back({in[0], clone(in[1])});
      return std::vector<Tensor>{};
    case Op::kAssert: {
      TW_ASSIGN(const HostValue condition, frame.symbols.value(attrs.dim("condition")));
      if (condition.as_real() == 0) return fail(ErrorKind::kInvalidArgument, "{}", attrs.text("message"));
      return std::vector<Tensor>{};
    }
    case Op::kHostCall:
      if (!options_.host_call) {
        return fail(ErrorKind::kHostCall, "host function {} is not available", attrs.integer("target"));
      }
      return options_.host_call(attrs.integer("target"), in);
    default:
      break;
  }
  TW_CHECK(false, info(node.op).text);
  return std::vector<Tensor>{};
}

void Evaluator::apply_writes() {
  const auto write_all = [](const Write& write) {
    visit(write.buffer.dtype(), [&]<typename T>() {
      std::int64_t next = 0;
      for_each_index(write.buffer.sizes(),
                     [&](const Ints& index) { write.buffer.at<T>(index) = write.value.data_as<T>()[next++]; });
    });
  };
  for (const Write& write : writes_) write_all(write);
}

}  // namespace tilewright
