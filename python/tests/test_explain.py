"""Seeing inside: what explain tells of a compiled function, and what TILEWRIGHT_DEBUG writes."""

import os
import subprocess
import sys

import pytest
import torch

import tilewright


def gelu_of_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x * y + 1).sum(dim=1)


def test_bytes_moved_are_those_of_the_last_call() -> None:
    run = torch.compile(gelu_of_product, backend="tilewright", dynamic=True)
    with torch.no_grad():
        run(torch.randn(3, 5), torch.randn(3, 5))
        run(torch.randn(64, 32), torch.randn(64, 32))
    given = tilewright.explain(run).graphs[-1].explain()
    assert given["bytes_fused"] == 4 * (2 * 64 * 32 + 64)
    assert given["bytes_unfused"] > 2 * given["bytes_fused"]
    assert "bytes moved: " in str(tilewright.explain(run))


def test_before_a_call_bytes_are_unknown() -> None:
    run = torch.compile(gelu_of_product, backend="tilewright", dynamic=True)
    assert str(tilewright.explain(run)) == "0 graphs, 0 graph breaks"


def test_refused_merges_are_named_with_the_reason() -> None:
    run = torch.compile(lambda x, bias: x + torch.exp(bias), backend="tilewright", dynamic=True)
    with torch.no_grad():
        run(torch.randn(4, 6), torch.randn(6))
    ((producer, consumer, reason),) = tilewright.explain(run).refused
    assert producer != consumer
    assert reason == "too costly to compute again for each row"
    assert f"not fused: '{producer}' into '{consumer}': {reason}" in tilewright.explain(run).details()


PROGRAM = """
import torch
run = torch.compile(lambda x: torch.exp(x).sum(dim=1), backend="tilewright", dynamic=True)
with torch.no_grad():
    run(torch.randn(3, 7))
"""


@pytest.mark.parametrize(
    ("level", "told", "untold"),
    [
        ("0", (), ("tilewright:",)),
        ("1", ("tilewright: compiled ",), ("bytes moved", "program scratch=")),
        ("2", ("rows '",), ("program scratch=",)),
        ("3", ("program scratch=",), ("graph after",)),
        ("4", ("tilewright: graph after fuse_areas", "program scratch="), ()),
    ],
)
def test_debug_levels(level: str, told: tuple[str, ...], untold: tuple[str, ...]) -> None:
    environment = {**os.environ, "TILEWRIGHT_DEBUG": level}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    for text in told:
        assert text in done.stderr
    for text in untold:
        assert text not in done.stderr
