"""Symbolic numbers of torch (SymInt, SymFloat, SymBool, sympy expressions) as Dims.

The lowering reads `node.meta["val"]` and converts the expression, so symbolic scalar nodes need no lowering of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
import torch
from torch.utils._sympy.symbol import SymT, symbol_is_type

from .._core import Dim

Number = Dim | int | float | bool


class UnknownExpression(Exception):
    """An expression that has no Dim form."""


def is_symbolic(value: object) -> bool:
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def to_dim(value: Any) -> Dim:
    """The Dim of a number of any kind."""
    if isinstance(value, Dim):
        return value
    if is_symbolic(value):
        return from_expression(value.node.expr)
    if isinstance(value, sympy.Basic):
        return from_expression(value)
    if isinstance(value, bool):
        return Dim(int(value))
    return Dim(value)


def to_number(value: Any) -> Number:
    """A Python number if the value is known, else its Dim."""
    if isinstance(value, (bool, int, float)):
        return value
    dim = to_dim(value)
    known = dim.constant
    if known is None:
        return dim
    if isinstance(value, torch.SymBool):
        return bool(known)
    return float(known) if isinstance(value, torch.SymFloat) else known


def to_shape(sizes: Any) -> list[Dim]:
    return [to_dim(size) for size in sizes]


def from_expression(expression: sympy.Basic, symbols: Mapping[str, Dim] | None = None) -> Dim:
    """The Dim of a sympy expression. `symbols`: what the symbols stand for, by name."""
    if isinstance(expression, sympy.Symbol):
        if symbols is not None:
            return symbols[str(expression)]
        is_float = symbol_is_type(expression, (SymT.FLOAT, SymT.UNBACKED_FLOAT))
        return Dim.float_symbol(str(expression)) if is_float else Dim.symbol(str(expression))
    if isinstance(expression, (sympy.Integer, int)):
        return Dim(int(expression))
    if isinstance(expression, (sympy.Float, float)) or expression in (sympy.oo, -sympy.oo):
        return Dim(float(expression))
    if isinstance(expression, sympy.Rational):
        return Dim.make("truediv", int(expression.p), int(expression.q))
    if expression is sympy.true or expression is sympy.false:
        return Dim(int(bool(expression)))
    convert = _CONVERSIONS.get(type(expression).__name__)
    if convert is None:
        raise UnknownExpression(f"expression {expression} of kind {type(expression).__name__}")
    return convert(*(from_expression(argument, symbols) for argument in expression.args))


def _fold(name: str) -> Callable[..., Dim]:
    def convert(*operands: Dim) -> Dim:
        result = operands[0]
        for operand in operands[1:]:
            result = Dim.make(name, result, operand)
        return result

    return convert


def _plain(name: str) -> Callable[..., Dim]:
    return lambda *operands: Dim.make(name, *operands)


def _of_float(name: str) -> Callable[..., Dim]:
    return lambda operand: Dim.make(name, operand)


def _power(base: Dim, exponent: Dim) -> Dim:
    if exponent.constant == -1:
        return Dim.make("truediv", 1, base)
    if exponent.constant == 0.5:
        return Dim.make("sqrt", base)
    return Dim.make("pow", base, exponent)


def _modular_indexing(base: Dim, divisor: Dim, modulus: Dim) -> Dim:
    return (base // divisor) % modulus


def _ceil_div(a: Dim, b: Dim) -> Dim:
    return -((-a) // b)


def _swapped(name: str) -> Callable[..., Dim]:
    return lambda a, b: Dim.make(name, b, a)


def _truth(name: str) -> Callable[..., Dim]:
    return _fold(name)


def _round_decimal(number: Dim, digits: Dim) -> Dim:
    scale = Dim.make("pow", 10.0, Dim.make("float", digits))
    return Dim.make("truediv", Dim.make("float", Dim.make("round", number * scale)), scale)


_CONVERSIONS: dict[str, Callable[..., Dim]] = {
    "Add": _fold("+"),
    "Mul": _fold("*"),
    "Pow": _power,
    "PowByNatural": _power,
    "FloatPow": _power,
    "FloorDiv": _plain("//"),
    "CleanDiv": _plain("//"),
    "CeilDiv": _ceil_div,
    "ModularIndexing": _modular_indexing,
    "Mod": _plain("%"),
    "PythonMod": _plain("%"),
    "Max": _fold("max"),
    "Min": _fold("min"),
    "IntTrueDiv": _plain("truediv"),
    "FloatTrueDiv": _plain("truediv"),
    "ToFloat": _of_float("float"),
    "TruncToInt": _of_float("trunc"),
    "TruncToFloat": lambda x: Dim.make("float", Dim.make("trunc", x)),
    "FloorToInt": _of_float("floor"),
    "CeilToInt": _of_float("ceil"),
    "RoundToInt": _of_float("round"),
    "RoundDecimal": _round_decimal,
    "floor": _of_float("floor"),
    "ceiling": _of_float("ceil"),
    "Abs": _of_float("abs"),
    "Identity": lambda x: x,
    "Where": _plain("select"),
    "LShift": _plain("shl"),
    "RShift": _plain("shr"),
    "BitwiseFn_bitwise_and": _plain("bitand"),
    "BitwiseFn_bitwise_or": _plain("bitor"),
    "BitwiseFn_bitwise_xor": _plain("bitxor"),
    "OpaqueUnaryFn_sqrt": _of_float("sqrt"),
    "OpaqueUnaryFn_exp": _of_float("exp"),
    "OpaqueUnaryFn_log": _of_float("log"),
    "OpaqueUnaryFn_sin": _of_float("sin"),
    "OpaqueUnaryFn_cos": _of_float("cos"),
    "OpaqueUnaryFn_tanh": _of_float("tanh"),
    "exp": _of_float("exp"),
    "log": _of_float("log"),
    "Equality": _plain("eq"),
    "Unequality": _plain("ne"),
    "StrictLessThan": _plain("lt"),
    "LessThan": _plain("le"),
    "StrictGreaterThan": _swapped("lt"),
    "GreaterThan": _swapped("le"),
    "And": _truth("and"),
    "Or": _truth("or"),
    "Not": _of_float("not"),
}
