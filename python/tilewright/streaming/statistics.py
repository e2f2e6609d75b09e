"""Counters of streaming mode, for stats()["lazy"] and explain(lazy)."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Statistics:
    """Counts since the start of the process. `reasons`: why segments ran; `on_torch`: ops that were not recorded."""

    recorded: int = 0
    segments: int = 0
    compiled: int = 0
    cache_hits: int = 0
    replayed: int = 0  # segments that ran on torch, op by op
    stored: int = 0  # values written to memory
    never_stored: int = 0  # values that died before their segment ran
    reasons: Counter[str] = field(default_factory=Counter)
    on_torch: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)  # why segments were replayed
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def snapshot(self) -> dict[str, Any]:
        with self.lock:
            return {
                "ops_recorded": self.recorded,
                "ops_on_torch": dict(self.on_torch),
                "segments": self.segments,
                "compiled": self.compiled,
                "cache_hits": self.cache_hits,
                "replayed": self.replayed,
                "refusals": dict(self.refusals),
                "values_stored": self.stored,
                "values_never_stored": self.never_stored,
                "flushes": dict(self.reasons),
            }


STATISTICS = Statistics()
