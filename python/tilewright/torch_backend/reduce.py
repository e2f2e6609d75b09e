"""Reductions. Sums of half precision accumulate in f32, sums of integers in i64, as torch does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .dtypes import HALVES
from .elementwise import predicate, to_float
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value


def axes_of(rank: int, dims: int | Sequence[int] | None) -> list[int]:
    """The axes that `dims` names; none or an empty list names all of them."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(rank))
    named = [dims] if isinstance(dims, int) else dims
    return sorted({dim % max(rank, 1) for dim in named} if rank else set())


def accumulator(x: Value, dtype: torch.dtype) -> torch.dtype:
    return torch.float32 if dtype in HALVES else dtype


def reduce(c: Lowering, op: str, x: Value, dims: Any, keepdim: bool) -> Value:
    axes = axes_of(x.rank, dims)
    return c.op(op, x, axes=axes, keepdim=keepdim) if axes else x


def accumulate(c: Lowering, op: str, x: Value, dims: Any, keepdim: bool, dtype: torch.dtype) -> Value:
    """A sum, product or mean of `x` taken as `dtype`."""
    wide = c.cast(x, accumulator(x, dtype))
    return c.cast(reduce(c, op, wide, dims, keepdim), dtype)


def sum_dtype(x: Value, dtype: torch.dtype | None) -> torch.dtype:
    return dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)


@lowers("sum.dim_IntList", "sum")
def _sum(c: Lowering, x: Value, dims: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Value:
    return accumulate(c, "reduce_sum", x, dims, keepdim, sum_dtype(x, dtype))


@lowers("prod")
def _prod_all(c: Lowering, x: Value, *, dtype: torch.dtype | None = None) -> Value:
    return accumulate(c, "reduce_prod", x, None, False, sum_dtype(x, dtype))


@lowers("prod.dim_int")
def _prod(c: Lowering, x: Value, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Value:
    return accumulate(c, "reduce_prod", x, dim, keepdim, sum_dtype(x, dtype))


@lowers("mean.dim")
def _mean(c: Lowering, x: Value, dims: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Value:
    return accumulate(c, "reduce_mean", x, dims, keepdim, dtype or x.dtype)


@lowers("mean")
def _mean_all(c: Lowering, x: Value, *, dtype: torch.dtype | None = None) -> Value:
    return accumulate(c, "reduce_mean", x, None, False, dtype or x.dtype)


@lowers("amax", "amin")
def _extreme(c: Lowering, x: Value, dims: Any = (), keepdim: bool = False) -> Value:
    assert c.node is not None
    op = "reduce_max" if "amax" in str(c.node.target) else "reduce_min"
    if x.dtype is torch.bool:
        op = "reduce_any" if op == "reduce_max" else "reduce_all"
    check_not_empty(c, x, axes_of(x.rank, dims))
    return reduce(c, op, x, dims, keepdim)


@lowers("max", "min")
def _extreme_all(c: Lowering, x: Value) -> Value:
    assert c.node is not None
    op = "reduce_max" if "max" in str(c.node.target) else "reduce_min"
    if x.dtype is torch.bool:
        op = "reduce_any" if op == "reduce_max" else "reduce_all"
    check_not_empty(c, x, axes_of(x.rank, None))
    return reduce(c, op, x, None, False)


def check_not_empty(c: Lowering, x: Value, axes: Sequence[int]) -> None:
    """torch refuses an extreme of nothing; Dynamo's traced sizes make it a certain 0 or a size of two or more."""
    if any(x.size(axis).constant == 0 for axis in axes):
        raise CannotLower("an extreme of nothing")


@lowers("any", "any.dim", "any.dims")
def _any(c: Lowering, x: Value, dims: Any = None, keepdim: bool = False) -> Value:
    return reduce(c, "reduce_any", predicate(c, x), dims, keepdim)


@lowers("all", "all.dim", "all.dims")
def _all(c: Lowering, x: Value, dims: Any = None, keepdim: bool = False) -> Value:
    return reduce(c, "reduce_all", predicate(c, x), dims, keepdim)


@lowers("var.correction")
def _var(c: Lowering, x: Value, dims: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Value:
    wide = c.cast(x, accumulator(x, x.dtype))
    correction = 1 if correction is None else correction
    if isinstance(correction, float) and correction == int(correction):
        correction = int(correction)
    axes = axes_of(x.rank, dims)
    if not axes:
        raise CannotLower("the variance of a rank-0 tensor")
    return c.cast(c.op("variance", wide, axes=axes, keepdim=keepdim, correction=correction), x.dtype)


@lowers("var_mean.correction")
def _var_mean(c: Lowering, x: Value, dims: Any = None, **options: Any) -> tuple[Value, Value]:
    return _var(c, x, dims, **options), _mean(c, x, dims, options.get("keepdim", False))


@lowers("logsumexp")
def _logsumexp(c: Lowering, x: Value, dims: Any, keepdim: bool = False) -> Value:
    x = to_float(c, x)
    wide = c.cast(x, accumulator(x, x.dtype))
    axes = axes_of(x.rank, dims)
    return c.cast(c.op("logsumexp", wide, axes=axes, keepdim=keepdim), x.dtype) if axes else x


@lowers("linalg_vector_norm")
def _vector_norm(
    c: Lowering, x: Value, order: Any = 2, dims: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Value:
    result = dtype or x.dtype
    wide = c.cast(x, accumulator(x, result))
    if order == 2:
        return c.cast(c.op("sqrt", reduce(c, "reduce_sum", c.op("mul", wide, wide), dims, keepdim)), result)
    magnitude = c.op("abs", wide)
    if order == 1:
        return c.cast(reduce(c, "reduce_sum", magnitude, dims, keepdim), result)
    if order in (float("inf"), float("-inf")):
        check_not_empty(c, x, axes_of(x.rank, dims))
        return c.cast(reduce(c, "reduce_max" if order > 0 else "reduce_min", magnitude, dims, keepdim), result)
    if order == 0:
        counted = c.cast(predicate(c, wide), wide.dtype)
        return c.cast(reduce(c, "reduce_sum", counted, dims, keepdim), result)
    total = reduce(c, "reduce_sum", c.op("pow", magnitude, c.scalar(float(order), wide.dtype)), dims, keepdim)
    return c.cast(c.op("pow", total, c.scalar(1.0 / float(order), wide.dtype)), result)


@lowers("cumsum", "cumprod")
def _running(c: Lowering, x: Value, dim: int, *, dtype: torch.dtype | None = None) -> Value:
    assert c.node is not None
    op = "cumsum" if "cumsum" in str(c.node.target) else "cumprod"
    result = sum_dtype(x, dtype)
    if x.rank == 0:
        return c.cast(x, result)
    return c.cast(c.op(op, c.cast(x, accumulator(x, result)), axis=dim % x.rank), result)


@lowers("cummax", "cummin")
def _running_extreme(c: Lowering, x: Value, dim: int) -> list[Value]:
    assert c.node is not None
    if x.rank == 0:
        return [x, c.scalar(0, torch.int64)]
    op = "cummax" if "cummax" in str(c.node.target) else "cummin"
    return c.ops(op, x, dtypes=(x.dtype, torch.int64), axis=dim % x.rank)
