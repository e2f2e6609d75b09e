#include "tilewright/runtime/c_api.h"

#include <algorithm>

#include "tilewright/tilewright.h"

struct tw_model {
  tilewright::Model model;
  std::vector<tilewright::TensorInfo> inputs, outputs;
  std::vector<tilewright::ScalarInfo> scalars;
};

namespace tilewright {
namespace {

static_assert(TW_F32 == static_cast<int>(DType::kF32) && TW_F64 == static_cast<int>(DType::kF64) &&
              TW_F16 == static_cast<int>(DType::kF16) && TW_BF16 == static_cast<int>(DType::kBF16) &&
              TW_I8 == static_cast<int>(DType::kI8) && TW_U8 == static_cast<int>(DType::kU8) &&
              TW_I16 == static_cast<int>(DType::kI16) && TW_I32 == static_cast<int>(DType::kI32) &&
              TW_I64 == static_cast<int>(DType::kI64) && TW_BOOL == static_cast<int>(DType::kBool));

std::string& last_error() {
  thread_local std::string text;
  return text;
}

int report(const Error& error) {
  last_error() = error.message;
  return info(error.kind).exit_code;
}

int report(const Status& status) {
  return status.ok() ? 0 : report(status.error());
}

tw_model* make_model(Result<Model> model) {
  if (!model.ok()) {
    report(model.error());
    return nullptr;
  }
  auto out = std::make_unique<tw_model>(tw_model{std::move(*model), {}, {}, {}});
  out->inputs = out->model.inputs();
  out->outputs = out->model.outputs();
  out->scalars = out->model.scalars();
  return out.release();
}

int describe(const std::vector<TensorInfo>& all, std::size_t index, tw_tensor_info* info) {
  if (index >= all.size()) return report(fail(ErrorKind::kIndexOutOfRange, "number {} of {}", index, all.size()));
  const TensorInfo& one = all[index];
  *info = {one.name.c_str(), static_cast<std::int32_t>(one.dtype), static_cast<std::int32_t>(one.dims.size()), {}};
  for (std::size_t axis = 0; axis < std::min<std::size_t>(one.dims.size(), TW_MAX_RANK); ++axis)
    info->dims[axis] = one.dims[axis].c_str();
  return 0;
}

Result<Tensor> read_tensor(const tw_tensor& tensor) {
  if (tensor.rank < 0 || tensor.rank > TW_MAX_RANK)
    return fail(ErrorKind::kShapeMismatch, "a tensor of {} axes", tensor.rank);
  if (tensor.dtype < TW_F32 || tensor.dtype > TW_BOOL)
    return fail(ErrorKind::kDTypeMismatch, "unknown dtype {}", tensor.dtype);
  for (int axis = 0; axis < tensor.rank; ++axis) {
    if (tensor.sizes[axis] < 0) return fail(ErrorKind::kShapeMismatch, "axis {} has size {}", axis, tensor.sizes[axis]);
  }
  const bool empty = std::find(tensor.sizes, tensor.sizes + tensor.rank, 0) != tensor.sizes + tensor.rank;
  if (tensor.data == nullptr && !empty) return fail(ErrorKind::kInvalidArgument, "the tensor has no data");
  return Tensor(static_cast<DType>(tensor.dtype), {tensor.sizes, tensor.sizes + tensor.rank},
                {tensor.strides, tensor.strides + tensor.rank}, tensor.data);
}

Result<std::vector<Tensor>> read_tensors(const tw_tensor* tensors, std::size_t count) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < count; ++i) {
    auto tensor = read_tensor(tensors[i]);
    if (!tensor.ok()) return std::move(tensor).error().in(fmt::format("input {}", i));
    out.push_back(std::move(*tensor));
  }
  return out;
}

std::vector<Scalar> read_scalars(const tw_model& model, const tw_scalar* scalars, std::size_t count) {
  std::vector<Scalar> out;
  for (std::size_t i = 0; i < count; ++i) {
    const bool real = i < model.scalars.size() && model.scalars[i].is_float;
    out.push_back(real ? Scalar(scalars[i].real) : Scalar(scalars[i].integer));
  }
  return out;
}

tw_tensor describe_result(DType dtype, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  tw_tensor out{};
  out.dtype = static_cast<std::int32_t>(dtype);
  out.rank = static_cast<std::int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), out.sizes);
  std::copy(strides.begin(), strides.end(), out.strides);
  return out;
}

