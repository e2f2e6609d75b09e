"""The one table of lowerings: ATen overload -> function that appends graph ops.

A lowering takes the Lowering (lowering.py) and the node's arguments, with tensors as Value and symbolic numbers as Dim, and
returns a Value, a tuple of them, or None. It raises CannotLower where the library has no equal: the node then runs on torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

LoweringFunction = Callable[..., Any]
LOWERINGS: dict[Any, LoweringFunction] = {}
FAMILIES = (
    "elementwise",
    "create",
    "reduce",
    "order",
    "movement",
    "indexing",
    "contraction",
    "norm",
    "control",
    "quantised",
)


class CannotLower(Exception):
    """The node has no lowering for these arguments; the text says why."""


def lowers(*targets: Any) -> Callable[[LoweringFunction], LoweringFunction]:
    """Registers a lowering for ATen overloads, given as objects or as names like "add.Tensor".

    A name with "::" is that of an op of another library, which may not be loaded yet.
    """

    def register(function: LoweringFunction) -> LoweringFunction:
        for target in targets:
            named = isinstance(target, str) and "::" not in target
            overload = find_overload(target) if named else target
            if overload is not None:
                LOWERINGS[overload] = function
        return function

    return register


def find_lowering(target: Any) -> LoweringFunction | None:
    """The lowering of an overload: its own, or the one registered for its name."""
    function = LOWERINGS.get(target)
    return LOWERINGS.get(target.name()) if function is None and hasattr(target, "name") else function


def find_overload(name: str) -> Any:
    """torch.ops.aten's overload of this name ("default" if none is given), or None if this torch has none."""
    import torch

    packet_name, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, packet_name, None)
    return None if packet is None else getattr(packet, overload or "default", None)


def load_families() -> None:
    """Imports every family once, which fills the table."""
    for family in FAMILIES:
        importlib.import_module(f".{family}", __package__)
