"""Refs: values of a segment as arguments of recorded ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A value as an argument of a recorded op."""

    value: int


def fill(item: Any, values: Callable[[int], Any]) -> Any:
    """An argument with its Refs replaced."""
    if isinstance(item, Ref):
        return values(item.value)
    return [fill(one, values) for one in item] if isinstance(item, (list, tuple)) else item


def refs_in(item: Any) -> Iterator[int]:
    """The values that an argument refers to, in order."""
    if isinstance(item, Ref):
        yield item.value
    elif isinstance(item, (list, tuple)):
        for one in item:
            yield from refs_in(one)
