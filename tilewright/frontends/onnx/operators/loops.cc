// Loop and Scan. A loop stays a loop, except one that carries sequences (lists that exist only while the model is
// imported), a state of changing rank, or a body whose structure depends on a value of the trip: that is unrolled, and
// the model depends on the number of its trips.
#include "tilewright/frontends/onnx/loop.h"

#include <algorithm>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t kMaxUnrolled = 1024;

bool is_sequence(const ValueRef& value) {
  return value != nullptr && value->kind != OnnxValue::Kind::kTensor;
}

// The only element of a value, which is asked for where it is not known.
Result<std::int64_t> number_of(OnnxNode& n, const ValueRef& value, std::string_view name) {
  TW_TRY(n.learn(value, name));
  const HostTensor* known = host(*value);
  if (known->elements.size() != 1 || !known->elements[0].constant()) {
    return fail(ErrorKind::kShapeMismatch, "{} must be one integer", name);
  }
  return *known->elements[0].constant();
}

// Rows side by side along a new axis 0. Of no row at all, only the type is known, from a trip that is never made.
Result<ValueRef> stacked(OnnxNode& n, const Results& rows, const TensorType* type) {
  if (rows.empty()) {
    Shape shape = type->shape;
    shape.insert(shape.begin(), Dim(0));
    return n.result(n.expand(n.cast(n.number(DType::kI64, Dim(0)), type->dtype), std::move(shape)));
  }
  std::vector<ValueId> parts;
  for (const ValueRef& row : rows) {
    TW_ASSIGN(const ValueId value, n.unsqueeze(n.local(row), {0}));
    parts.push_back(value);
  }
  return n.result(n.op(Op::kConcat, parts, {{"axis", std::int64_t{0}}}));
}

Result<Results> one_trip(OnnxNode& n, std::int64_t trip, const Results& states, std::size_t num_rows) {
  std::vector<ValueRef> inputs{host_value({DType::kI64, {}, {Dim(trip)}}), host_value({DType::kBool, {}, {Dim(1)}})};
  inputs.insert(inputs.end(), states.begin(), states.end());
  TW_ASSIGN(Results results, n.inline_subgraph("body", std::move(inputs)));
  if (results.size() != 1 + states.size() + num_rows) {
    return fail(ErrorKind::kInvalidArgument, "the body gives {} results", results.size());
  }
  return results;
}

// Trips one after the other. Whether there is a further one is asked where it is not known.
Result<Results> unroll(OnnxNode& n, const ValueRef& limit, ValueRef go_on, Results states, std::size_t num_rows) {
  std::vector<Results> rows(num_rows);
  std::int64_t most = INT64_MAX;
  if (limit != nullptr) {
    TW_ASSIGN(most, number_of(n, limit, "the number of trips"));
  }
  std::int64_t trip = 0;
  for (; trip < most; ++trip) {
    std::int64_t go = 1;
    if (go_on != nullptr) {
      TW_ASSIGN(go, number_of(n, go_on, "the condition of the loop"));
    }
    if (go == 0) break;
    if (trip == kMaxUnrolled) {
      return fail(ErrorKind::kUnsupported, "a loop that must be unrolled makes more than {} trips", kMaxUnrolled);
    }
    TW_ASSIGN(const Results results, one_trip(n, trip, states, num_rows));
    go_on = results[0];
    std::copy_n(results.begin() + 1, states.size(), states.begin());
    for (std::size_t i = 0; i < num_rows; ++i) rows[i].push_back(results[1 + states.size() + i]);
  }
  Results never(1 + states.size() + num_rows);
  if (trip == 0 && num_rows > 0) {
    TW_ASSIGN(never, one_trip(n, 0, states, num_rows));
  }
  const std::size_t num_states = states.size();
  for (std::size_t i = 0; i < num_rows; ++i) {
    const ValueRef& type = never[1 + num_states + i];
    TW_ASSIGN(ValueRef whole, stacked(n, rows[i], type == nullptr ? nullptr : &type->type));
    states.push_back(std::move(whole));
  }
  return states;
}

Results joined(LoopResult result) {
  Results out = std::move(result.states);
  out.insert(out.end(), result.rows.begin(), result.rows.end());
  return out;
}

