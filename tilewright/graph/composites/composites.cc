// The list of composites: which function defines which op. A new composite is a row in ops.def, a function in one of
// the family files, and a case here.
#include "tilewright/graph/composites/composites.h"

#include <algorithm>

#include "tilewright/graph/composites/definition.h"

namespace tilewright {

bool is_composite(Op op) {
  return info(op).op_class == OpClass::kComposite;
}

namespace {

std::vector<ValueId> define(Op op, Definition& d) {
  switch (op) {
    case Op::kRoll:
      return define_roll(d);
    case Op::kReduceMean:
      return define_reduce_mean(d);
    case Op::kVariance:
      return define_variance(d);
    case Op::kLogSumExp:
      return define_logsumexp(d);
    case Op::kSoftmax:
      return define_softmax(d);
    case Op::kLogSoftmax:
      return define_log_softmax(d);
    case Op::kLayerNorm:
      return define_layer_norm(d);
    case Op::kRmsNorm:
      return define_rms_norm(d);
    case Op::kGroupNorm:
      return define_group_norm(d);
    case Op::kBatchNorm:
      return define_batch_norm(d);
    case Op::kGelu:
      return define_gelu(d);
    case Op::kSilu:
      return define_silu(d);
    case Op::kLeakyRelu:
      return define_leaky_relu(d);
    case Op::kElu:
      return define_elu(d);
    case Op::kSoftplus:
      return define_softplus(d);
    case Op::kHardSigmoid:
      return define_hard_sigmoid(d);
    case Op::kHardSwish:
      return define_hard_swish(d);
    case Op::kMish:
      return define_mish(d);
    case Op::kAttention:
      return define_attention(d);
    case Op::kQuantizeLinear:
      return define_quantize_linear(d);
    case Op::kDequantizeLinear:
      return define_dequantize_linear(d);
    case Op::kIntegerMatMul:
      return define_integer_matmul(d);
    case Op::kIntegerConv:
      return define_integer_conv(d);
    case Op::kBlockMatMul:
      return define_block_matmul(d);
    default:
      break;
  }
  TW_CHECK(false, info(op).text);
  return {};
}

}  // namespace

std::vector<ValueId> define_composite(Builder& builder, Op op, std::span<const ValueId> inputs, const Attrs& attrs) {
  const Attrs complete = complete_attrs(op, attrs).value();
  Definition definition(builder, inputs, complete);
  return define(op, definition);
}

ValueId float_zeros(Builder& builder, std::span<const ValueId> inputs, const Attrs& attrs) {
  Definition definition(builder, inputs, attrs);
  return define_float_zeros(definition);
}

ValueId Definition::wide(std::size_t input) {
  const DType dtype = builder_.type(inputs_[input]).dtype;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? cast(inputs_[input], DType::kF32) : inputs_[input];
}

std::vector<ValueId> Definition::narrow(ValueId value) {
  return {cast(value, dtype(inputs_[0]))};
}

ValueId Definition::cast(ValueId value, DType wanted) {
  return dtype(value) == wanted ? value : op(Op::kCast, {value}, {{"dtype", wanted}});
}

Dim Definition::count(ValueId value, const Ints& axes) const {
  Dim product(1);
  for (std::int64_t axis : axes) product = product * shape(value)[static_cast<std::size_t>(axis)];
  return product;
}

ValueId Definition::drop_axes(ValueId value, const Ints& axes) {
  if (attrs_.flag("keepdim")) return value;
  Shape kept;
  for (std::int64_t axis = 0; axis < rank(value); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) kept.push_back(shape(value)[static_cast<std::size_t>(axis)]);
  }
  return reshape(value, std::move(kept));
}

}  // namespace tilewright
