"""Reads of tensor memory that pass torch's dispatcher by: they run first what is pending for that memory."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

from . import recorder

_METHODS = (
    "numpy",
    "tolist",
    "data_ptr",
    "untyped_storage",
    "storage",
    "_typed_storage",
    "__array__",
    "__dlpack__",
    "__reduce_ex__",
    "__repr__",  # torch disables modes while it formats
    "__deepcopy__",
    "share_memory_",
)
_lock = threading.Lock()
_installed = False


def watched(read: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(read)
    def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.ACTIVE and isinstance(tensor, torch.Tensor):
            recorder.flush_holders(tensor)
        return read(tensor, *args, **kwargs)

    return call


def install() -> None:
    """Watches the methods of torch.Tensor that give access to memory, from the first recorder on. They stay watched: putting
    them back would cost more per context than the watch costs per call."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    for name in _METHODS:
        if hasattr(torch.Tensor, name):
            setattr(torch.Tensor, name, watched(getattr(torch.Tensor, name)))
    to_dlpack = watched(torch.utils.dlpack.to_dlpack)
    torch.utils.dlpack.to_dlpack = torch.to_dlpack = to_dlpack