struct ScanSpec {
  std::size_t num_states, num_inputs, num_rows;
  Ints input_axes, input_directions, output_axes, output_directions;
};

Result<ScanSpec> read_scan(OnnxNode& n) {
  const std::int64_t num_inputs = n.integer("num_scan_inputs", 0);
  const schema::GraphProto* body = n.subgraph("body");
  if (body == nullptr || num_inputs < 1 || num_inputs > static_cast<std::int64_t>(n.num_inputs())) {
    return fail(ErrorKind::kInvalidArgument, "a scan over {} of {} inputs", num_inputs, n.num_inputs());
  }
  ScanSpec out{};
  out.num_inputs = static_cast<std::size_t>(num_inputs);
  out.num_states = n.num_inputs() - out.num_inputs;
  if (body->output.size() < out.num_states) return fail(ErrorKind::kInvalidArgument, "the body has too few results");
  out.num_rows = body->output.size() - out.num_states;
  const auto read = [&](std::string_view name, std::size_t count) {
    Ints given = n.integers_of(name).value_or(Ints());
    given.resize(count, 0);
    return given;
  };
  out.input_axes = read("scan_input_axes", out.num_inputs);
  out.input_directions = read("scan_input_directions", out.num_inputs);
  out.output_axes = read("scan_output_axes", out.num_rows);
  out.output_directions = read("scan_output_directions", out.num_rows);
  return out;
}

// Rows in the order and at the axis that the scan asks for.
Maybe arranged(OnnxNode& n, const ValueRef& rows, std::int64_t direction, std::int64_t given_axis) {
  Maybe value = n.local(rows);
  if (direction != 0) value = n.op(Op::kFlip, {value}, {{"axes", Ints{0}}});
  TW_ASSIGN(const std::int64_t axis, n.axis(given_axis, rows->type.shape.size()));
  if (axis == 0) return value;
  Ints perm;
  for (std::int64_t i = 1; i < std::ssize(rows->type.shape); ++i) perm.push_back(i);
  perm.insert(perm.begin() + axis, 0);
  return n.transpose(value, std::move(perm));
}

}  // namespace

Result<Results> import_loop(OnnxNode& n) {
  const schema::GraphProto* body = n.subgraph("body");
  if (body == nullptr || n.num_inputs() < 2 || body->output.size() + 1 < n.num_inputs()) {
    return fail(ErrorKind::kInvalidArgument, "the body does not fit {} inputs", n.num_inputs());
  }
  LoopSpec spec;
  spec.first = n.inputs()[1];
  spec.states.assign(n.inputs().begin() + 2, n.inputs().end());
  const std::size_t num_rows = body->output.size() - 1 - spec.states.size();
  const auto unrolled = [&] {
    return unroll(n, n.has(0) ? n.inputs()[0] : nullptr, spec.first, spec.states, num_rows);
  };
  if (std::any_of(spec.states.begin(), spec.states.end(), is_sequence)) return unrolled();
  if (n.has(0)) {
    TW_ASSIGN(spec.trips, n.scalar(0));
  }
  spec.trip = [&](OnnxNode& inner, const ValueRef& counter, const Results& states, const Results&) -> Result<Trip> {
    std::vector<ValueRef> inputs{counter, host_value({DType::kBool, {}, {Dim(1)}})};  // in a trip it holds
    inputs.insert(inputs.end(), states.begin(), states.end());
    TW_ASSIGN(const Results results, inner.inline_subgraph("body", std::move(inputs)));
    const auto rows = results.begin() + 1 + static_cast<std::ptrdiff_t>(states.size());
    return Trip{results[0], Results(results.begin() + 1, rows), Results(rows, results.end())};
  };
  auto result = build_loop(n, spec);
  if (result.ok()) return joined(std::move(*result));
  // A state that changes its rank, or a question inside of the body: what the loop cannot do, its trips can.
  if (result.error().kind != ErrorKind::kUnsupported || n.asks() || n.lacks_operator())
    return std::move(result).error();
  return unrolled();
}

