"""Which numbers of a segment may differ from run to run.

Sizes, and numbers that schemas call SymInt, are named in the order in which they are met; equal numbers have one name, 0 and 1
keep their value. So two segments with the same key do the same work on other sizes: whatever equals a size of the one equals
that size of the other. Floats at arithmetic ops are named one by one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .refs import Ref

if TYPE_CHECKING:
    from .segment import Op, Segment


NamedFloat = tuple[str, int]
_MAX_NAMED = 2**31 - 1
_ARITHMETIC = frozenset(
    f"aten::{name}"
    for name in ("add", "sub", "mul", "div", "rsub", "eq", "ne", "lt", "le", "gt", "ge", "where", "addcmul", "addcdiv")
)
_PLAIN_FLOATS = frozenset((0.0, 1.0, -1.0, 2.0, 0.5, -2.0, -0.5))


@functools.cache
def symint_positions(overload: Any) -> tuple[frozenset[int], frozenset[str]]:
    """Positions and names of the arguments that are sizes."""
    positions, names = set(), set()
    for position, argument in enumerate(overload._schema.arguments):
        if _is_size(argument.real_type) and argument.name != "step":  # a slice has to know its step
            names.add(argument.name)
            positions.add(position)
    return frozenset(positions), frozenset(names)


def _is_size(kind: Any) -> bool:
    """SymInt, or an option or a list of it."""
    while kind.kind() in ("OptionalType", "ListType"):
        kind = kind.getElementType()
    return bool(kind.kind() == "SymIntType")


@functools.cache
def takes_floats(overload: Any) -> bool:
    return overload._schema.name in _ARITHMETIC


class Naming:
    """Names for the sizes and the floats of one segment. What gets none keeps its value."""

    def __init__(self, names_sizes: bool, names_floats: bool) -> None:
        self.names_sizes, self.names_floats = names_sizes, names_floats
        self.sizes: dict[int, int] = {}  # number -> name
        self.floats: list[float] = []

    def size(self, number: int) -> int:
        """-1 - name, or the number itself if it has none. Only for numbers >= 0."""
        if number < 2 or not self.names_sizes or number > _MAX_NAMED:
            return number
        name = self.sizes.get(number)
        if name is None:
            name = self.sizes[number] = len(self.sizes)
        return -1 - name

    def shape(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.size(number) for number in sizes)

    def float(self, number: float) -> Any:
        if not self.names_floats or number in _PLAIN_FLOATS or not math.isfinite(number):
            return repr(number)
        self.floats.append(number)
        return ("float", len(self.floats) - 1)

    def argument(self, item: Any, is_size: bool, is_arithmetic: bool) -> Any:
        """The key of an argument."""
        if isinstance(item, Ref):
            return ("value", item.value)
        if isinstance(item, (list, tuple)):
            return tuple(self.argument(one, is_size, is_arithmetic) for one in item)
        if isinstance(item, bool) or item is None:
            return item is True if item is not None else None
        if isinstance(item, int):
            return ("size", self.size(item)) if is_size and item >= 0 else ("int", item)
        if isinstance(item, float):
            return self.float(item) if is_arithmetic else repr(item)
        return item

    def op(self, op: Op, segment: Segment) -> tuple[Any, ...]:
        positions, names = symint_positions(op.overload)
        arithmetic = takes_floats(op.overload) and all(
            segment.values[value].dtype.is_floating_point or segment.values[value].dtype is torch.bool
            for value in op.results
            if value is not None
        )
        return (
            op.overload,
            tuple(self.argument(item, at in positions, arithmetic) for at, item in enumerate(op.args)),
            tuple((name, self.argument(item, name in names, arithmetic)) for name, item in op.kwargs.items()),
            tuple(None if value is None else self.layout(segment, value) for value in op.results),
        )

    def layout(self, segment: Segment, value: int) -> tuple[Any, ...]:
        row = segment.values[value]
        return (row.dtype, self.shape(row.sizes))


def rebuilt(item: Any, key: Any, on_ref: Callable[[int], Any], on_size: Callable[[int], Any], on_float: Any) -> Any:
    """An argument with its named numbers replaced; `key` is what Naming.argument made of it."""
    if isinstance(item, Ref):
        return on_ref(item.value)
    if isinstance(item, (list, tuple)):
        return [rebuilt(one, own, on_ref, on_size, on_float) for one, own in zip(item, key, strict=True)]
    if isinstance(key, tuple) and key[0] == "size":
        return on_size(key[1])
    if isinstance(key, tuple) and key[0] == "float":
        return on_float(key[1])
    return item
