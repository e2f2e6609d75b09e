"""Templates: what calls of one op share that differ only in values, sizes and floats. The recorder keeps a number for each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .layouts import DTYPES
from .metadata import NotRecordable, ResultLayout
from .naming import symint_positions, takes_floats


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a template: "ref" for a value, "int" for a size, "float" for a number."""

    kind: str


REF, INT, FLOAT = Slot("ref"), Slot("int"), Slot("float")


@dataclass(frozen=True, slots=True)
class Template:
    """An op with Slots among its arguments."""

    number: int
    overload: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    as_list: bool
    names_floats: bool

    def filled(self, refs: Sequence[Any], ints: Sequence[int], floats: Sequence[float]) -> tuple[Any, dict[str, Any]]:
        """Arguments with these in the slots, in order."""
        sources = {REF: iter(refs), INT: iter(ints), FLOAT: iter(floats)}
        args = tuple(_filled(item, sources) for item in self.args)
        return args, {name: _filled(item, sources) for name, item in self.kwargs.items()}


@dataclass(slots=True)
class Call:
    """A call as a template and what goes into its slots."""

    template: Template
    tensors: list[torch.Tensor]
    ints: list[int]
    floats: list[float]


LIMIT = 100_000
TEMPLATES: list[Template] = []
_by_key: dict[Any, Template] = {}
_lock = threading.Lock()


def _filled(item: Any, sources: dict[Slot, Iterator[Any]]) -> Any:
    if isinstance(item, Slot):
        return next(sources[item])
    return [_filled(one, sources) for one in item] if isinstance(item, (list, tuple)) else item


def read_call(overload: Any, args: Any, kwargs: Any, results: Sequence[ResultLayout | None], as_list: bool) -> Call:
    """The template of a call, made if it is new."""
    positions, names = symint_positions(overload)
    dtypes = tuple(None if row is None else row.dtype for row in results)
    named = takes_floats(overload) and all(
        dtype is None or dtype.is_floating_point or dtype is torch.bool for dtype in dtypes
    )
    call = Call(None, [], [], [])  # type: ignore[arg-type]
    slots = tuple(_slotted(call, item, at in positions, named) for at, item in enumerate(args))
    options = {name: _slotted(call, item, name in names, named) for name, item in kwargs.items()}
    key = (
        overload,
        tuple(map(_key, slots)),
        tuple((name, _key(item)) for name, item in options.items()),
        dtypes,
        as_list,
        torch.get_default_dtype(),
    )
    with _lock:
        template = _by_key.get(key)
        if template is None:
            if len(TEMPLATES) >= LIMIT:
                raise NotRecordable("too many kinds of calls")
            template = _by_key[key] = Template(len(TEMPLATES), overload, slots, options, as_list, named)
            TEMPLATES.append(template)
    call.template = template
    return call


_MOVEMENTS = (
    torch.ops.aten.slice.Tensor,
    torch.ops.aten.slice_scatter.default,
    torch.ops.aten.reshape.default,
    torch.ops.aten.permute.default,
)


def movement(kind: int, dtype: int, numbers: Sequence[int]) -> int:
    """The template of a movement that the recorder adds itself: a slice of (axis, step), its scatter, a view, a permute."""
    overload = _MOVEMENTS[kind]
    row = ResultLayout((0,), (1,), DTYPES[dtype])
    tensors = [torch.empty(0)] * (2 if kind == 1 else 1)
    if kind < 2:
        args: tuple[Any, ...] = (*tensors, numbers[0], 0, 0, numbers[1])
    else:
        args = (*tensors, [0] * numbers[0] if kind == 2 else list(numbers))
    return read_call(overload, args, {}, [row], False).template.number


def _slotted(call: Call, item: Any, is_size: bool, names_floats: bool) -> Any:
    if isinstance(item, torch.Tensor):
        call.tensors.append(item)
        return REF
    if isinstance(item, (list, tuple)):
        return tuple(_slotted(call, one, is_size, names_floats) for one in item)
    if is_size and isinstance(item, int) and not isinstance(item, bool):
        call.ints.append(item)
        return INT
    if names_floats and (isinstance(item, float) or counts_as_float(call.tensors, item)):
        call.floats.append(float(item))
        return FLOAT
    return item


def counts_as_float(tensors: list[torch.Tensor], item: Any) -> bool:
    """True for an int beside float tensors only: it does not change the dtype."""
    is_int = isinstance(item, int) and not isinstance(item, bool) and abs(item) < 2**53
    return is_int and bool(tensors) and all(tensor.dtype.is_floating_point for tensor in tensors)


def _key(item: Any) -> Any:
    if isinstance(item, tuple):
        return tuple(map(_key, item))
    return (type(item), repr(item) if isinstance(item, float) else item)
