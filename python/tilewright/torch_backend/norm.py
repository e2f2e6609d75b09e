"""Normalisations and softmax, kept whole: the backend has rows for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .contraction import is_used
from .dtypes import HALVES
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value


def wide(c: Lowering, x: Value) -> Value:
    return c.cast(x, torch.float32) if x.dtype in HALVES else x


def reciprocal_deviation(c: Lowering, variance: Value, eps: float) -> Value:
    return c.op("rsqrt", c.op("add", variance, c.scalar(eps, variance.dtype)))


@lowers("native_layer_norm")
def _layer_norm(
    c: Lowering, x: Value, shape: Sequence[Any], weight: Value | None, bias: Value | None, eps: Any
) -> list[Value | None]:
    inputs = [x]
    if weight is not None or bias is not None:
        inputs.append(c.cast(weight, x.dtype) if weight is not None else c.full(shape, 1, x.dtype))
    if bias is not None:
        inputs.append(c.cast(bias, x.dtype))
    out = c.op("layer_norm", *inputs, num_axes=len(shape), eps=eps)
    if not is_used(c, 1) and not is_used(c, 2):
        return [out, None, None]
    axes = list(range(x.rank - len(shape), x.rank))
    rows = wide(c, x)
    mean = c.op("reduce_mean", rows, axes=axes, keepdim=True)
    variance = c.op("variance", rows, axes=axes, keepdim=True, correction=0)
    return [out, mean, reciprocal_deviation(c, variance, eps)]


@lowers("native_group_norm")
def _group_norm(
    c: Lowering,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    n: Any,
    channels: Any,
    area: Any,
    groups: int,
    eps: Any,
) -> list[Value | None]:
    if is_used(c, 1) or is_used(c, 2):
        raise CannotLower("a group norm whose backward pass needs its statistics")
    inputs = [x]
    if weight is not None or bias is not None:
        inputs.append(c.cast(weight, x.dtype) if weight is not None else c.full([channels], 1, x.dtype))
    if bias is not None:
        inputs.append(c.cast(bias, x.dtype))
    return [c.op("group_norm", *inputs, groups=groups, eps=eps), None, None]


@lowers("_fused_rms_norm")
def _rms_norm(c: Lowering, x: Value, shape: Sequence[Any], weight: Value | None, eps: Any = None) -> list[Value | None]:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    inputs = [x] if weight is None else [x, c.cast(weight, x.dtype)]
    out = c.op("rms_norm", *inputs, num_axes=len(shape), eps=eps)
    if not is_used(c, 1):
        return [out, None]
    rows = wide(c, x)
    axes = list(range(x.rank - len(shape), x.rank))
    mean = c.op("reduce_mean", c.op("mul", rows, rows), axes=axes, keepdim=True)
    return [out, reciprocal_deviation(c, mean, eps)]


def batch_norm(
    c: Lowering, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value, eps: Any
) -> Value:
    channels = x.size(1)
    dtype = mean.dtype
    weight = c.full([channels], 1, dtype) if weight is None else c.cast(weight, dtype)
    bias = c.full([channels], 0, dtype) if bias is None else c.cast(bias, dtype)
    out = c.op("batch_norm", c.cast(x, dtype), weight, bias, mean, c.cast(variance, dtype), eps=eps)
    return c.cast(out, x.dtype)


@lowers("_native_batch_norm_legit_no_training")
def _batch_norm(
    c: Lowering,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: Any,
    eps: Any,
) -> list[Value]:
    nothing = c.full([0], 0, x.dtype)
    return [batch_norm(c, x, weight, bias, mean, variance, eps), nothing, nothing]


@lowers("_native_batch_norm_legit.no_stats")
def _batch_norm_of_itself(
    c: Lowering, x: Value, weight: Value | None, bias: Value | None, training: bool, momentum: Any, eps: Any
) -> list[Value]:
    rows = wide(c, x)
    axes = [axis for axis in range(x.rank) if axis != 1]
    mean = c.op("reduce_mean", rows, axes=axes)
    variance = c.op("variance", rows, axes=axes, correction=0)
    return [batch_norm(c, x, weight, bias, mean, variance, eps), mean, reciprocal_deviation(c, variance, eps)]


@lowers("_native_batch_norm_legit_functional")
def _batch_norm_training(
    c: Lowering,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    training: bool,
    momentum: Any,
    eps: Any,
) -> list[Value]:
    if not training:
        nothing = c.full([0], 0, x.dtype)
        return [batch_norm(c, x, weight, bias, mean, variance, eps), nothing, nothing, mean, variance]
    rows = wide(c, x)
    axes = [axis for axis in range(x.rank) if axis != 1]
    own_mean = c.op("reduce_mean", rows, axes=axes)
    own_variance = c.op("variance", rows, axes=axes, correction=0)
    unbiased = c.op("variance", rows, axes=axes, correction=1)
    out = batch_norm(c, x, weight, bias, own_mean, own_variance, eps)
    deviation = reciprocal_deviation(c, own_variance, eps)
    return [out, own_mean, deviation, moved(c, mean, own_mean, momentum), moved(c, variance, unbiased, momentum)]


def moved(c: Lowering, old: Value, new: Value, momentum: Any) -> Value:
    """old * (1 - momentum) + new * momentum"""
    kept = c.op("mul", old, c.scalar(1 - momentum, old.dtype))
    return c.op("add", kept, c.op("mul", c.cast(new, old.dtype), c.scalar(momentum, old.dtype)))


@lowers("_softmax", "_log_softmax")
def _softmax(c: Lowering, x: Value, dim: int, half_to_float: bool = False) -> Value:
    assert c.node is not None
    op = "log_softmax" if "log" in str(c.node.target) else "softmax"
    rows = c.cast(x, torch.float32) if half_to_float else x
    if x.rank == 0:
        return c.reshape(c.op(op, c.reshape(rows, [1]), axis=0), [])
    return c.op(op, rows, axis=dim % x.rank)
