"""Matrix products, convolutions, pooling, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .._core import Dim
from .dims import to_dim
from .dtypes import HALVES
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value


@lowers("mm", "bmm")
def _matmul(c: Lowering, a: Value, b: Value) -> Value:
    return c.op("matmul", a, b)


@lowers("mv", "dot")
def _vector_product(c: Lowering, a: Value, b: Value) -> Value:
    left = a if a.rank == 2 else c.reshape(a, [1, a.size(0)])
    return c.reshape(c.op("matmul", left, c.reshape(b, [b.size(0), 1])), c.fake.shape)


@lowers("addmm", "baddbmm")
def _addmm(c: Lowering, bias: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    wide = torch.float32 if a.dtype in HALVES else a.dtype  # so that the sum is rounded once, as in torch
    product = c.op("matmul", a, b, dtype=wide, wide=a.dtype in HALVES)
    if alpha != 1:
        product = c.op("mul", product, c.scalar(alpha, wide))
    if beta == 0:
        return c.cast(product, a.dtype)
    addend = c.cast(bias, wide)
    if beta != 1:
        addend = c.op("mul", addend, c.scalar(beta, wide))
    return c.cast(c.op("add", product, addend), a.dtype)


@lowers("convolution")
def _convolution(
    c: Lowering,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[Any],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    spatial = x.rank - 2

    def full(values: Sequence[Any]) -> list[Any]:
        return list(values) * spatial if len(values) == 1 else list(values)

    pads = [to_dim(amount) for amount in full(padding)]
    attrs: dict[str, Any] = {
        "stride": [c.known(number) for number in full(stride)],
        "low": pads,
        "high": pads,
        "dilation": [c.known(number) for number in full(dilation)],
        "groups": c.known(groups),
    }
    if transposed:
        attrs["output_pad"] = [c.known(number) for number in full(output_padding)]
    inputs = [x, weight] if bias is None else [x, weight, bias]
    out = c.op("conv_transpose" if transposed else "conv", *inputs, **attrs)
    return c.reshape(out, c.fake.shape)


def pool_pads(
    x: Value,
    fake: Any,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[list[Dim], list[Dim]]:
    """Pads before and after each spatial axis; with ceil_mode what the last, partial window needs."""
    low = [to_dim(amount) for amount in padding]
    if not ceil_mode:
        return low, low
    high = []
    for i, begin in enumerate(low):
        axis = x.rank - len(low) + i
        needed = (
            (to_dim(fake.shape[len(fake.shape) - len(low) + i]) - 1) * stride[i] + dilation[i] * (window[i] - 1) + 1
        )
        high.append(Dim.make("max", begin, needed - x.size(axis) - begin))
    return low, high


def _spread(values: Any, spatial: int, default: Sequence[int]) -> list[int]:
    values = [values] if isinstance(values, int) else list(values)
    if not values:
        return list(default)
    return values * spatial if len(values) == 1 else values


def batched(c: Lowering, x: Value, spatial: int) -> Value:
    return x if x.rank == spatial + 2 else c.reshape(x, [1, *x.shape])


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    c: Lowering, x: Value, window: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> list[Value]:
    assert c.node is not None
    spatial = 2 if "pool2d" in str(c.node.target) else 3
    window = _spread(window, spatial, ())
    stride = _spread(stride, spatial, window)
    padding, dilation = _spread(padding, spatial, ()), _spread(dilation, spatial, ())
    low, high = pool_pads(x, c.fake[0], window, stride, padding, dilation, ceil_mode)
    values, positions = c.ops(
        "max_pool",
        batched(c, x, spatial),
        dtypes=(x.dtype, torch.int64),
        window=window,
        stride=stride,
        low=low,
        high=high,
        dilation=dilation,
    )
    return [c.reshape(values, c.fake[0].shape), c.reshape(positions, c.fake[1].shape)]


@lowers("avg_pool2d", "avg_pool3d", "avg_pool1d")
def _avg_pool(
    c: Lowering,
    x: Value,
    window: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    assert c.node is not None
    spatial = int(str(c.node.target).split("pool")[1][0])
    if ceil_mode:
        raise CannotLower("average pooling with partial windows")
    window = _spread(window, spatial, ())
    pads = [to_dim(amount) for amount in _spread(padding, spatial, ())]
    out = c.op(
        "avg_pool",
        batched(c, x, spatial),
        window=window,
        stride=_spread(stride, spatial, window),
        low=pads,
        high=pads,
        count_pads=count_include_pad,
        divisor=abs(divisor_override or 0),
    )
    return c.reshape(c.op("neg", out) if (divisor_override or 0) < 0 else out, c.fake.shape)


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _adaptive_avg_pool(c: Lowering, x: Value, size: Sequence[Any]) -> Value:
    spatial = len(size)
    axes = list(range(x.rank - spatial, x.rank))
    if all(number == 1 for number in size):
        return c.op("reduce_mean", x, axes=axes, keepdim=True)
    window = []
    for axis, number in zip(axes, size, strict=True):
        extent = x.size(axis).constant
        if not isinstance(number, int) or extent is None or extent % number:
            raise CannotLower("adaptive pooling with windows of several sizes")
        window.append(extent // number)
    zero = [Dim(0)] * spatial
    out = c.op("avg_pool", batched(c, x, spatial), window=window, stride=window, low=zero, high=zero)
    return c.reshape(out, c.fake.shape)


@lowers("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    c: Lowering,
    q: Value,
    k: Value,
    v: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: Any = None,
) -> list[Value | None]:
    if dropout_p:
        raise CannotLower("attention with dropout")
    if scale is None:
        width = q.size(3)
        scale = 1.0 / math.sqrt(width.constant) if width.constant else Dim.make("truediv", 1.0, Dim.make("sqrt", width))
    scale = Dim(float(scale)) if isinstance(scale, (int, float)) else scale
    inputs = [q, k, v] if attn_mask is None else [q, k, v, mask_of(c, attn_mask, q)]
    out = c.op("attention", *inputs, scale=scale, causal=is_causal)
    return [out, log_weights(c, q, k, attn_mask, is_causal, scale) if is_used(c, 1) else None]


def mask_of(c: Lowering, mask: Value, q: Value) -> Value:
    mask = mask if mask.dtype is torch.bool else c.cast(mask, q.dtype)
    return mask if mask.rank == 4 else c.reshape(mask, [1] * (4 - mask.rank) + list(mask.shape))


def is_used(c: Lowering, result: int) -> bool:
    """True if the node's result of this number is read."""
    assert c.node is not None
    return any(len(user.args) > 1 and user.args[1] == result for user in c.node.users)


def log_weights(c: Lowering, q: Value, k: Value, mask: Value | None, is_causal: bool, scale: Any) -> Value:
    """log(sum(exp(q k^T * scale + mask))) of each query in f32, which the backward pass reads."""
    raise CannotLower("attention whose backward pass needs its weights")
