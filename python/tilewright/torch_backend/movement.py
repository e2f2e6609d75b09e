"""ATen ops that move elements: views, slices, pads, joins. Result sizes come from the fake value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .._core import Dim
from .dims import to_dim
from .dtypes import TO_LIBRARY
from .order import product
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value


@lowers("clone", "alias", "detach", "lift_fresh_copy", "lift_fresh", "contiguous", "positive")
def _identity(c: Lowering, x: Value, **_: Any) -> Value:
    return x


@lowers("view", "_unsafe_view", "reshape", "_reshape_copy", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze")
def _reshape(c: Lowering, x: Value, *_: Any) -> Value:
    return c.reshape(x, c.fake.shape)


@lowers("view.dtype")
def _bitcast(c: Lowering, x: Value, dtype: torch.dtype) -> Value:
    if dtype.itemsize != x.dtype.itemsize:
        raise CannotLower("a view as a dtype of another size")
    (result,) = c.graph.op("bitcast", [x.id], {"dtype": TO_LIBRARY[dtype]}, [], c.label)
    return c.wrap(result, dtype)


@lowers("expand")
def _expand(c: Lowering, x: Value, *_: Any, **__: Any) -> Value:
    return c.expand(x, c.fake.shape)


@lowers("permute")
def _permute(c: Lowering, x: Value, dims: Sequence[int]) -> Value:
    return c.transpose(x, [dim % x.rank for dim in dims])


@lowers("t")
def _t(c: Lowering, x: Value) -> Value:
    return c.transpose(x, [1, 0]) if x.rank == 2 else x


@lowers("transpose.int")
def _transpose(c: Lowering, x: Value, a: int, b: int) -> Value:
    if x.rank == 0:
        return x
    perm = list(range(x.rank))
    perm[a], perm[b] = perm[b], perm[a]
    return c.transpose(x, perm)


def position(value: Any, size: Dim) -> Dim:
    """A start or index as torch counts it (negative from the end, clamped to the size), as a Dim from 0 to size."""
    if isinstance(value, Dim) and value.constant is None:
        wrapped = Dim.make("select", Dim.make("lt", value, 0), value + size, value)
        return Dim.make("max", 0, Dim.make("min", wrapped, size))
    number = int(value if not isinstance(value, Dim) else value.constant)
    if number >= 0:
        return Dim(number) if size.constant is None else Dim(min(number, size.constant))
    return Dim.make("max", 0, size + number) if size.constant is None else Dim(max(0, size.constant + number))


def start_of(c: Lowering, value: Any, x: Value, axis: int, length: Dim, whole_step: bool) -> Dim:
    """Where a slice of `x` with `length` elements begins."""
    size = x.size(axis)
    if value is None or length.constant == 0:
        return Dim(0)
    if isinstance(value, Dim) and value.constant is None:
        return symbolic_start(c, value, size, axis)
    if isinstance(value, int) and value < 0 and whole_step and length == -Dim(value):
        return size + value  # x[-k:] with k elements left
    if isinstance(value, int) and value < 0 and length == size:
        return Dim(0)
    return position(value, size)


def symbolic_start(c: Lowering, value: Dim, size: Dim, axis: int) -> Dim:
    """A start as torch counts it. What torch can guard on, it has guarded: then no call has to compare."""
    start = c.symbolic(value)
    if start is None:
        return value if c.is_natural(value) else position(value, size)
    return size if start > c.extent(axis) else value


def slice_axis(c: Lowering, x: Value, axis: int, start: Any, length: Any, step: int = 1) -> Value:
    """`length` elements of one axis from `start` on, every `step`-th."""
    start, length = to_dim(start), to_dim(length)
    starts = [Dim(0)] * x.rank
    stops = list(x.shape)
    steps = [1] * x.rank
    starts[axis], steps[axis] = start, step
    if step == 1:
        stops[axis] = start + length
    else:
        stops[axis] = Dim.make("max", start, start + (length - 1) * step + 1)
    if start.constant == 0 and step == 1 and length == x.shape[axis]:
        return x
    return c.op("slice", x, start=starts, stop=stops, step=steps)


@lowers("slice.Tensor")
def _slice(c: Lowering, x: Value, dim: int = 0, start: Any = None, stop: Any = None, step: int = 1) -> Value:
    axis, step = dim % x.rank, c.known(step)
    start, stop = (c.known_if_negative(number) for number in (start, stop))
    length = to_dim(c.fake.shape[axis])
    result = slice_axis(c, x, axis, start_of(c, start, x, axis, length, step == 1), length, step)
    return fitted(c, result)


def fitted(c: Lowering, result: Value) -> Value:
    """The result with the sizes spelled as the fake value spells them."""
    shape = tuple(to_dim(size) for size in c.fake.shape)
    return result if shape == result.shape else c.reshape(result, shape)


@lowers("select.int")
def _select(c: Lowering, x: Value, dim: int, index: Any) -> Value:
    axis = dim % x.rank
    return c.reshape(slice_axis(c, x, axis, index_of(c, index, x, axis), 1), c.fake.shape)


def index_of(c: Lowering, index: Any, x: Value, axis: int) -> Dim:
    """An index into an axis, which counts from the end where it is negative."""
    index = c.known_if_negative(index)
    if isinstance(index, int):
        return Dim(index) if index >= 0 else x.size(axis) + index
    if c.symbolic(index) is not None or c.is_natural(index):
        return index
    return Dim.make("select", Dim.make("lt", index, 0), index + x.size(axis), index)


@lowers("split_with_sizes", "split_with_sizes_copy")
def _split(c: Lowering, x: Value, sizes: Sequence[Any], dim: int = 0) -> list[Value]:
    axis, start, parts = dim % x.rank, Dim(0), []
    for size in sizes:
        parts.append(slice_axis(c, x, axis, start, size))
        start = start + to_dim(size)
    return parts


@lowers("unbind.int")
def _unbind(c: Lowering, x: Value, dim: int = 0) -> list[Value]:
    axis = dim % x.rank
    return [c.reshape(slice_axis(c, x, axis, i, 1), fake.shape) for i, fake in enumerate(c.fake)]


@lowers("cat")
def _cat(c: Lowering, tensors: Sequence[Value], dim: int = 0) -> Value:
    parts = [x for x in tensors if not (x.rank == 1 and x.size(0).constant == 0)] or [tensors[0]]
    dtype = c.fake.dtype
    parts = [c.cast(x, dtype) for x in parts]
    return parts[0] if len(parts) == 1 else c.op("concat", *parts, axis=dim % parts[0].rank)


@lowers("stack")
def _stack(c: Lowering, tensors: Sequence[Value], dim: int = 0) -> Value:
    axis = dim % (tensors[0].rank + 1)
    parts = [c.cast(x, c.fake.dtype) for x in tensors]
    parts = [c.reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]]) for x in parts]
    return parts[0] if len(parts) == 1 else c.op("concat", *parts, axis=axis)


@lowers("repeat")
def _repeat(c: Lowering, x: Value, repeats: Sequence[Any]) -> Value:
    shape = [Dim(1)] * (len(repeats) - x.rank) + list(x.shape)
    split = [size for own in shape for size in (Dim(1), own)]
    wide = [size for own, times in zip(shape, repeats, strict=True) for size in (to_dim(times), own)]
    return c.reshape(c.expand(c.reshape(x, split), wide), c.fake.shape)


@lowers("flip")
def _flip(c: Lowering, x: Value, dims: Sequence[int]) -> Value:
    axes = sorted({dim % max(x.rank, 1) for dim in dims} if x.rank else set())
    return c.op("flip", x, axes=axes) if axes else x


@lowers("roll")
def _roll(c: Lowering, x: Value, shifts: Any, dims: Any = ()) -> Value:
    shifts = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    axes = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if x.rank == 0:
        return x
    if not axes:
        flat = c.op("roll", c.reshape(x, [product(x.shape)]), axes=[0], shift=shifts)
        return c.reshape(flat, x.shape)
    out = x
    for axis, shift in zip(axes, shifts, strict=True):
        out = c.op("roll", out, axes=[axis % x.rank], shift=[shift])
    return out


def pad(c: Lowering, x: Value, amounts: Sequence[Any], mode: str, number: Any = 0) -> Value:
    """Pads given as torch gives them: (low, high) from the last axis backwards."""
    low, high = [Dim(0)] * x.rank, [Dim(0)] * x.rank
    for i in range(len(amounts) // 2):
        axis, before, after = x.rank - 1 - i, *(c.known_if_negative(amount) for amount in amounts[2 * i : 2 * i + 2])
        if mode != "constant" and any(isinstance(amount, int) and amount < 0 for amount in (before, after)):
            x = cropped(c, x, axis, to_dim(before), to_dim(after), mode)
        else:
            low[axis], high[axis] = to_dim(before), to_dim(after)
    inputs = [x] if mode != "constant" else [x, c.scalar(number, x.dtype)]
    return fitted(c, c.op("pad", *inputs, low=low, high=high, mode=mode))


def cropped(c: Lowering, x: Value, axis: int, before: Dim, after: Dim, mode: str) -> Value:
    """One axis padded by amounts of which one is negative: the other may repeat elements that are cropped."""
    size = x.size(axis)
    last, zero = c.scalar(size - 1, torch.int64), c.scalar(0, torch.int64)
    index = c.iota(size + before + after, start=-before)
    if mode == "replicate":
        index = c.op("max", c.op("min", index, last), zero)
    else:
        index = c.op("sub", last, c.op("abs", c.op("sub", c.op("abs", index), last)))
    return c.op("gather", x, index, axis=axis)


@lowers("constant_pad_nd")
def _constant_pad(c: Lowering, x: Value, amounts: Sequence[Any], number: Any = 0) -> Value:
    return pad(c, x, amounts, "constant", number)


@lowers("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def _reflection_pad(c: Lowering, x: Value, amounts: Sequence[Any]) -> Value:
    return pad(c, x, amounts, "reflect")


@lowers("replication_pad1d", "replication_pad2d", "replication_pad3d")
def _replication_pad(c: Lowering, x: Value, amounts: Sequence[Any]) -> Value:
    return pad(c, x, amounts, "replicate")


@lowers("copy")
def _copy(c: Lowering, x: Value, source: Value, *_: Any) -> Value:
    return c.expand(c.cast(source, x.dtype), x.shape)


@lowers("slice_scatter")
def _slice_scatter(
    c: Lowering, x: Value, source: Value, dim: int = 0, start: Any = None, stop: Any = None, step: int = 1
) -> Value:
    axis, step = dim % x.rank, c.known(step)
    start, stop = (c.known_if_negative(number) for number in (start, stop))
    starts, steps = [Dim(0)] * x.rank, [1] * x.rank
    starts[axis] = start_of(c, start, x, axis, source.size(axis), step == 1)
    steps[axis] = step
    return c.op("update_slice", x, c.cast(source, x.dtype), start=starts, step=steps)


@lowers("select_scatter")
def _select_scatter(c: Lowering, x: Value, source: Value, dim: int, index: Any) -> Value:
    axis = dim % x.rank
    starts = [Dim(0)] * x.rank
    starts[axis] = index_of(c, index, x, axis)
    shape = [Dim(1) if i == axis else size for i, size in enumerate(x.shape)]
    return c.op("update_slice", x, c.reshape(c.cast(source, x.dtype), shape), start=starts, step=[1] * x.rank)


@lowers("unfold")
def _unfold(c: Lowering, x: Value, dim: int, size: Any, step: Any) -> Value:
    if x.rank == 0:
        raise CannotLower("windows of a rank-0 tensor")
    axis = dim % x.rank
    first = c.reshape(c.iota(to_dim(c.fake.shape[axis]), start=0, step=step), [c.fake.shape[axis], 1])
    index = c.op("add", first, c.reshape(c.iota(to_dim(size)), [1, size]))
    windows = c.op("gather", x, index, axis=axis)
    return c.transpose(windows, [i for i in range(windows.rank) if i != axis + 1] + [axis + 1])


@lowers("diagonal")
def _diagonal(c: Lowering, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    a, b = dim1 % x.rank, dim2 % x.rank
    rest = [i for i in range(x.rank) if i not in (a, b)]
    x = c.transpose(x, [a, b, *rest])
    steps = c.iota(to_dim(c.fake.shape[-1]))
    rows = c.op("add", steps, c.scalar(max(-offset, 0), torch.int64))
    columns = c.op("add", steps, c.scalar(max(offset, 0), torch.int64))
    picked = c.op("index", x, rows, columns, axes=[0, 1])
    return c.transpose(picked, [*range(1, picked.rank), 0])


def storage_positions(c: Lowering, sizes: Sequence[Any], strides: Sequence[Any], offset: Any) -> Value:
    """i64 positions in storage of a strided view, of the view's shape."""
    total = c.reshape(c.scalar(to_dim(offset), torch.int64), [1] * len(sizes))
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        steps = c.iota(to_dim(size), step=to_dim(stride))
        total = c.op("add", total, c.reshape(steps, [size if i == axis else 1 for i in range(len(sizes))]))
    return total


