// The infer functions that ops.def names. Arity and attributes have been checked before one is called, so each looks only
// at what its family adds: dtypes, ranks, axes and dims.
#pragma once

#include "tilewright/graph/infer/infer.h"

namespace tilewright {

#define TW_INFER(name) Result<Types> name(const InferInput& in);
// elementwise.cc
TW_INFER(infer_same) TW_INFER(infer_same_float) TW_INFER(infer_same_bits) TW_INFER(infer_predicate)
TW_INFER(infer_cast) TW_INFER(infer_bitcast)
TW_INFER(infer_broadcast) TW_INFER(infer_broadcast_float) TW_INFER(infer_broadcast_bits)
TW_INFER(infer_compare) TW_INFER(infer_select)
// create.cc
TW_INFER(infer_constant) TW_INFER(infer_scalar) TW_INFER(infer_iota) TW_INFER(infer_random)
// movement.cc
TW_INFER(infer_reshape) TW_INFER(infer_transpose) TW_INFER(infer_expand) TW_INFER(infer_slice) TW_INFER(infer_pad)
TW_INFER(infer_concat) TW_INFER(infer_flip) TW_INFER(infer_roll)
// indexing.cc
TW_INFER(infer_gather) TW_INFER(infer_gather_elements) TW_INFER(infer_index) TW_INFER(infer_index_put)
TW_INFER(infer_scatter_elements) TW_INFER(infer_update_slice)
// reduce.cc
TW_INFER(infer_reduce) TW_INFER(infer_reduce_bool) TW_INFER(infer_reduce_float) TW_INFER(infer_arg_reduce)
TW_INFER(infer_cum) TW_INFER(infer_cum_extreme) TW_INFER(infer_sort) TW_INFER(infer_topk)
// contraction.cc
TW_INFER(infer_matmul) TW_INFER(infer_conv) TW_INFER(infer_conv_transpose) TW_INFER(infer_pool)
// composite.cc
TW_INFER(infer_softmax) TW_INFER(infer_norm) TW_INFER(infer_group_norm) TW_INFER(infer_batch_norm)
TW_INFER(infer_attention)
// late.cc
TW_INFER(infer_nonzero) TW_INFER(infer_item) TW_INFER(infer_unique)
// control.cc
TW_INFER(infer_if) TW_INFER(infer_while) TW_INFER(infer_call) TW_INFER(infer_host_call) TW_INFER(infer_assign)
TW_INFER(infer_nothing)
#undef TW_INFER

}  // namespace tilewright
