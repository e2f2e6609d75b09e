"""Integer products, and the quantise and dequantise ops that torch.ao's PT2E flow writes into graphs.

Formulas are those of torch.ao.quantization.fx._decomposed: a value times the reciprocal of the scale, rounded half to even,
plus the zero point, clamped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .dtypes import HALVES
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Operand, Value

LIBRARY = "quantized_decomposed::"


@lowers("_int_mm")
def _int_mm(c: Lowering, a: Value, b: Value) -> Value:
    return c.op("integer_matmul", a, b, dtype=torch.int32)


@lowers("_weight_int8pack_mm")
def _weight_int8pack_mm(c: Lowering, a: Value, weight: Value, scales: Value) -> Value:
    """a [m, k] times the transpose of an i8 weight [n, k], each column scaled, summed in f32."""
    wide = torch.float32
    columns = c.transpose(c.cast(weight, wide), [1, 0])
    product = c.op("matmul", c.cast(a, wide), columns)
    return c.cast(c.op("mul", product, c.cast(scales, wide)), a.dtype)


def _one(c: Lowering, number: Operand, dtype: torch.dtype) -> Value:
    """A host number, or the element of a tensor, as a rank-0 tensor."""
    value = c.cast(number, dtype)
    return c.reshape(value, []) if value.rank > 0 else value


def _along(c: Lowering, parameter: Value, axis: int, rank: int) -> Value:
    return c.reshape(parameter, [parameter.size(0), *[1] * (rank - 1 - axis % rank)])


def _quantised(c: Lowering, x: Value, inverse: Value, zero: Value, low: int, high: int, dtype: torch.dtype) -> Value:
    if low < torch.iinfo(dtype).min or high > torch.iinfo(dtype).max or torch.iinfo(dtype).bits > 16:
        raise CannotLower(f"a range of {low} to {high} in {dtype}")
    wide = torch.float32
    value = c.op("round", c.op("mul", c.cast(x, wide), inverse))
    value = c.op("add", value, zero)
    value = c.op("min", c.op("max", value, c.scalar(low, wide)), c.scalar(high, wide))
    return c.cast(value, dtype)


@lowers(*(f"{LIBRARY}quantize_per_tensor{overload}" for overload in ("", ".tensor", ".tensor2")))
def _quantize_per_tensor(
    c: Lowering, x: Value, scale: Operand, zero: Operand, low: Any, high: Any, dtype: torch.dtype
) -> Value:
    if not isinstance(low, int) or not isinstance(high, int):
        raise CannotLower("the range is known only when it runs")
    double = torch.float64
    inverse = c.op("div", c.scalar(1.0, double), _one(c, scale, double))
    return _quantised(c, x, c.cast(inverse, torch.float32), _one(c, zero, torch.float32), low, high, dtype)


@lowers(*(f"{LIBRARY}dequantize_per_tensor{overload}" for overload in ("", ".tensor", ".tensor2")))
def _dequantize_per_tensor(
    c: Lowering,
    x: Value,
    scale: Operand,
    zero: Operand,
    low: Any,
    high: Any,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Value:
    result = out_dtype or torch.float32
    wide = torch.float32 if result in HALVES else result
    centred = c.cast(c.cast(c.op("sub", c.cast(x, wide), _one(c, zero, wide)), result), wide)
    return c.cast(c.op("mul", centred, _one(c, scale, wide)), result)


@lowers(f"{LIBRARY}quantize_per_channel")
def _quantize_per_channel(
    c: Lowering, x: Value, scales: Value, zeros: Value, axis: int, low: int, high: int, dtype: torch.dtype
) -> Value:
    if scales.dtype not in (torch.float32, torch.float64):
        raise CannotLower(f"scales of {scales.dtype}")
    inverse = c.op("div", c.scalar(1.0, scales.dtype), scales)
    wide = scales.dtype
    value = c.op("mul", c.cast(x, wide), _along(c, inverse, axis, x.rank))
    value = c.op("add", c.op("round", value), c.cast(_along(c, zeros, axis, x.rank), wide))
    value = c.op("min", c.op("max", value, c.scalar(low, wide)), c.scalar(high, wide))
    return c.cast(value, dtype)


@lowers(f"{LIBRARY}dequantize_per_channel")
def _dequantize_per_channel(
    c: Lowering,
    x: Value,
    scales: Value,
    zeros: Value | None,
    axis: int,
    low: int,
    high: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Value:
    value = x
    if zeros is not None:
        (left, right), _ = c.promote([x, _along(c, zeros, axis, x.rank)])
        value = c.op("sub", left, right)
    product = c.op("mul", c.cast(value, scales.dtype), _along(c, scales, axis, x.rank))
    return c.cast(product, out_dtype or torch.float32)
