"""Ops that move elements, gathers and scatters, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from against_eager import check

MOVES: dict[str, Any] = {
    "view": lambda x: (x.view(-1), x.reshape(x.shape[0], -1), x.flatten(1)),
    "transpose": lambda x: (x.transpose(0, 1) + 1, x.permute(2, 0, 1) * 2, x.mT.contiguous()),
    "expand": lambda x: x[:, :1].expand(-1, 5, -1) + 0,
    "slice": lambda x: (x[1:] + 0, x[:, ::2] + 0, x[-2:, 1:-1] + 0, x[..., -1] + 0, x[:, 1::3] + 0, x[-100:] + 0),
    "select": lambda x: (x[0] + 0, x[-1] + 0, x.select(1, 2) * 2),
    "cat": lambda x: (torch.cat([x, x * 2], 1), torch.stack([x, x + 1], -1), torch.cat([x[:1], x, x[1:]])),
    "split": lambda x: [part * 2 for part in (*x.split(2, 1), *x.chunk(2, 0), *x.unbind(2))],
    "squeeze": lambda x: (x[:, :1].squeeze(1) + 1, x.unsqueeze(-1) * 2, x[None]),
    "repeat": lambda x: (x.repeat(2, 1, 3), x.tile(2), torch.repeat_interleave(x, 3, dim=1)),
    "flip": lambda x: (x.flip(0), x.flip([1, 2]), x.fliplr()),
    "roll": lambda x: (x.roll(1, 0), x.roll((1, -2), (0, 1)), x.roll(5)),
    "pad": lambda x: (
        F.pad(x, (1, 2)),
        F.pad(x, (0, 1, 2, 0), value=3.0),
        F.pad(x, (1, 1), mode="reflect"),
        F.pad(x, (2, 1), mode="replicate"),
        F.pad(x, (-1, 1)),
    ),
    "circular pad": lambda x: F.pad(x, (1, 1), mode="circular"),
    "triangles": lambda x: (x.tril(), x.triu(1), x.tril(-1)),
    "diagonal": lambda x: (x.diagonal(0, 0, 1) + 0, x.diagonal(1, 1, 2) * 2, x.diagonal(-1, 2, 0) + 1),
    "unfold": lambda x: x.unfold(1, 2, 1) * 2,
    "movedim": lambda x: (x.movedim(0, -1) + 1, x.swapaxes(1, 2) + 1),
    "index select": lambda x: (x.index_select(1, torch.tensor([2, 0, 0])), x[:, [1, 1, 0]]),
    "scatter slice": lambda x: torch.slice_scatter(x, x[:, :2] * 0, 1, 1, 3),
    "select scatter": lambda x: torch.select_scatter(x, x[:, 0] * 2, 1, 2),
    "pixel shuffle": lambda x: F.pixel_shuffle(x[:, :4].reshape(1, 4, x.shape[0], -1), 2),
}


@pytest.mark.parametrize("name", MOVES)
def test_movement(name: str, engine: str) -> None:
    for shape in ((3, 5, 4), (4, 5, 6)):
        check(MOVES[name], (torch.randn(shape),), engine=engine, dynamic=False)


@pytest.mark.parametrize("name", ["view", "slice", "cat", "pad", "flip", "roll", "transpose", "expand", "select"])
def test_movement_with_free_sizes(name: str, engine: str) -> None:
    check(MOVES[name], *((torch.randn(shape),) for shape in ((3, 5, 4), (9, 7, 6), (4, 5, 5))), engine=engine)


NUMBERS: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "slice": (lambda x, i, j: x[i:j] + 0, [(-3, -1), (-5, 7), (0, 7), (2, 5), (-2, 5), (4, 9), (5, 4), (-100, 3)]),
    "slice with a step": (lambda x, i, j: x[1 : i + 4 : j] + 0, [(2, 2), (3, 2), (3, 3)]),
    "select": (lambda x, i: x.select(1, i) * 2, [(-1,), (2,), (-3,), (3,)]),
    "select scatter": (lambda x, i: torch.select_scatter(x, x[:, 0] * 2, 1, i), [(-1,), (2,), (-3,)]),
    "slice scatter": (lambda x, i, j: torch.slice_scatter(x, x[:, :2] * 0, 1, i, j), [(-3, -1), (1, 3), (-2, 9)]),
    "crops in pads": (
        lambda x, i, j: (
            F.pad(x, (i, j), mode="replicate"),
            F.pad(x, (i, j), mode="reflect"),
            F.pad(x, (i, j), value=2.0),
        ),
        [(-1, 2), (-3, 3), (2, -1), (1, 2), (-1, -1)],
    ),
    "strides of a convolution": (lambda x, s, p: F.conv1d(x, x[:2, :, :3], None, s, p), [(2, 1), (3, 2), (1, 0)]),
    "equal numbers": (lambda x, *n: x * sum(n), [(3, 3, 3), (4, 4, 4), (5, 4, 3)]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_arguments(name: str, engine: str) -> None:
    run, numbers = NUMBERS[name]
    check(run, *((torch.randn(6, 5, 4), *row) for row in numbers), engine=engine)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.float16, torch.float64], ids=str)
def test_movement_of_each_dtype(dtype: torch.dtype, engine: str) -> None:
    def run(x: torch.Tensor) -> Any:
        return x.permute(2, 0, 1).contiguous(), torch.cat([x, x], 1), x.flip(1), x[:, ::2].clone()

    check(run, (torch.randint(0, 2, (3, 5, 4)).to(dtype),), engine=engine)


def test_gather_and_scatter(engine: str) -> None:
    def run(x: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> Any:
        return (
            x.gather(1, index),
            x.scatter(1, index, values),
            x.scatter(1, index, 7.0),
            x.scatter_add(1, index, values),
            x.scatter_reduce(1, index, values, "amax"),
            torch.take_along_dim(x, index, 1),
        )

    index = torch.stack([torch.randperm(6)[:4] for _ in range(5)])
    check(run, (torch.randn(5, 6), index, torch.randn(5, 4)), engine=engine)


def test_indexing_by_tensors(engine: str) -> None:
    def run(x: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> Any:
        return x[i], x[:, i], x[i, j], x[i[:, None], j[None]], x[:, None, j], x[i, :, j], x[..., i]

    check(run, (torch.randn(5, 6, 7), torch.randint(-5, 5, (3,)), torch.randint(-6, 6, (3,))), engine=engine)


def test_index_put(engine: str) -> None:
    def run(x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        return (
            x.index_put((i,), v),
            x.index_put((i,), v, accumulate=True),
            x.index_add(0, i, v),
            x.index_copy(0, i[:1], v[:1]),
        )

    check(run, (torch.randn(5, 3), torch.tensor([3, 1, 4]), torch.randn(3, 3)), engine=engine)


def test_embedding(engine: str) -> None:
    check(
        lambda t, i: F.embedding(i, t, padding_idx=0), (torch.randn(9, 4), torch.randint(0, 9, (2, 5))), engine=engine
    )


def test_sequences(engine: str) -> None:
    def run(x: torch.Tensor) -> Any:
        n = x.shape[0]
        return (
            torch.arange(n),
            torch.arange(1, n, 2),
            torch.arange(0, 1, 0.25),
            torch.linspace(0, 1, 5),
            torch.full((n, 2), 3.0),
            torch.eye(n),
            torch.zeros_like(x),
            torch.ones(n, dtype=torch.int32),
            x.new_zeros(3),
        )

    check(run, (torch.randn(7),), (torch.randn(4),), engine=engine)