def in_storage_order(c: Lowering, x: Value, fake: torch.Tensor) -> tuple[Value, list[int]]:
    """`x` flat as it lies in memory, and the permutation that was needed; its memory must be dense."""
    from .border import is_dense

    perm = sorted(range(x.rank), key=lambda axis: (-hint(fake.stride(axis)), axis))
    if not is_dense([fake.size(i) for i in perm], [fake.stride(i) for i in perm]):
        raise CannotLower("a view of memory with gaps")
    moved = c.transpose(x, perm)
    return c.reshape(moved, [product(x.shape)]), perm


def hint(size: Any) -> int:
    if isinstance(size, int):
        return size
    value = size.node.hint
    return 2**31 if value is None else int(value)


@lowers("as_strided")
def _as_strided(c: Lowering, x: Value, size: Sequence[Any], stride: Sequence[Any], offset: Any = None) -> Value:
    assert c.node is not None
    source = c.node.args[0]
    assert isinstance(source, torch.fx.Node)
    fake = source.meta["val"]
    view = c.view_of_argument(
        source, size, stride, fake.storage_offset() if offset is None else offset, offset is not None
    )
    if view is not None:
        return view
    flat, _ = in_storage_order(c, x, fake)
    start = to_dim(0 if offset is None else offset) - to_dim(fake.storage_offset() if offset is not None else 0)
    return c.op("gather", flat, storage_positions(c, size, stride, start), axis=0)


@lowers("as_strided_scatter")
def _as_strided_scatter(
    c: Lowering, x: Value, source: Value, size: Sequence[Any], stride: Sequence[Any], offset: Any = None
) -> Value:
    assert c.node is not None and isinstance(c.node.args[0], torch.fx.Node)
    fake = c.node.args[0].meta["val"]
    flat, perm = in_storage_order(c, x, fake)
    start = to_dim(0 if offset is None else offset) - to_dim(fake.storage_offset() if offset is not None else 0)
    updated = c.op("index_put", flat, c.cast(source, x.dtype), storage_positions(c, size, stride, start), axes=[0])
    shaped = c.reshape(updated, [x.shape[axis] for axis in perm])
    inverse = [perm.index(axis) for axis in range(x.rank)]
    return c.transpose(shaped, inverse)
