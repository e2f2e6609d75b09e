"""Runs functions compiled by the backend beside eager and compares what both return."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

logging.getLogger("torch.__trace").propagate = False  # thousands of lines in the report of each failure

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def compiled(function: Any, engine: str = "vm", fallback: str = "error", **options: Any) -> Any:
    return torch.compile(
        function, backend="tilewright", fullgraph=True, options={"fallback": fallback, "engine": engine}, **options
    )


def assert_same(got: Any, want: Any) -> None:
    """Dtypes, shapes, strides and values are those of eager."""
    got_leaves, want_leaves = tree_leaves(got), tree_leaves(want)
    assert len(got_leaves) == len(want_leaves)
    for one, other in zip(got_leaves, want_leaves, strict=True):
        if not isinstance(other, torch.Tensor):
            assert one == other
            continue
        assert one.dtype is other.dtype
        assert one.shape == other.shape
        if other.numel() > 1:
            kept = [i for i, size in enumerate(other.shape) if size > 1]
            assert [one.stride(i) for i in kept] == [other.stride(i) for i in kept]
        limit = TOLERANCE.get(other.dtype, 0)
        torch.testing.assert_close(one, other, rtol=limit, atol=limit, equal_nan=True)


def check(function: Callable[..., Any], *calls: tuple[Any, ...], engine: str, dynamic: bool | None = True) -> None:
    """Every call gives what eager gives, in one compiled function and without a fallback."""
    run = compiled(function, engine, dynamic=dynamic)
    for arguments in calls:
        try:
            got = run(*arguments)
        except Exception as error:
            refused = re.search(r"(the runtime has no kernel for|op) (\w+)( has no kernel)?", str(error))
            if engine == "vm" and refused is not None:
                pytest.skip(f"the VM has no kernel for {refused[2]} yet; the oracle checks the lowering")
            raise
        assert_same(got, function(*arguments))
