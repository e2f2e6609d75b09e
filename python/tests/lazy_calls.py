"""What tests of streaming mode share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from against_eager import assert_same
from tilewright.streaming.recorder import ACTIVE

import tilewright


@pytest.fixture(autouse=True)
def leaves_nothing_active() -> Iterator[None]:
    yield
    assert not ACTIVE


def same(function: Callable[..., Any], *args: Any) -> None:
    """The function gives the same inside lazy() and outside."""
    torch.manual_seed(1)
    want = function(*copy.deepcopy(args))
    torch.manual_seed(1)
    given = copy.deepcopy(args)
    with tilewright.lazy():
        got = function(*given)
    assert_same(got, want)


def flushes() -> dict[str, int]:
    return dict(tilewright.stats()["lazy"]["flushes"])


def reasons_of(function: Callable[[], Any]) -> dict[str, int]:
    """Why segments ran while the function did."""
    before = flushes()
    function()
    return {
        reason: count - before.get(reason, 0) for reason, count in flushes().items() if count > before.get(reason, 0)
    }
