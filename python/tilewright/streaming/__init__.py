"""Streaming fusion of eager PyTorch: ATen calls are recorded as they happen and run as compiled segments.

with tilewright.lazy():              a context, or a decorator: @tilewright.lazy()
    y = model(x)                     ordinary Python; nothing is traced
tilewright.enable()                  the same for the process, until disable()
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from . import host_reads
from .recorder import MAX_OPS, Recorder, flush_all
from .report import explanation
from .report import trim as trim_segments
from .statistics import STATISTICS

__all__ = ["STATISTICS", "disable", "enable", "explanation", "flush", "lazy", "trim_segments"]


class _OfThread(threading.local):
    """The recorder of a thread and how many contexts use it."""

    recorder: Recorder | None = None
    depth: int = 0


_of_thread = _OfThread()
_enabled = False


class lazy:
    """Records the ATen calls of this thread inside the context, or inside the decorated function.

    `max_ops`: a segment runs when it holds so many ops. Contexts nest; the end of each runs what is recorded.
    """

    def __init__(self, function: Callable[..., Any] | None = None, *, max_ops: int = MAX_OPS) -> None:
        if max_ops < 1:
            raise ValueError(f"max_ops must be at least 1: {max_ops}")
        self._max_ops = max_ops
        self._function = function
        if function is not None:
            functools.update_wrapper(self, function)

    def __enter__(self) -> lazy:
        _enter(self._max_ops)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _exit(kind, error, trace)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is not None:
            with lazy(max_ops=self._max_ops):
                return self._function(*args, **kwargs)
        function = args[0]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with lazy(max_ops=self._max_ops):
                return function(*args, **kwargs)

        return call

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _enter(max_ops: int) -> None:
    state = _of_thread
    if state.depth == 0:
        host_reads.install()
        _watch_threads()
        state.recorder = Recorder(max_ops)
        state.recorder.__enter__()
    state.depth += 1


def _exit(*exception: Any) -> None:
    state = _of_thread
    assert state.recorder is not None
    state.depth -= 1
    if state.depth:
        state.recorder.flush("exit")
        return
    recorder, state.recorder = state.recorder, None
    recorder.__exit__(*exception)


def enable(*, max_ops: int = MAX_OPS) -> None:
    """Records the ATen calls of this thread, and of every thread started from now on, until disable()."""
    global _enabled
    if _enabled:
        return
    _enabled = True
    _enter(max_ops)


def disable() -> None:
    """Ends enable(): runs what is recorded. Call it in the thread that called enable()."""
    global _enabled
    if not _enabled:
        return
    if _of_thread.recorder is None:
        raise RuntimeError("disable() must be called in the thread that called enable()")
    _enabled = False
    flush_all("exit")
    _exit(None, None, None)


def flush() -> None:
    """Runs what every thread has recorded. Needed before memory of a tensor is read in a way that torch does not see."""
    flush_all("flush")


# ---- threads --------------------------------------------------------------------------------------------------------

_start = threading.Thread.start


def _started(self: threading.Thread) -> None:
    """What a new thread may read is in memory before it starts; under enable() it records too."""
    flush_all("thread")
    if _enabled:
        run = self.run

        def recorded() -> None:
            with lazy():
                run()

        self.run = recorded  # type: ignore[method-assign]
    _start(self)


def _watch_threads() -> None:
    threading.Thread.start = _started  # type: ignore[method-assign]


os.register_at_fork(before=lambda: flush_all("fork"))
