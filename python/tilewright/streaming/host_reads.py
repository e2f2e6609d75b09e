"""Reads of tensor memory that pass torch's dispatcher by: while a recorder is active, they run what is pending first."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

from .recorder import flush_holders

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
_users = 0
_saved: list[tuple[Any, str, Any]] = []


def watched(read: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(read)
    def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided:
            flush_holders(tensor)
        return read(tensor, *args, **kwargs)

    return call


def install() -> None:
    """Watches the methods of torch.Tensor that give access to memory, from the first user on."""
    global _users
    with _lock:
        _users += 1
        if _users > 1:
            return
        for name in _METHODS:
            if hasattr(torch.Tensor, name):
                _replace(torch.Tensor, name, watched(getattr(torch.Tensor, name)))
        to_dlpack = watched(torch.utils.dlpack.to_dlpack)
        _replace(torch.utils.dlpack, "to_dlpack", to_dlpack)
        _replace(torch, "to_dlpack", to_dlpack)


def remove() -> None:
    """Ends the watch with its last user."""
    global _users
    with _lock:
        _users -= 1
        if _users:
            return
        for owner, name, old in reversed(_saved):
            if old is None:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
        _saved.clear()


def _replace(owner: Any, name: str, new: Any) -> None:
    _saved.append((owner, name, owner.__dict__.get(name)))
    setattr(owner, name, new)
