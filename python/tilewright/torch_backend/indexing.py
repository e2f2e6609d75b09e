"""Gathers, scatters and indexing by tensors, with masks as positions of their true elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .._core import Dim
from .dims import to_dim
from .movement import slice_axis
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value


def as_index(c: Lowering, index: Value) -> Value:
    return c.cast(index, torch.int64)


@lowers("gather")
def _gather(c: Lowering, x: Value, dim: int, index: Value, **_: Any) -> Value:
    if x.rank == 0 or index.rank == 0:
        picked = c.op(
            "gather", c.reshape(x, [1] if x.rank == 0 else x.shape), c.reshape(as_index(c, index), [1]), axis=0
        )
        return c.reshape(picked, index.shape)
    return c.op("gather_elements", x, as_index(c, index), axis=dim % x.rank)


def scatter(c: Lowering, x: Value, dim: int, index: Value, updates: Value, reduce: str) -> Value:
    if x.rank == 0:
        one = scatter(c, c.reshape(x, [1]), 0, c.reshape(index, [1]), c.reshape(updates, [1]), reduce)
        return c.reshape(one, [])
    updates = c.cast(updates, x.dtype)
    for axis in range(index.rank):
        updates = slice_axis(c, updates, axis, 0, index.size(axis))
    return c.op("scatter_elements", x, as_index(c, index), updates, axis=dim % x.rank, reduce=reduce)


@lowers("scatter.src", "scatter_add")
def _scatter(c: Lowering, x: Value, dim: int, index: Value, source: Value) -> Value:
    assert c.node is not None
    return scatter(c, x, dim, index, source, "add" if "scatter_add" in str(c.node.target) else "none")


@lowers("scatter.value")
def _scatter_value(c: Lowering, x: Value, dim: int, index: Value, number: Any) -> Value:
    return scatter(c, x, dim, index, c.full(index.shape, number, x.dtype), "none")


@lowers("scatter_reduce.two")
def _scatter_reduce(
    c: Lowering, x: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Value:
    names = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "mean"}
    if not include_self:
        raise CannotLower("a scatter that leaves out the old values")
    if reduce == "mean" and not x.dtype.is_floating_point:
        raise CannotLower("a scattered mean of integers")
    return scatter(c, x, dim, index, source, names[reduce])


@lowers("scatter.reduce")
def _scatter_by(c: Lowering, x: Value, dim: int, index: Value, source: Value, *, reduce: str) -> Value:
    return scatter(c, x, dim, index, source, {"add": "add", "multiply": "mul"}[reduce])


@lowers("index_select")
def _index_select(c: Lowering, x: Value, dim: int, index: Value) -> Value:
    if x.rank == 0:
        return x
    flat = as_index(c, index)
    flat = c.reshape(flat, [1]) if flat.rank == 0 else flat
    return c.op("gather", x, flat, axis=dim % x.rank)


@lowers("embedding")
def _embedding(c: Lowering, weight: Value, indices: Value, *_: Any) -> Value:
    return c.op("gather", weight, as_index(c, indices), axis=0)


def nonzero(c: Lowering, mask: Value, count: Any) -> Value:
    """i64[count, rank] positions of the elements that are not 0; one node per mask and symbol."""
    found = c.nonzeros.get(mask.id)
    if found is None or (count is not None and to_dim(count) != found.size(0)):
        symbol = c.bind_size(count) if count is not None else c.fresh_symbol()
        found = c.nonzeros[mask.id] = c.op("nonzero", mask, count=symbol, dtype=torch.int64)
    return found


@lowers("nonzero")
def _nonzero(c: Lowering, x: Value) -> Value:
    found = nonzero(c, x, c.fake.shape[0])
    return c.reshape(found, c.fake.shape)


@lowers("masked_select")
def _masked_select(c: Lowering, x: Value, mask: Value) -> Value:
    from .lowering import Value as ValueType

    assert isinstance(x, ValueType)
    shape = [Dim.make("broadcast", a, b) if a != b else a for a, b in zip(*aligned(x.shape, mask.shape), strict=True)]
    found = nonzero(c, c.expand(mask, shape), c.fake.shape[0])
    columns = [column(c, found, i) for i in range(len(shape))]
    return c.op("index", c.expand(x, shape), *columns, axes=list(range(len(shape))))


def aligned(a: Sequence[Dim], b: Sequence[Dim]) -> tuple[list[Dim], list[Dim]]:
    rank = max(len(a), len(b))
    return [Dim(1)] * (rank - len(a)) + list(a), [Dim(1)] * (rank - len(b)) + list(b)


def column(c: Lowering, found: Value, axis: int) -> Value:
    return c.reshape(slice_axis(c, found, 1, axis, 1), [found.size(0)])


def index_tensors(c: Lowering, indices: Sequence[Value | None], count: Any) -> tuple[list[Value], list[int]]:
    """The index tensors and the axes they index; masks become one index tensor per axis."""
    tensors: list[Value] = []
    axes: list[int] = []
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
            continue
        if index.dtype not in (torch.bool, torch.uint8):
            tensors.append(as_index(c, index))
            axes.append(axis)
            axis += 1
            continue
        if index.rank == 0:
            raise CannotLower("a mask of rank 0")
        found = nonzero(c, index, count)
        for own in range(index.rank):
            tensors.append(column(c, found, own))
            axes.append(axis)
            axis += 1
    return tensors, axes


@lowers("index.Tensor", "_unsafe_index.Tensor")
def _index(c: Lowering, x: Value, indices: Sequence[Value | None]) -> Value:
    late = c.late_symbols()
    tensors, axes = index_tensors(c, indices, late[0] if late else None)
    result = c.op("index", x, *tensors, axes=axes)
    shape = tuple(to_dim(size) for size in c.fake.shape)
    return result if shape == result.shape else c.reshape(result, shape)


@lowers("index_put", "_unsafe_index_put")
def _index_put(
    c: Lowering, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    tensors, axes = index_tensors(c, indices, None)
    return c.op("index_put", x, c.cast(values, x.dtype), *tensors, axes=axes, accumulate=accumulate)


@lowers("repeat_interleave.Tensor")
def _repeat_interleave(c: Lowering, repeats: Value, output_size: Any = None) -> Value:
    """Each position i repeats[i] times: position j of the result is the number of running totals that are <= j."""
    counts = as_index(c, repeats)
    totals = c.op("cumsum", counts, axis=0)
    size = to_dim(c.fake.shape[0])
    if output_size is None:
        size = c.bind_size(c.fake.shape[0])
        c.graph.op("item", [c.op("reduce_sum", counts, axes=[0]).id], {"symbol": size}, [], "")
    marks = c.full([size + 1], 0, torch.int64)
    marks = c.op("scatter_elements", marks, totals, c.full(counts.shape, 1, torch.int64), axis=0, reduce="add")
    position = slice_axis(c, c.op("cumsum", marks, axis=0), 0, 0, size)
    return c.reshape(position, c.fake.shape)
