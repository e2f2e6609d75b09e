"""Writes to parts of tensors inside tilewright.lazy(): recorded as new values of the whole, so segments go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from lazy_calls import leaves_nothing_active, reasons_of, same  # noqa: F401 (a fixture)

import tilewright


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape) + 1


def whole_of_own(x: torch.Tensor) -> Any:
    y = x * 1
    y[1:] = 7
    y[:, 0].add_(1)
    y[2, 3] = 5
    y[::2, 1:5:2].mul_(3)
    return y, y[1] * 1


def part_after_the_whole_was_read(x: torch.Tensor) -> Any:
    y = x * 2
    x[1:].add_(1)
    z = x + y
    x[0, ::3] = 9
    x.t()[1:3].mul_(2)
    return x, y, z


def whole_after_parts_were_written(x: torch.Tensor) -> Any:
    x[0] = 5
    x[2].mul_(3)
    return x, x * 2


def whole_written_after_a_part_was_read(x: torch.Tensor) -> Any:
    row = x[1] + 1
    x.mul_(row)
    x[1].sub_(row)
    return x, row


def parts_that_cross(x: torch.Tensor) -> Any:
    x[1:].add_(1)
    x[:, 2] = 0
    return x[1:, 2:] + x[:3, :4]


def flat_views(x: torch.Tensor) -> Any:
    y = x + 0
    y.view(-1)[3:9].mul_(2)
    y.view(2, 12)[:, 1:7].add_(1)
    return y


def turned_views(x: torch.Tensor) -> Any:
    y = (x + 0).view(2, 3, 4)
    z = y.permute(2, 0, 1)[1:3]
    z[:, 1].neg_()
    y.transpose(0, 2)[..., 0] = 4
    return y, z


def filled_row_by_row(x: torch.Tensor) -> Any:
    out = torch.zeros(4, 6)
    for row in range(4):
        out[row] = x[row] * row
    return out.sum(0)


def out_argument(x: torch.Tensor) -> Any:
    y = torch.ones(4, 6) * 2
    torch.add(x[1], 3, out=y[2])
    torch.mul(y[2], 2, out=x[0])
    return x, y


def view_made_before_its_storage_was_met(x: torch.Tensor) -> Any:
    row = x[1]
    x.mul_(2)
    return row + 1


PROGRAMS = (
    whole_of_own,
    part_after_the_whole_was_read,
    whole_after_parts_were_written,
    whole_written_after_a_part_was_read,
    flat_views,
    turned_views,
    filled_row_by_row,
    out_argument,
    view_made_before_its_storage_was_met,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_write_to_a_part_does_not_end_the_segment(program: Callable[[torch.Tensor], Any]) -> None:
    same(program, numbers(4, 6))
    x = numbers(4, 6)

    def run() -> None:
        with tilewright.lazy():
            program(x)

    assert reasons_of(run) == {"exit": 1}


def test_parts_of_which_none_holds_the_other_end_it() -> None:
    same(parts_that_cross, numbers(4, 6))


def test_a_part_at_a_new_place_compiles_nothing() -> None:
    cache = torch.zeros(64, 8)

    def step(at: int) -> None:
        with tilewright.lazy():
            kept = cache * 1
            kept[at] = 3
            cache[:] = kept

    step(5)
    before = tilewright.stats()["lazy"]["compiled"]
    for at in (9, 11, 40):
        step(at)
    assert tilewright.stats()["lazy"]["compiled"] == before
    assert cache.sum(1).tolist() == [24.0 if at in (5, 9, 11, 40) else 0.0 for at in range(64)]


def test_many_parts_of_much_memory_run_apart() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(64, 256)
        for row in range(64):
            out[row] = x + row
        return out * 2

    x = torch.randn(256)
    same(program, x)

    def run() -> None:
        with tilewright.lazy():
            program(x)

    assert 1 <= reasons_of(run).get("alias hazard", 0) <= 2  # after it, rows go to memory one by one
