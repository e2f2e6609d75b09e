"""Dtypes of torch and of the library, and torch's rules for the result of mixed operands."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from .._core import Dim, DType

TO_LIBRARY: dict[torch.dtype, DType] = {
    torch.float32: DType.f32,
    torch.float64: DType.f64,
    torch.float16: DType.f16,
    torch.bfloat16: DType.bf16,
    torch.int8: DType.i8,
    torch.uint8: DType.u8,
    torch.int16: DType.i16,
    torch.int32: DType.i32,
    torch.int64: DType.i64,
    torch.bool: DType.bool,
}
HALVES = (torch.float16, torch.bfloat16)


def number_dtype(value: object) -> torch.dtype:
    """The dtype that a Python number counts as: bool, int64 or the default float dtype."""
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, float) or (isinstance(value, Dim) and value.is_float):
        return torch.get_default_dtype()
    return torch.int64


def result_dtype(
    dims: Iterable[torch.dtype], zeros: Iterable[torch.dtype], numbers: Iterable[torch.dtype]
) -> torch.dtype:
    """torch.result_type of tensors with dims, tensors of rank 0 and Python numbers, given by their dtypes."""
    result: torch.dtype | None = None
    for group in (dims, zeros, numbers):
        own: torch.dtype | None = None
        for dtype in group:
            own = dtype if own is None else torch.promote_types(own, dtype)
        result = _combine(result, own)
    assert result is not None
    return result


def _combine(higher: torch.dtype | None, lower: torch.dtype | None) -> torch.dtype | None:
    """A lower group only matters if it is of a higher kind: bool < integer < float."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_floating_point:
        return higher
    if higher is torch.bool or lower.is_floating_point:
        return torch.promote_types(higher, lower)
    return higher