Status run(tw_model& model, std::span<const tw_tensor> inputs, std::span<const Scalar> scalars,
           std::span<tw_tensor> outputs) {
  if (outputs.size() != model.outputs.size()) {
    return fail(ErrorKind::kInvalidArgument, "the model gives {} outputs, there is room for {}", model.outputs.size(),
                outputs.size());
  }
  TW_ASSIGN(const std::vector<Tensor> tensors, read_tensors(inputs.data(), inputs.size()));
  TW_ASSIGN(std::vector<Tensor> results, model.model.run(tensors, scalars));
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs[i] = describe_result(results[i].dtype(), results[i].sizes(), results[i].strides());
    outputs[i].data = results[i].data();
    outputs[i].owner = new Tensor(std::move(results[i]));
  }
  return {};
}

Status run_into(tw_model& model, std::span<const tw_tensor> inputs, std::span<const Scalar> scalars,
                tw_allocate allocate, void* state) {
  TW_ASSIGN(const std::vector<Tensor> tensors, read_tensors(inputs.data(), inputs.size()));
  return model.model.run(tensors, scalars,
                         [&](std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                             std::span<const std::int64_t> strides) -> Result<void*> {
                           const tw_tensor tensor = describe_result(dtype, sizes, strides);
                           void* const memory = allocate(state, output, &tensor);
                           if (memory == nullptr)
                             return fail(ErrorKind::kOutOfMemory, "no memory for output {}", output);
                           return memory;
                         });
}

}  // namespace
}  // namespace tilewright

using tilewright::report;

tw_model* tw_model_load(const char* path) {
  return tilewright::make_model(tilewright::Model::load(std::string(path)));
}

tw_model* tw_model_load_bytes(const void* bytes, size_t count) {
  return tilewright::make_model(tilewright::Model::load(std::span(static_cast<const std::byte*>(bytes), count)));
}

void tw_model_free(tw_model* model) {
  delete model;
}

size_t tw_model_num_inputs(const tw_model* model) {
  return model->inputs.size();
}
size_t tw_model_num_outputs(const tw_model* model) {
  return model->outputs.size();
}
size_t tw_model_num_scalars(const tw_model* model) {
  return model->scalars.size();
}

int tw_model_input(const tw_model* model, size_t index, tw_tensor_info* info) {
  return tilewright::describe(model->inputs, index, info);
}

int tw_model_output(const tw_model* model, size_t index, tw_tensor_info* info) {
  return tilewright::describe(model->outputs, index, info);
}

int tw_model_run(tw_model* model, const tw_tensor* inputs, size_t num_inputs, const tw_scalar* scalars,
                 size_t num_scalars, tw_tensor* outputs, size_t num_outputs) {
  const auto values = tilewright::read_scalars(*model, scalars, num_scalars);
  return report(tilewright::run(*model, {inputs, num_inputs}, values, {outputs, num_outputs}));
}

int tw_model_run_into(tw_model* model, const tw_tensor* inputs, size_t num_inputs, const tw_scalar* scalars,
                      size_t num_scalars, tw_allocate allocate, void* state) {
  const auto values = tilewright::read_scalars(*model, scalars, num_scalars);
  return report(tilewright::run_into(*model, {inputs, num_inputs}, values, allocate, state));
}

void tw_tensor_free(tw_tensor* tensor) {
  delete static_cast<tilewright::Tensor*>(tensor->owner);
  tensor->owner = tensor->data = nullptr;
}

int tw_model_set_weight(tw_model* model, const char* name, const tw_tensor* value) {
  auto tensor = tilewright::read_tensor(*value);
  if (!tensor.ok()) return report(std::move(tensor).error().in(name));
  return report(model->model.set_weight(name, *tensor));
}

void tw_model_trim(tw_model* model) {
  model->model.trim();
}

const char* tw_last_error(void) {
  return tilewright::last_error().c_str();
}
void tw_set_num_threads(int count) {
  tilewright::set_num_threads(count);
}
int tw_num_threads(void) {
  return tilewright::num_threads();
}

void tw_get_stats(tw_stats* stats) {
  const tilewright::StatsSnapshot now = tilewright::stats_snapshot();
  *stats = {now.calls,          now.launches,       now.programs_encoded, now.cache_hits,           now.guards_failed,
            now.host_calls,     now.weights_packed, now.packed_bytes,     now.cached_program_bytes, now.arena_bytes,
            now.resident_bytes, now.encode_p50_ns,  now.encode_p99_ns,    now.encode_max_ns};
}
