"""Tilewright: dynamic tensor programs, compiled in microseconds and run by a bytecode VM.

    torch.compile(model, backend="tilewright")          run a PyTorch model
    session = tilewright.load("model.onnx")             run an ONNX or a stored model: session.run({"x": array})
    tilewright.export(compiled, "model.onnx")           write it as ONNX, every size free
    print(tilewright.explain(compiled))                 what became of a compiled function

Importing this package imports neither torch nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, threads
from .onnx_export import Exported, export
from .onnxruntime import InferenceSession
from .session import Session, load

if TYPE_CHECKING:
    from .streaming import disable, enable, flush, lazy

__all__ = [
    "Exported",
    "InferenceSession",
    "Session",
    "disable",
    "enable",
    "explain",
    "export",
    "flush",
    "lazy",
    "load",
    "num_threads",
    "refresh",
    "save",
    "set_num_threads",
    "stats",
    "trim",
]
__version__ = "0.1.0"


def set_num_threads(count: int) -> None:
    """Threads that one call may use, its caller included; at least 1. Before the first call of this, and without
    TILEWRIGHT_NUM_THREADS, compiled functions follow torch.set_num_threads."""
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1: {count}")
    threads.follow_torch = False
    _core.set_num_threads(count)


def num_threads() -> int:
    """Threads that one call may use."""
    return _core.num_threads()


def stats() -> dict[str, Any]:
    """Counters of the process: calls, launches, programs encoded and their times in ns, bytes, fallbacks by op."""
    counters = dict(_core.counters())
    counters["fallbacks"] = _torch_explain().fallback_counts() if _torch_backend_is_loaded() else {}
    counters["lazy"] = _streaming_counts()
    return counters


def explain(compiled: Any = None) -> Any:
    """Graphs, graph breaks, kernels and fallbacks of a function compiled with backend="tilewright"; `str()` is a report.
    Of `tilewright.lazy`: what streaming mode recorded, why segments ran, and their kernels."""
    if compiled is not None and compiled is _streaming_attribute("lazy"):
        return _streaming_attribute("explanation")()
    return _torch_explain().explain(compiled)


def refresh(compiled: Any) -> None:
    """Counts every parameter of a compiled function as changed."""
    _torch_explain().refresh(compiled)


def save(model: Any, path: str) -> None:
    """Stores a compiled function (after a call) or a Session as one file that runs without torch and without Python."""
    if isinstance(model, Session):
        model.save(path)
    else:
        _torch_explain().save_compiled(model, path)


def trim() -> None:
    """Returns memory that no call uses now to the system."""
    if _torch_backend_is_loaded():
        _torch_explain().trim()
    if (trim_segments := _streaming_attribute("trim_segments")) is not None:
        trim_segments()


def __getattr__(name: str) -> Any:
    """Streaming mode needs torch, so its names are imported when they are asked for."""
    if name not in ("disable", "enable", "flush", "lazy"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import streaming

    return getattr(streaming, name)


def _torch_explain() -> Any:
    from .torch_backend import explain as module

    return module


def _streaming_counts() -> dict[str, Any]:
    statistics = _streaming_attribute("STATISTICS")
    return {} if statistics is None else statistics.snapshot()


def _streaming_attribute(name: str) -> Any:
    """None if streaming mode is not loaded."""
    import sys

    return getattr(sys.modules.get(f"{__name__}.streaming"), name, None)


def _torch_backend_is_loaded() -> bool:
    import sys

    return f"{__name__}.torch_backend" in sys.modules
