"""Every test starts with a fresh Dynamo, and runs on both engines where it asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture(params=["oracle", "vm"])
def engine(request: pytest.FixtureRequest) -> str:
    """The naive evaluator tells whether the lowering is right; the VM is what users run."""
    return request.param
