"""ATen ops that make tensors from numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .dims import to_dim
from .dtypes import number_dtype
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .._core import Dim
    from .lowering import Lowering, Value


def _dtype_of(c: Lowering, dtype: torch.dtype | None, number: Any) -> torch.dtype:
    return dtype or getattr(c.fake, "dtype", None) or number_dtype(number)


@lowers("full")
def _full(c: Lowering, size: list[Any], number: Any, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return c.full(size, number, _dtype_of(c, dtype, number))


@lowers("full_like")
def _full_like(c: Lowering, x: Value, number: Any, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return c.full(x.shape, number, dtype or x.dtype)


@lowers("fill.Scalar", "fill.Tensor")
def _fill(c: Lowering, x: Value, number: Any) -> Value:
    return c.expand(c.cast(number, x.dtype), x.shape)


@lowers("zero")
def _zero(c: Lowering, x: Value) -> Value:
    return c.full(x.shape, 0, x.dtype)


@lowers("empty.memory_format", "empty_strided", "new_empty_strided", "empty_like", "new_empty", "empty_permuted")
def _empty(c: Lowering, *_: Any, **__: Any) -> Value:
    return c.full(c.fake.shape, 0, c.fake.dtype)


@lowers("zeros", "ones", "zeros_like", "ones_like", "new_zeros", "new_ones")
def _filled(c: Lowering, *_: Any, **__: Any) -> Value:
    assert c.node is not None
    return c.full(c.fake.shape, 1 if "ones" in str(c.node.target) else 0, c.fake.dtype)


@lowers("scalar_tensor")
def _scalar_tensor(c: Lowering, number: Any, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return c.scalar(number, _dtype_of(c, dtype, number))


@lowers("arange.start_step")
def _arange(c: Lowering, start: Any, stop: Any, step: Any = 1, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    (length,) = c.fake.shape
    return sequence(c, to_dim(length), start, step, _dtype_of(c, dtype, start))


@lowers(torch.ops.prims.iota.default)
def _iota(c: Lowering, length: Any, *, start: Any, step: Any, dtype: torch.dtype, **_: Any) -> Value:
    return sequence(c, to_dim(length), start, step, dtype)


def sequence(c: Lowering, length: Dim, start: Any, step: Any, dtype: torch.dtype) -> Value:
    """start + step * (0 .. length - 1). Floats are computed in f64, as torch does."""
    if not dtype.is_floating_point:
        if any(isinstance(x, float) for x in (start, step)):
            raise CannotLower("an integer range with float steps")
        return c.iota(length, dtype, start, step)
    position = c.cast(c.iota(length), torch.float64)
    offset = c.op("mul", position, c.scalar(step, torch.float64))
    return c.cast(c.op("add", c.scalar(start, torch.float64), offset), dtype)
