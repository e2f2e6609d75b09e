"""Runs a recorded segment: finds or builds its compiled form, writes the values of live tensors; on torch if that fails."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .. import _core, threads
from .build import REFUSALS, SegmentBuilder
from .layouts import DTYPES
from .naming import Naming
from .segment import Segment, as_tensor, exported, input_tensors
from .statistics import STATISTICS

LIMIT = 1024  # compiled segments
NAMINGS = ((True, True), (False, True), (False, False))  # whether sizes and floats are symbols, in the order of trial
WARM = 128  # of them with an arena: each takes address space


@dataclass
class Compiled:
    """A compiled segment, and which named numbers are its scalar inputs. `segment` is None if only torch can run it."""

    segment: _core.Segment | None
    scalar_names: list[int] = field(default_factory=list)
    refusal: str = ""
    num_ops: int = 0


class SegmentCache:
    """Compiled segments by key, the least recently used dropped first."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._rows: OrderedDict[Any, Compiled] = OrderedDict()
        self._warm: OrderedDict[int, Compiled] = OrderedDict()
        self._lock = threading.Lock()
        self.limit = limit

    def get(self, key: Any) -> Compiled | None:
        with self._lock:
            found = self._rows.get(key)
            if found is not None:
                self._rows.move_to_end(key)
            return found

    def put(self, key: Any, compiled: Compiled) -> None:
        with self._lock:
            self._rows[key] = compiled
            while len(self._rows) > self.limit:
                self._rows.popitem(last=False)

    def ran(self, compiled: Compiled) -> None:
        """Notes a run; segments that have not run for long give their arenas and programs back."""
        with self._lock:
            self._warm[id(compiled)] = compiled
            self._warm.move_to_end(id(compiled))
            _, coldest = self._warm.popitem(last=False) if len(self._warm) > WARM else (0, None)
        if coldest is not None and coldest.segment is not None:
            coldest.segment.trim()

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()
            self._warm.clear()

    def all(self) -> list[Compiled]:
        with self._lock:
            return list(self._rows.values())


CACHE = SegmentCache()


def run_segment(recorded: _core.StreamSegment, reason: str) -> None:
    """Writes what eager would have written by now."""
    recorded.close()
    num_outputs, writes = recorded.num_outputs, recorded.writes
    STATISTICS.reasons[reason] += 1
    STATISTICS.stored += num_outputs + len(writes)
    STATISTICS.never_stored += recorded.num_own - num_outputs
    if not num_outputs and not writes:
        return
    STATISTICS.segments += 1
    compiled = find(recorded)
    if compiled.segment is not None:
        try:
            execute(compiled, recorded)
            return
        except (MemoryError, *REFUSALS) as error:
            STATISTICS.refusals[f"{type(error).__name__}: {error}"] += 1
    replay(recorded)


def execute(compiled: Compiled, recorded: _core.StreamSegment) -> None:
    assert compiled.segment is not None
    if threads.follow_torch and (count := torch.get_num_threads()) != _core.num_threads():
        _core.set_num_threads(count)
    recorded.run(compiled.segment, compiled.scalar_names)
    CACHE.ran(compiled)


def find(recorded: _core.StreamSegment) -> Compiled:
    """The compiled segment with its sizes and floats as symbols; with given ones where symbols are not possible."""
    for names in NAMINGS:
        compiled = _find(recorded, *names)
        if compiled.segment is not None:
            break
    return compiled


def _find(recorded: _core.StreamSegment, names_sizes: bool, names_floats: bool) -> Compiled:
    key = recorded.key(names_sizes, names_floats, DTYPES.index(torch.get_default_dtype()))
    compiled = CACHE.get(key)
    if compiled is not None:
        STATISTICS.cache_hits += compiled.segment is not None
        return compiled
    segment = exported(recorded)
    compiled, naming = compile_segment(segment, names_sizes, names_floats)
    if compiled.segment is not None:
        numbers = list(naming.sizes)
        compiled.scalar_names = [recorded.names.index(numbers[name]) for name in compiled.scalar_names]
        assert len(naming.floats) == len(recorded.named_floats)
        STATISTICS.compiled += 1
    CACHE.put(key, compiled)
    return compiled


def compile_segment(segment: Segment, names_sizes: bool, names_floats: bool) -> tuple[Compiled, Naming]:
    naming = Naming(names_sizes, names_floats)
    for value in segment.inputs:
        naming.layout(segment, value)
    keys = [naming.op(op, segment) for op in segment.ops]
    builder = SegmentBuilder(segment, naming)
    try:
        return Compiled(builder.build(keys), builder.scalar_names, num_ops=len(keys)), naming
    except REFUSALS as error:
        refusal = f"{type(error).__name__}: {error}"
        if not names_floats:
            STATISTICS.refusals[refusal] += 1
        return Compiled(None, refusal=refusal), naming


def replay(recorded: _core.StreamSegment) -> None:
    """Runs the recorded ops on torch in order and copies what is live to where it belongs. An op that fails leaves out
    only what depends on it; its error is raised at the end."""
    STATISTICS.replayed += 1
    segment = exported(recorded)
    inputs = input_tensors(recorded)
    kept = [value for value, _ in segment.outputs] + [value for _, value in segment.writes]
    with torch.no_grad():
        values, error = _replayed(segment, inputs, _last_uses(segment, kept))
        for storage, value, layout in recorded.outputs:
            if value in values:
                as_tensor(storage, layout).copy_(values[value])
        # All values first: a value may be a view of what another write changes.
        sources = [(number, values[value].clone()) for number, value in segment.writes if value in values]
        for number, source in sources:
            inputs[number].copy_(source)
    if error is not None:
        raise error


def _replayed(
    segment: Segment, inputs: list[torch.Tensor], last_use: dict[int, list[int]]
) -> tuple[dict[int, torch.Tensor], Exception | None]:
    values: dict[int, torch.Tensor] = dict(zip(segment.inputs, inputs, strict=True))
    first: Exception | None = None

    for number, op in enumerate(segment.ops):
        if any(value not in values for value in op.reads()):
            continue
        try:
            results = op.call(values.__getitem__)
        except Exception as error:
            first = first or error
            continue
        rows = [results] if isinstance(results, torch.Tensor) else results
        values.update((value, row) for value, row in zip(op.results, rows, strict=True) if value is not None)
        for value in last_use.get(number, ()):
            values.pop(value, None)
    return values, first


def _last_uses(segment: Segment, kept: Sequence[int]) -> dict[int, list[int]]:
    """Op number -> values that nothing reads after it."""
    last: dict[int, int] = {}
    for number, op in enumerate(segment.ops):
        last.update((value, number) for value in op.results if value is not None)
        last.update((value, number) for value in op.reads())
    keep = set(kept)
    uses: dict[int, list[int]] = {}
    for value, number in last.items():
        if value not in keep:
            uses.setdefault(number, []).append(value)
    return uses
