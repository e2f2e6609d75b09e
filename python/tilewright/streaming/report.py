"""What became of what streaming mode recorded: explain(tilewright.lazy)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .run import CACHE, Compiled
from .statistics import STATISTICS


@dataclass
class LazyExplanation:
    """Counters since the start of the process and the compiled segments that are kept. `str()` of it is a report."""

    counters: dict[str, Any]
    segments: list[Compiled]

    def details(self) -> str:
        """Every kernel of every kept segment with what it fuses, reads and writes; passes; refused merges."""
        return "\n".join(row.segment.explain()["text"] for row in self.segments if row.segment is not None)

    def __str__(self) -> str:
        counters = self.counters
        lines = [
            f"{counters['ops_recorded']} ops recorded, {counters['segments']} segments run, {counters['compiled']} compiled, "
            f"{counters['cache_hits']} found again, {counters['replayed']} run by torch",
            f"{counters['values_stored']} values stored, {counters['values_never_stored']} never",
        ]
        for reason, count in sorted(counters["flushes"].items(), key=lambda row: -row[1]):
            lines.append(f"  {count} ran because of: {reason}")
        for name, count in sorted(counters["ops_on_torch"].items(), key=lambda row: -row[1]):
            lines.append(f"  on torch: {name}; {count} calls")
        for number, row in enumerate(self.segments):
            if row.segment is None:
                continue
            given = row.segment.explain()
            kernels = ", ".join(f"{kernel['kind']} of {len(kernel['ops'])} ops" for kernel in given["kernels"])
            lines.append(f"segment {number}: {row.num_ops} ops; {kernels or 'no kernels'}")
        return "\n".join(lines)


def explanation() -> LazyExplanation:
    return LazyExplanation(STATISTICS.snapshot(), CACHE.all())


def trim() -> None:
    """Drops the arenas and cached programs of every kept segment."""
    for row in CACHE.all():
        if row.segment is not None:
            row.segment.trim()
