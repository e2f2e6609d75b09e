"""Layouts: how a tensor lies in its storage, (offset, sizes, strides, dtype), strides in elements."""

from __future__ import annotations

from typing import Any

import torch

from ..torch_backend.dtypes import TO_LIBRARY

Layout = tuple[int, tuple[int, ...], tuple[int, ...], torch.dtype]
DTYPES = list(TO_LIBRARY)  # by their numbers in the recorder
_untyped_storage = torch._C.TensorBase.untyped_storage  # torch.Tensor's own may be watched for host reads


def layout_of(tensor: torch.Tensor) -> Layout:
    return (int(tensor.storage_offset()), tuple(tensor.shape), tensor.stride(), tensor.dtype)


def storage_of(tensor: torch.Tensor) -> Any:
    return _untyped_storage(tensor)


def storage_key(tensor: torch.Tensor) -> int:
    return _untyped_storage(tensor)._cdata


def byte_range(layout: Layout) -> tuple[int, int]:
    """[first, last) byte that the layout touches; empty if it has no elements."""
    offset, sizes, strides, dtype = layout
    if 0 in sizes:
        return (0, 0)
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return (offset * dtype.itemsize, (last + 1) * dtype.itemsize)


def overlap(a: Layout, b: Layout) -> bool:
    """True unless the layouts certainly share no element."""
    (a_first, a_last), (b_first, b_last) = byte_range(a), byte_range(b)
    if a_last <= b_first or b_last <= a_first:
        return False
    return not _in_separate_columns(a, b)


def _in_separate_columns(a: Layout, b: Layout) -> bool:
    """True for two blocks of one matrix whose columns do not meet: equal steps of rows, apart within a row."""
    (a_offset, a_sizes, a_strides, a_dtype), (b_offset, b_sizes, b_strides, b_dtype) = a, b
    if a_dtype is not b_dtype or len(a_sizes) != len(b_sizes) or a_strides != b_strides or not a_sizes:
        return False
    step = max(a_strides)
    if step <= 0:
        return False

    def columns(offset: int, sizes: tuple[int, ...]) -> tuple[int, int]:
        inner = sum((size - 1) * stride for size, stride in zip(sizes, a_strides, strict=True) if stride != step)
        return offset % step, offset % step + inner + 1

    (a_low, a_high), (b_low, b_high) = columns(a_offset, a_sizes), columns(b_offset, b_sizes)
    if max(a_high, b_high) > step:
        return False
    return a_high <= b_low or b_high <= a_low


def writes_once(layout: Layout) -> bool:
    """True if no two elements of the layout lie at one address, as far as sorted strides show."""
    _, sizes, strides, _ = layout
    if 0 in sizes:
        return True
    reached = 0
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size > 1):
        if stride <= reached:
            return False
        reached += stride * (size - 1)
    return True


def dense_order(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes from outermost to innermost if the memory has no gaps, else None. Axes of size 1 keep their place."""
    order = sorted(range(len(sizes)), key=lambda axis: (-strides[axis] if sizes[axis] > 1 else 0, axis))
    order = [axis for axis in order if sizes[axis] > 1]
    expected = 1
    for axis in reversed(order):
        if strides[axis] != expected:
            return None
        expected *= sizes[axis]
    return tuple(order)
