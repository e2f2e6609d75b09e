"""Segments that fail while they run: every live tensor holds what eager would have left, or what it held before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from lazy_calls import leaves_nothing_active  # noqa: F401 (a fixture)
from torch.nn import functional as F

import tilewright

Program = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def after_an_update_of_a_part(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    total = x.sum()
    x[8:16].add_(1)
    return F.embedding((x[:20] * 5 + total).long(), table)


def after_a_product_of_what_was_updated(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    total = x.sum()
    x[8:16].add_(1)
    square = x.view(8, 8) @ x.view(8, 8)
    return F.embedding(square[0].long() + 90 + (total * 0).long(), table)


def after_an_update_of_the_whole(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return F.embedding((x.view(8, 8) @ x.view(8, 8))[0].long() + 90, table)


def after_a_scatter(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    x.index_add_(0, torch.tensor([1, 1, 3]), torch.ones(3))
    return F.embedding((x.view(8, 8) @ x.view(8, 8))[0].long() + 90, table)


def in_a_scatter(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    x[2:4].mul_(3)
    y = x + 0
    x.index_add_(0, torch.tensor([1, 1, 99]), torch.ones(3))
    return y


@pytest.mark.parametrize(
    "program",
    [
        after_an_update_of_a_part,
        after_a_product_of_what_was_updated,
        after_an_update_of_the_whole,
        after_a_scatter,
    ],
    ids=lambda program: program.__name__,
)
def test_an_index_out_of_range_leaves_updates_done_once(program: Program) -> None:
    x, want, table = torch.ones(64), torch.ones(64), torch.randn(5, 3)
    with pytest.raises(IndexError):
        program(want, table)
    before = tilewright.stats()["lazy"]["replayed"]
    with pytest.raises(IndexError), tilewright.lazy():
        result = program(x, table)
        assert result is not None  # held until the segment ran
    assert torch.equal(x, want)
    assert tilewright.stats()["lazy"]["replayed"] == before + 1


def test_a_failing_update_leaves_what_was_there() -> None:
    x = torch.ones(64)
    with pytest.raises((IndexError, RuntimeError)), tilewright.lazy():
        y = in_a_scatter(x, x)
    want = torch.ones(64)
    want[2:4] = 3
    assert torch.equal(y, want)
    assert torch.equal(x, torch.ones(64)) or torch.equal(x, want)


_NO_MEMORY = """
import resource, torch, tilewright
torch.set_num_threads(1)
with tilewright.lazy():
    (torch.ones(8, 8) @ torch.ones(8, 8)).add_(1)
a, x = torch.ones(4096, 4096), torch.ones(6)
def used():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
unlimited = resource.getrlimit(resource.RLIMIT_AS)
try:
    with tilewright.lazy():
        kept = x * 2
        x[1:].add_(1)
        square = (a @ a).sum(0, keepdim=True) @ a
        resource.setrlimit(resource.RLIMIT_AS, (used() + 8 * 2**20, unlimited[1]))
except (MemoryError, RuntimeError) as error:
    failed = True
else:
    failed = False
resource.setrlimit(resource.RLIMIT_AS, unlimited)
assert failed, "there was memory"
assert kept.tolist() == [2] * 6, kept
assert x.tolist() == [1, 2, 2, 2, 2, 2], x
assert tilewright.stats()["lazy"]["replayed"] == 1
with tilewright.lazy():
    again = kept + x
assert again.tolist() == [3, 4, 4, 4, 4, 4]
print("done")
"""


def test_no_memory_in_the_middle_of_a_segment() -> None:
    run = subprocess.run([sys.executable, "-c", _NO_MEMORY], capture_output=True, text=True, check=False)
    assert run.stdout.endswith("done\n"), run.stderr


_NO_MEMORY_FOR_A_RESULT = """
import torch, tilewright
with tilewright.lazy():
    x = torch.ones(6)
    y = x * 2
    y[1:].add_(1)
    try:
        y[:, None].repeat(1, 2**50)
    except RuntimeError:
        y.mul_(2)
    else:
        raise AssertionError("a result of 2**53 bytes")
assert y.tolist() == [4, 6, 6, 6, 6, 6], y
print("done")
"""


def test_no_memory_for_a_result_that_is_recorded() -> None:
    run = subprocess.run([sys.executable, "-c", _NO_MEMORY_FOR_A_RESULT], capture_output=True, text=True, check=False)
    assert run.stdout.endswith("done\n"), run.stderr
