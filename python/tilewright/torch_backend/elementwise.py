"""Elementwise ATen ops. Dtypes are promoted here as torch does; graph ops take equal dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .._core import Dim
from .dtypes import HALVES
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Operand, Value

FLOAT_UNARY = {
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "reciprocal": "reciprocal",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "asinh",
    "acosh": "acosh",
    "atanh": "atanh",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "lgamma": "lgamma",
    "digamma": "digamma",
    "sigmoid": "sigmoid",
}
SAME_UNARY = {"neg": "neg", "abs": "abs", "sign": "sign", "sgn": "sign", "relu": "relu"}
ROUNDING = {"ceil": "ceil", "floor": "floor", "round": "round", "trunc": "trunc", "fix": "trunc"}
COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
FLOAT_BINARY = {"atan2": "atan2", "hypot": "hypot", "copysign": "copysign", "nextafter": "nextafter"}
SAME_BINARY = {"maximum": "max", "minimum": "min", "fmax": "fmax", "fmin": "fmin"}
BITS = {
    "bitwise_and": "bit_and",
    "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor",
    "bitwise_left_shift": "shift_left",
    "bitwise_right_shift": "shift_right",
}


def binary(c: Lowering, op: str, a: Operand, b: Operand, integers_to_float: bool = False) -> Value:
    """op(a, b) in the promoted dtype."""
    (left, right), dtype = c.promote([a, b], integers_to_float)
    return c.cast(c.op(op, left, right), dtype)


def compare(c: Lowering, op: str, a: Operand, b: Operand) -> Value:
    (left, right), _ = c.promote([a, b])
    return c.op(op, left, right, dtype=torch.bool)


def predicate(c: Lowering, x: Value) -> Value:
    """x != 0"""
    return c.cast(x, torch.bool)


def to_float(c: Lowering, x: Value) -> Value:
    return x if x.dtype.is_floating_point else c.cast(x, torch.get_default_dtype())


def _register_tables() -> None:
    def float_unary(op: str) -> Any:
        return lambda c, x: c.op(op, to_float(c, x))

    def same_unary(op: str) -> Any:
        return lambda c, x: c.op(op, x)

    def rounding(op: str) -> Any:
        return lambda c, x: c.op(op, x) if x.dtype.is_floating_point else x

    def comparison(op: str) -> Any:
        return lambda c, a, b: compare(c, op, a, b)

    def promoted(op: str, integers_to_float: bool) -> Any:
        return lambda c, a, b: binary(c, op, a, b, integers_to_float)

    for table, make in ((FLOAT_UNARY, float_unary), (SAME_UNARY, same_unary), (ROUNDING, rounding)):
        for name, op in table.items():
            lowers(name)(make(op))
    for name, op in COMPARISONS.items():
        lowers(f"{name}.Tensor", f"{name}.Scalar")(comparison(op))
    for name, op in FLOAT_BINARY.items():
        lowers(name, f"{name}.Tensor", f"{name}.Scalar")(promoted(op, True))
    for name, op in SAME_BINARY.items():
        lowers(name)(promoted(op, False))
    for name, op in BITS.items():
        overloads = ("Tensor", "Scalar", "Scalar_Tensor", "Tensor_Scalar")
        lowers(*(f"{name}.{overload}" for overload in overloads))(promoted(op, False))
    for name, op in {"__lshift__": "shift_left", "__rshift__": "shift_right"}.items():
        lowers(f"{name}.Tensor", f"{name}.Scalar")(promoted(op, False))


_register_tables()


@lowers("fmax", "fmin")
def _extreme_number(c: Lowering, a: Value, b: Value) -> Value:
    assert c.node is not None
    name = "fmax" if c.node.target is torch.ops.aten.fmax.default else "fmin"
    (left, right), dtype = c.promote([a, b])
    return c.cast(c.op(name if dtype.is_floating_point else name[1:], left, right), dtype)


@lowers("hypot", "copysign.Tensor", "nextafter")
def _float_pair(c: Lowering, a: Value, b: Value) -> Value:
    assert c.node is not None
    return binary(c, str(c.node.target).split(".")[1], a, b, True)


@lowers("sign", "sgn")
def _sign(c: Lowering, x: Value) -> Value:
    if not x.dtype.is_floating_point:
        return x if x.dtype is torch.bool else c.op("sign", x)
    is_nan = c.op("is_nan", x, dtype=torch.bool)
    return c.op("select", is_nan, c.scalar(0, x.dtype), c.op("sign", x), dtype=x.dtype)  # torch: the sign of nan is 0


@lowers("round.decimals")
def _round_decimals(c: Lowering, x: Value, decimals: int = 0) -> Value:
    if not x.dtype.is_floating_point:
        raise CannotLower("round of integers to decimals")
    scale = c.scalar(float(10 ** abs(decimals)), x.dtype)
    scaled = c.op("round", c.op("mul" if decimals >= 0 else "div", x, scale))
    return c.op("div" if decimals >= 0 else "mul", scaled, scale)


def _scaled(c: Lowering, b: Operand, alpha: Any, dtype: torch.dtype) -> Operand:
    if not isinstance(alpha, Dim) and alpha == 1:
        return b
    return c.op("mul", c.cast(b, dtype), c.scalar(alpha, dtype))


@lowers("add.Tensor", "add.Scalar")
def _add(c: Lowering, a: Operand, b: Operand, alpha: Any = 1) -> Value:
    (left, right), dtype = c.promote([a, b])
    return c.cast(c.op("add", left, c.cast(_scaled(c, right, alpha, right.dtype), right.dtype)), dtype)


@lowers("sub.Tensor", "sub.Scalar")
def _sub(c: Lowering, a: Operand, b: Operand, alpha: Any = 1) -> Value:
    (left, right), dtype = c.promote([a, b])
    return c.cast(c.op("sub", left, c.cast(_scaled(c, right, alpha, right.dtype), right.dtype)), dtype)


@lowers("rsub.Tensor", "rsub.Scalar")
def _rsub(c: Lowering, a: Operand, b: Operand, alpha: Any = 1) -> Value:
    return _sub(c, b, a, alpha)


@lowers("mul.Tensor", "mul.Scalar")
def _mul(c: Lowering, a: Operand, b: Operand) -> Value:
    return binary(c, "mul", a, b)


@lowers("div.Tensor", "div.Scalar", "true_divide.Tensor", "true_divide.Scalar")
def _div(c: Lowering, a: Operand, b: Operand) -> Value:
    return binary(c, "div", a, b, integers_to_float=True)


@lowers("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(c: Lowering, a: Operand, b: Operand, rounding_mode: str | None = None) -> Value:
    if rounding_mode is None:
        return _div(c, a, b)
    return floor_divide(c, a, b) if rounding_mode == "floor" else binary(c, "trunc_div", a, b)


def floor_divide(c: Lowering, a: Operand, b: Operand) -> Value:
    """Of floats as Python does: the quotient less the remainder, which is exact where a / b rounds up to an integer."""
    (left, right), dtype = c.promote([a, b])
    if not dtype.is_floating_point:
        return c.cast(c.op("floor_div", left, right), dtype)
    if dtype in HALVES:
        left, right = c.cast(left, torch.float32), c.cast(right, torch.float32)
    zero, one, half = (c.scalar(number, left.dtype) for number in (0.0, 1.0, 0.5))

    def is_less(x: Value, y: Value) -> Value:
        return c.op("lt", x, y, dtype=torch.bool)

    rest, plain = c.op("rem", left, right), c.op("div", left, right)
    quotient = c.op("div", c.op("sub", left, rest), right)
    signs_differ = c.op("ne", is_less(right, zero), is_less(rest, zero), dtype=torch.bool)
    is_below = c.op("bit_and", c.op("ne", rest, zero, dtype=torch.bool), signs_differ)
    quotient = select(c, is_below, c.op("sub", quotient, one), quotient)
    whole = c.op("floor", quotient)
    whole = select(c, is_less(half, c.op("sub", quotient, whole)), c.op("add", whole, one), whole)
    whole = select(c, c.op("eq", quotient, zero, dtype=torch.bool), c.op("copysign", zero, plain), whole)
    return c.cast(select(c, c.op("eq", right, zero, dtype=torch.bool), plain, whole), dtype)


def select(c: Lowering, condition: Value, a: Value, b: Value) -> Value:
    return c.op("select", condition, a, b, dtype=a.dtype)


@lowers("floor_divide", "floor_divide.Scalar")
def _floor_divide(c: Lowering, a: Operand, b: Operand) -> Value:
    return floor_divide(c, a, b)


@lowers("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(c: Lowering, a: Operand, b: Operand) -> Value:
    return binary(c, "mod", a, b)


@lowers("fmod.Tensor", "fmod.Scalar")
def _fmod(c: Lowering, a: Operand, b: Operand) -> Value:
    return binary(c, "rem", a, b)


@lowers("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(c: Lowering, a: Operand, b: Operand) -> Value:
    (left, right), dtype = c.promote([a, b])
    if isinstance(b, (int, float)) and not isinstance(b, bool):
        if b == 2:
            return c.cast(c.op("mul", left, left), dtype)
        if b == 1:
            return c.cast(left, dtype)
        if b == 3:
            return c.cast(c.op("mul", c.op("mul", left, left), left), dtype)
        if dtype.is_floating_point and b in (0.5, -0.5, -1):
            return c.cast(c.op({0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[b], left), dtype)
    return c.cast(c.op("pow", left, right), dtype)


@lowers("logical_and", "logical_or", "logical_xor")
def _logical(c: Lowering, a: Value, b: Value) -> Value:
    assert c.node is not None
    op = "bit_" + str(c.node.target).split("logical_")[1].split(".")[0]
    return c.op(op, predicate(c, a), predicate(c, b))


@lowers("logical_not")
def _logical_not(c: Lowering, x: Value) -> Value:
    return c.op("logical_not", predicate(c, x), dtype=torch.bool)


@lowers("bitwise_not")
def _bitwise_not(c: Lowering, x: Value) -> Value:
    return c.op("bit_not", x)


@lowers("isnan", "isinf")
def _is_special(c: Lowering, x: Value) -> Value:
    assert c.node is not None
    if not x.dtype.is_floating_point:
        return c.full(x.shape, False, torch.bool)
    return c.op("is_nan" if "isnan" in str(c.node.target) else "is_inf", x, dtype=torch.bool)


@lowers("where.self")
def _where(c: Lowering, condition: Value, a: Operand, b: Operand) -> Value:
    dtype = c.promoted_dtype([a, b])
    return c.op("select", predicate(c, condition), c.cast(a, dtype), c.cast(b, dtype), dtype=dtype)


@lowers("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(c: Lowering, x: Value, mask: Value, number: Operand) -> Value:
    return c.op("select", predicate(c, mask), c.cast(number, x.dtype), x, dtype=x.dtype)


@lowers("addcmul")
def _addcmul(c: Lowering, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
    dtype = c.promoted_dtype([x, a, b])
    compute = torch.float32 if dtype in HALVES else dtype
    left = c.cast(_scaled(c, c.cast(a, compute), value, compute), compute)  # torch: x + (value * a) * b
    return c.cast(c.op("add", c.cast(x, compute), c.op("mul", left, c.cast(b, compute))), dtype)


@lowers("addcdiv")
def _addcdiv(c: Lowering, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
    dtype = c.promoted_dtype([x, a, b])
    compute = torch.float32 if dtype in HALVES else dtype
    left = c.cast(_scaled(c, c.cast(a, compute), value, compute), compute)  # torch: x + (value * a) / b
    return c.cast(c.op("add", c.cast(x, compute), c.op("div", left, c.cast(b, compute))), dtype)


@lowers("lerp.Scalar")
def _lerp(c: Lowering, a: Value, b: Value, weight: Any) -> Value:
    if isinstance(weight, Dim):
        raise CannotLower("lerp by a weight that may change")
    compute = torch.float32 if a.dtype in HALVES else a.dtype
    low, high = c.cast(a, compute), c.cast(b, compute)
    step = c.op("sub", high, low)
    if abs(weight) < 0.5:
        return c.cast(c.op("add", low, c.op("mul", step, c.scalar(weight, compute))), a.dtype)
    return c.cast(c.op("sub", high, c.op("mul", step, c.scalar(1 - weight, compute))), a.dtype)


@lowers("threshold_backward")
def _threshold_backward(c: Lowering, gradient: Value, x: Value, threshold: Any) -> Value:
    dtype = c.promoted_dtype([gradient, x])
    below = c.op("le", c.cast(x, dtype), c.scalar(threshold, dtype), dtype=torch.bool)
    return c.op("select", below, c.scalar(0, dtype), c.cast(gradient, dtype), dtype=dtype)


@lowers("tanh_backward")
def _tanh_backward(c: Lowering, gradient: Value, y: Value) -> Value:
    slope = c.op("sub", c.scalar(1, y.dtype), c.op("mul", y, y))
    return c.op("mul", gradient, slope)


@lowers("sigmoid_backward")
def _sigmoid_backward(c: Lowering, gradient: Value, y: Value) -> Value:
    slope = c.op("mul", c.op("sub", c.scalar(1, y.dtype), y), y)
    return c.op("mul", gradient, slope)


@lowers("clamp", "clamp.Tensor", "clamp_min", "clamp_min.Tensor")
def _clamp(c: Lowering, x: Value, low: Operand | None = None, high: Operand | None = None) -> Value:
    dtype = c.promoted_dtype([operand for operand in (x, low, high) if operand is not None])
    out = c.cast(x, dtype)
    if low is not None:
        out = c.op("max", out, c.cast(low, dtype))
    if high is not None:
        out = c.op("min", out, c.cast(high, dtype))
    return out


@lowers("clamp_max", "clamp_max.Tensor")
def _clamp_max(c: Lowering, x: Value, high: Operand) -> Value:
    return _clamp(c, x, None, high)


@lowers("hardtanh")
def _hardtanh(c: Lowering, x: Value, low: Any = -1.0, high: Any = 1.0) -> Value:
    return _clamp(c, x, low, high)


@lowers(torch.ops.prims.fma.default)
def _fma(c: Lowering, a: Value, b: Value, addend: Value) -> Value:
    (x, y, z), dtype = c.promote([a, b, addend])
    return c.cast(c.op("add", c.op("mul", x, y), z), dtype)


@lowers("_to_copy", torch.ops.prims.convert_element_type.default)
def _to_copy(c: Lowering, x: Value, dtype: torch.dtype | None = None, **options: Any) -> Value:
    if options.get("layout") not in (None, torch.strided) or str(options.get("device") or "cpu") != "cpu":
        raise CannotLower("a copy to another layout or device")
    return x if dtype is None else c.cast(x, dtype)


@lowers("gelu")
def _gelu(c: Lowering, x: Value, approximate: str = "none") -> Value:
    return c.op("gelu", x, tanh=approximate == "tanh")


@lowers("silu", "mish", "hardswish", "hardsigmoid")
def _activation(c: Lowering, x: Value) -> Value:
    assert c.node is not None
    name = str(c.node.target).split(".")[1]
    return c.op({"hardswish": "hard_swish", "hardsigmoid": "hard_sigmoid"}.get(name, name), x)


@lowers("leaky_relu")
def _leaky_relu(c: Lowering, x: Value, slope: Any = 0.01) -> Value:
    return c.op("leaky_relu", x, slope=slope)


@lowers("elu")
def _elu(c: Lowering, x: Value, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Value:
    return c.op("elu", x, alpha=alpha, scale=scale, input_scale=input_scale)


@lowers("softplus")
def _softplus(c: Lowering, x: Value, beta: Any = 1, threshold: Any = 20) -> Value:
    return c.op("softplus", x, beta=beta, threshold=threshold)


@lowers("log_sigmoid_forward")
def _log_sigmoid(c: Lowering, x: Value) -> tuple[Value, Value]:
    compute = c.cast(x, torch.float32) if x.dtype in HALVES else x
    magnitude = c.op("exp", c.op("neg", c.op("abs", compute)))
    low = c.op("min", compute, c.scalar(0, compute.dtype))
    return c.cast(c.op("sub", low, c.op("log1p", magnitude)), x.dtype), c.full([0], 0, x.dtype)