// Scan of opset 8: axis 0 of all inputs is a batch, whose elements are scanned one by one, over axis 1.
Result<Results> import_batched_scan(OnnxNode& n) {
  if (n.has(0)) return fail(ErrorKind::kUnsupported, "sequence_lens");
  n.inputs().erase(n.inputs().begin());
  TW_ASSIGN(ScanSpec scan, read_scan(n));
  const Ints directions = n.integers_of("directions").value_or(Ints(scan.num_inputs, 0));
  LoopSpec batch;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) {
    TW_ASSIGN(const TensorType type, n.type(i));
    if (type.shape.size() < (i < scan.num_states ? 1U : 2U))
      return fail(ErrorKind::kShapeMismatch, "no batch: {}", type);
    batch.trips = type.shape[0];
    Maybe value = n.input(i);
    if (i >= scan.num_states && directions[i - scan.num_states] != 0) {
      value = n.op(Op::kFlip, {value}, {{"axes", Ints{1}}});
    }
    TW_ASSIGN(ValueRef input, n.result(value));
    batch.scanned.push_back(std::move(input));
  }
  batch.trip = [&](OnnxNode& inner, const ValueRef&, const Results&, const Results& slices) -> Result<Trip> {
    LoopSpec spec;
    const auto middle = slices.begin() + static_cast<std::ptrdiff_t>(scan.num_states);
    spec.states.assign(slices.begin(), middle);
    spec.scanned.assign(middle, slices.end());
    spec.trips = spec.scanned[0]->type.shape[0];
    spec.trip = [&](OnnxNode& deep, const ValueRef&, const Results& states, const Results& parts) -> Result<Trip> {
      std::vector<ValueRef> inputs = states;
      inputs.insert(inputs.end(), parts.begin(), parts.end());
      TW_ASSIGN(const Results results, deep.inline_subgraph("body", std::move(inputs)));
      const auto rows = results.begin() + static_cast<std::ptrdiff_t>(states.size());
      return Trip{nullptr, Results(results.begin(), rows), Results(rows, results.end())};
    };
    TW_ASSIGN(LoopResult result, build_loop(inner, spec));
    return Trip{nullptr, {}, joined(std::move(result))};
  };
  TW_ASSIGN(LoopResult result, build_loop(n, batch));
  return std::move(result.rows);
}

Result<Results> import_scan(OnnxNode& n) {
  TW_ASSIGN(const ScanSpec scan, read_scan(n));
  LoopSpec spec;
  spec.states.assign(n.inputs().begin(), n.inputs().begin() + static_cast<std::ptrdiff_t>(scan.num_states));
  for (std::size_t i = 0; i < scan.num_inputs; ++i) {
    TW_ASSIGN(const TensorType type, n.type(scan.num_states + i));
    TW_ASSIGN(const std::int64_t axis, n.axis(scan.input_axes[i], type.shape.size()));
    if (i == 0) spec.trips = type.shape[static_cast<std::size_t>(axis)];
    Ints perm{axis};
    for (std::int64_t other = 0; other < std::ssize(type.shape); ++other) {
      if (other != axis) perm.push_back(other);
    }
    Maybe value = n.input(scan.num_states + i);
    if (axis != 0) value = n.transpose(value, std::move(perm));
    if (scan.input_directions[i] != 0) value = n.op(Op::kFlip, {value}, {{"axes", Ints{0}}});
    TW_ASSIGN(ValueRef input, n.result(value));
    spec.scanned.push_back(std::move(input));
  }
  spec.trip = [&](OnnxNode& inner, const ValueRef&, const Results& states, const Results& slices) -> Result<Trip> {
    std::vector<ValueRef> inputs = states;
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    TW_ASSIGN(const Results results, inner.inline_subgraph("body", std::move(inputs)));
    const auto rows = results.begin() + static_cast<std::ptrdiff_t>(states.size());
    return Trip{nullptr, Results(results.begin(), rows), Results(rows, results.end())};
  };
  TW_ASSIGN(LoopResult result, build_loop(n, spec));
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    TW_ASSIGN(result.rows[i], n.result(arranged(n, result.rows[i], scan.output_directions[i], scan.output_axes[i])));
  }
  return joined(std::move(result));
}

}  // namespace tilewright::onnx
