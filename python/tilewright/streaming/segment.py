"""Recorded ops as Python reads them, to compile them or to run them on torch. Recording itself is in _core.Stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .. import _core
from .layouts import Layout
from .metadata import ResultLayout
from .refs import Ref, fill, refs_in
from .templates import TEMPLATES


@dataclass(slots=True)
class Op:
    """One recorded op. `results` are value numbers, None for results that are None."""

    overload: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[int | None, ...]
    as_list: bool = False

    def reads(self) -> Iterator[int]:
        """The values it reads, in order, each place once."""
        yield from refs_in(self.args)
        for item in self.kwargs.values():
            yield from refs_in(item)

    def call(self, values: Callable[[int], Any]) -> Any:
        """The op by torch, on what `values` gives."""
        return self.overload(*fill(self.args, values), **{name: fill(x, values) for name, x in self.kwargs.items()})


@dataclass(slots=True)
class Segment:
    """`inputs`: the value of each; `outputs`: value and layout of each storage to be written; `writes`: (input, value)."""

    ops: list[Op] = field(default_factory=list)
    values: list[ResultLayout] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[tuple[int, Layout]] = field(default_factory=list)
    writes: list[tuple[int, int]] = field(default_factory=list)

    def new_value(self, layout: ResultLayout) -> int:
        self.values.append(layout)
        return len(self.values) - 1


def exported(recorded: _core.StreamSegment) -> Segment:
    """What a closed segment of the recorder holds."""
    segment = Segment(writes=list(recorded.writes))
    segment.values = [ResultLayout(sizes, strides, dtype) for _, sizes, strides, dtype in recorded.values]
    segment.inputs = [value for _, value, _ in recorded.inputs]
    segment.outputs = [(value, layout) for _, value, layout in recorded.outputs]
    for number, refs, ints, floats, first, count, nones in recorded.ops:
        template = TEMPLATES[number]
        args, kwargs = template.filled([Ref(ref) for ref in refs], ints, floats)
        results = tuple(None if nones >> i & 1 else first + i for i in range(count))
        segment.ops.append(Op(template.overload, args, kwargs, results, template.as_list))
    return segment


def input_tensors(recorded: _core.StreamSegment) -> list[torch.Tensor]:
    """The inputs as tensors."""
    return [as_tensor(storage, layout) for storage, _, layout in recorded.inputs]


def as_tensor(storage: Any, layout: Layout) -> torch.Tensor:
    offset, sizes, strides, dtype = layout
    return torch.empty(0, dtype=dtype).set_(storage, offset, sizes, strides)
