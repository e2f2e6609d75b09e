"""Positions of extremes, sorting, selection of the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .reduce import check_not_empty
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value


def comparable(c: Lowering, x: Value) -> Value:
    return c.cast(x, torch.uint8) if x.dtype is torch.bool else x


@lowers("argmax", "argmin")
def _arg_extreme(c: Lowering, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    assert c.node is not None
    op = "argmax" if "argmax" in str(c.node.target) else "argmin"
    return arg_extreme(c, op, comparable(c, x), dim, keepdim)


def arg_extreme(c: Lowering, op: str, x: Value, dim: int | None, keepdim: bool) -> Value:
    if x.rank == 0:
        return c.scalar(0, torch.int64)
    check_not_empty(c, x, range(x.rank) if dim is None else [dim % x.rank])
    if dim is None:
        flat = c.op(op, c.reshape(x, [product(x.shape)]), axis=0, dtype=torch.int64)
        return c.reshape(flat, [1] * x.rank) if keepdim else flat
    return c.op(op, x, axis=dim % x.rank, keepdim=keepdim, dtype=torch.int64)


def product(sizes: Any) -> Any:
    total: Any = 1
    for size in sizes:
        total = size * total
    return total


@lowers("max.dim", "min.dim")
def _extreme_with_position(c: Lowering, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    assert c.node is not None
    largest = "max" in str(c.node.target)
    if x.rank == 0:
        return x, c.scalar(0, torch.int64)
    axis = dim % x.rank
    key = comparable(c, x)
    check_not_empty(c, x, [axis])
    values = c.op("reduce_max" if largest else "reduce_min", key, axes=[axis], keepdim=keepdim)
    return c.cast(values, x.dtype), arg_extreme(c, "argmax" if largest else "argmin", key, axis, keepdim)


@lowers("sort")
def _sort(c: Lowering, x: Value, dim: int = -1, descending: bool = False) -> list[Value]:
    return sort(c, x, dim, descending)


@lowers("sort.stable")
def _sort_stable(
    c: Lowering, x: Value, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> list[Value]:
    return sort(c, x, dim, descending)


def sort(c: Lowering, x: Value, dim: int, descending: bool) -> list[Value]:
    if x.rank == 0:
        return [x, c.scalar(0, torch.int64)]
    values, order = c.ops(
        "sort", comparable(c, x), dtypes=(comparable_dtype(x), torch.int64), axis=dim % x.rank, descending=descending
    )
    return [c.cast(values, x.dtype), order]


def comparable_dtype(x: Value) -> torch.dtype:
    return torch.uint8 if x.dtype is torch.bool else x.dtype


@lowers("topk")
def _topk(c: Lowering, x: Value, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    if x.rank == 0:
        raise CannotLower("the largest of a rank-0 tensor")
    values, order = c.ops(
        "topk", comparable(c, x), dtypes=(comparable_dtype(x), torch.int64), axis=dim % x.rank, k=k, largest=largest
    )
    return [c.cast(values, x.dtype), order]
