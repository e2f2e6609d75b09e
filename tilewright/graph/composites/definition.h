// Definition: what every composite definition needs, so that the definitions themselves read like their formulas.
// Numbers become `scalar` nodes, f16 and bf16 widen to f32 and narrow back at the end, reductions keep their dims.
// All inputs are known to be right (Builder::must): infer has seen the composite node before it is defined.
#pragma once

#include <initializer_list>

#include "tilewright/graph/composites/composites.h"

namespace tilewright {

class Definition {
 public:
  Definition(Builder& builder, std::span<const ValueId> inputs, const Attrs& attrs)
      : builder_(builder), inputs_(inputs), attrs_(attrs) {}

  std::size_t num_inputs() const { return inputs_.size(); }
  ValueId raw(std::size_t input) const { return inputs_[input]; }
  Shape shape(ValueId value) const { return builder_.type(value).shape; }  // a copy: new nodes move the types
  DType dtype(ValueId value) const { return builder_.type(value).dtype; }
  std::int64_t rank(ValueId value) const { return static_cast<std::int64_t>(shape(value).size()); }
  const Attrs& attrs() const { return attrs_; }

  // Input `input` in the dtype the definition computes in: f32 for f16 and bf16, else its own.
  ValueId wide(std::size_t input);
  // The result in the dtype of input 0.
  std::vector<ValueId> narrow(ValueId value);

  ValueId op(Op op, std::initializer_list<ValueId> inputs, Attrs attrs = {}) {
    return builder_.must(op, std::vector<ValueId>(inputs), std::move(attrs));
  }
  ValueId op(Op op, const std::vector<ValueId>& inputs, Attrs attrs = {}) {
    return builder_.must(op, inputs, std::move(attrs));
  }
  ValueId add(ValueId a, ValueId b) { return op(Op::kAdd, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op(Op::kSub, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(Op::kMul, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op(Op::kDiv, {a, b}); }
  ValueId select(ValueId condition, ValueId a, ValueId b) { return op(Op::kSelect, {condition, a, b}); }
  // A rank-0 number of the dtype of `like`.
  ValueId number(ValueId like, Dim value) { return builder_.scalar(dtype(like), value); }
  ValueId number(ValueId like, double value) { return builder_.scalar(dtype(like), Dim::real(value)); }
  ValueId cast(ValueId value, DType dtype);
  ValueId reshape(ValueId value, Shape shape) { return op(Op::kReshape, {value}, {{"shape", std::move(shape)}}); }
  ValueId reduce(Op reduction, ValueId value, const Ints& axes) {
    return op(reduction, {value}, {{"axes", axes}, {"keepdim", true}});
  }
  // Product of the sizes of `axes`.
  Dim count(ValueId value, const Ints& axes) const;
  // `value`, whose `axes` have size 1 after reduce(), without these axes unless the attribute keepdim is set.
  ValueId drop_axes(ValueId value, const Ints& axes);

 private:
  Builder& builder_;
  std::span<const ValueId> inputs_;
  const Attrs& attrs_;
};

// One family of definitions per file.
std::vector<ValueId> define_roll(Definition& d);
std::vector<ValueId> define_reduce_mean(Definition& d);
std::vector<ValueId> define_variance(Definition& d);
std::vector<ValueId> define_logsumexp(Definition& d);
std::vector<ValueId> define_softmax(Definition& d);
std::vector<ValueId> define_log_softmax(Definition& d);
std::vector<ValueId> define_layer_norm(Definition& d);
std::vector<ValueId> define_rms_norm(Definition& d);
std::vector<ValueId> define_group_norm(Definition& d);
std::vector<ValueId> define_batch_norm(Definition& d);
std::vector<ValueId> define_gelu(Definition& d);
std::vector<ValueId> define_silu(Definition& d);
std::vector<ValueId> define_leaky_relu(Definition& d);
std::vector<ValueId> define_elu(Definition& d);
std::vector<ValueId> define_softplus(Definition& d);
std::vector<ValueId> define_hard_sigmoid(Definition& d);
std::vector<ValueId> define_hard_swish(Definition& d);
std::vector<ValueId> define_mish(Definition& d);
std::vector<ValueId> define_attention(Definition& d);
std::vector<ValueId> define_quantize_linear(Definition& d);
std::vector<ValueId> define_dequantize_linear(Definition& d);
std::vector<ValueId> define_integer_matmul(Definition& d);
std::vector<ValueId> define_integer_conv(Definition& d);
std::vector<ValueId> define_block_matmul(Definition& d);
ValueId define_float_zeros(Definition& d);  // of a block_matmul: its zeros [n, blocks], unpacked

}  // namespace tilewright
