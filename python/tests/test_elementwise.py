"""Elementwise ATen ops against eager: values, dtypes of mixed operands, sizes 0 and 1, broadcasting."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_eager import check

SHAPES = ((5, 7), (33,), (0, 3), ())
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.uint8)

UNARY = [
    "abs",
    "neg",
    "sign",
    "ceil",
    "floor",
    "round",
    "trunc",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "erf",
    "erfc",
    "sigmoid",
    "relu",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "square",
    "frac",
]
DOMAIN = {
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-1, 1),
    "erfinv": (-1, 1),
    "acosh": (1, 5),
    "lgamma": (0.1, 9),
    "digamma": (0.1, 9),
    "logit": (0.01, 0.99),
}
ACTIVATIONS = [
    "gelu",
    "silu",
    "mish",
    "hardswish",
    "hardsigmoid",
    "softplus",
    "leaky_relu",
    "elu",
    "celu",
    "selu",
    "relu6",
    "hardtanh",
    "logsigmoid",
    "softsign",
    "tanhshrink",
    "hardshrink",
]
BINARY = ["add", "sub", "mul", "true_divide", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"]


def floats(shape: tuple[int, ...], dtype: torch.dtype, low: float = -3, high: float = 3) -> torch.Tensor:
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def integers(shape: tuple[int, ...], dtype: torch.dtype, low: int = -9) -> torch.Tensor:
    return torch.randint(0 if dtype is torch.uint8 else low, 10, shape).to(dtype)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, engine: str) -> None:
    function = getattr(torch, name)
    check(function, *((floats(shape, torch.float32, 0.1),) for shape in SHAPES), engine=engine)


@pytest.mark.parametrize("name", DOMAIN)
def test_unary_in_its_domain(name: str, engine: str) -> None:
    check(getattr(torch, name), *((floats(shape, torch.float32, *DOMAIN[name]),) for shape in SHAPES), engine=engine)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["exp", "tanh", "neg", "rsqrt"])
def test_unary_of_each_float(name: str, dtype: torch.dtype, engine: str) -> None:
    check(getattr(torch, name), (floats((9, 5), dtype, 0.2),), engine=engine)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["abs", "neg", "sign", "exp", "floor", "sqrt", "isnan", "bitwise_not"])
def test_unary_of_integers(name: str, dtype: torch.dtype, engine: str) -> None:
    check(getattr(torch, name), (integers((9, 5), dtype, 0),), engine=engine)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name: str, engine: str) -> None:
    function = getattr(torch.nn.functional, name)
    check(function, (floats((5, 7), torch.float32),), (floats((0, 4), torch.float32),), engine=engine)


@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(name: str, engine: str) -> None:
    pairs = (((4, 5), (4, 5)), ((3, 1), (1, 6)), ((2, 3, 4), (4,)), ((7,), ()))
    function = getattr(torch, name)
    for a, b in pairs:
        check(function, (floats(a, torch.float32), floats(b, torch.float32)), engine=engine)


DTYPE_PAIRS = [
    (torch.float32, torch.int64),
    (torch.int32, torch.int64),
    (torch.bfloat16, torch.float32),
    (torch.float16, torch.bfloat16),
    (torch.bool, torch.int32),
    (torch.uint8, torch.int8),
    (torch.float64, torch.float32),
    (torch.bool, torch.bool),
]


@pytest.mark.parametrize("pair", DTYPE_PAIRS, ids=str)
@pytest.mark.parametrize("name", ["add", "mul", "true_divide", "eq", "lt"])
def test_mixed_dtypes(name: str, pair: tuple[torch.dtype, torch.dtype], engine: str) -> None:
    a, b = (torch.randint(0, 5, (6, 3)).to(dtype) for dtype in pair)
    check(getattr(torch, name), (a, b), engine=engine)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("number", [2, 0.5, True], ids=str)
def test_numbers_do_not_promote(dtype: torch.dtype, number: Any, engine: str) -> None:
    x = torch.randint(0, 5, (8,)).to(dtype)
    check(lambda x: (x * number, x + number, number / (x + 1)), (x,), engine=engine)


@pytest.mark.parametrize("zero_dim", [torch.float64, torch.float32, torch.int64], ids=str)
def test_tensors_of_rank_0_do_not_promote(zero_dim: torch.dtype, engine: str) -> None:
    scalar = torch.tensor(3, dtype=zero_dim)
    for dtype in (torch.bfloat16, torch.float32, torch.int32):
        check(lambda x, s: (x * s, x - s), (torch.randint(0, 5, (4,)).to(dtype), scalar), engine=engine)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.float32], ids=str)
def test_division_rounds_as_eager_does(dtype: torch.dtype, engine: str) -> None:
    def divide(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            a // b,
            a % b,
            torch.fmod(a, b),
            torch.div(a, b, rounding_mode="trunc"),
            torch.div(a, b, rounding_mode="floor"),
        )

    b = torch.randint(1, 5, (30,)) * (torch.randint(0, 2, (30,)) * 2 - 1)
    check(divide, (torch.randint(-20, 20, (30,)).to(dtype), b.to(dtype)), engine=engine)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -0.5, -1, 2.5])
def test_powers(exponent: float, engine: str) -> None:
    check(lambda x: x**exponent, (floats((6,), torch.float32, 0.3),), engine=engine)


def test_integer_powers(engine: str) -> None:
    check(lambda x, y: (x**y, x**3, 2**y), (integers((9,), torch.int64), torch.randint(0, 5, (9,))), engine=engine)


def test_bits(engine: str) -> None:
    def bits(a: torch.Tensor, b: torch.Tensor) -> Any:
        return a & b, a | b, a ^ b, ~a, a << (b & 3), a >> (b & 3)

    check(bits, (integers((9,), torch.int32), integers((9,), torch.int32)), engine=engine)


def test_logic(engine: str) -> None:
    a, b = integers((9,), torch.int64, 0) % 2, floats((9,), torch.float32).round()
    check(
        lambda a, b: (torch.logical_and(a, b), torch.logical_or(a, b), torch.logical_xor(a, b)), (a, b), engine=engine
    )


def test_where_and_clamp(engine: str) -> None:
    def choose(x: torch.Tensor, y: torch.Tensor) -> Any:
        return (
            torch.where(x > 0, x, y),
            x.clamp(-1, 1),
            x.clamp(min=y),
            x.masked_fill(x < 0, -torch.inf),
            torch.where(x > 0, 1.5, y),
        )

    check(choose, (floats((4, 5), torch.float32), floats((5,), torch.float32)), engine=engine)


def test_special_values(engine: str) -> None:
    x = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1.0])
    check(
        lambda x: (x.maximum(x.flip(0)), torch.fmax(x, x.flip(0)), x.relu(), x.sign(), x.clamp(0, 1), x.isfinite()),
        (x,),
        engine=engine,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_floor_division_of_floats_is_that_of_python(dtype: torch.dtype, engine: str) -> None:
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -7.25, 88.0, 1e-4, -1e-4, 0.1, -0.3, 1e5]
    values = torch.tensor([*edges, float("inf"), float("-inf"), float("nan")], dtype=dtype)

    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return a // b, torch.div(a, b, rounding_mode="floor"), a // 0.1, 1.0 // b

    check(run, (values[:, None].expand(-1, 15).contiguous(), values.expand(15, -1).contiguous()), engine=engine)
