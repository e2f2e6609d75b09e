"""Training steps at sizes never seen before, inside tilewright.lazy(): a new shape compiles nothing."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

import pytest
import sympy
import torch
from lazy_calls import leaves_nothing_active  # noqa: F401 (a fixture)
from tilewright.streaming.decomposed import holds_for_sizes
from torch import nn
from torch.nn import functional as F

import tilewright

SHAPES = 200
SETTLED = 20  # steps after which every pattern of equal sizes has been met
Step = Callable[[nn.Module, torch.Tensor], torch.Tensor]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


def bert_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")


def classify(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(x), x[:, 0].gt(0).long())


def square(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return (model(x)[:, 0] - 1).pow(2).mean()  # one row of each sequence: select_backward


def mlp_shape(draw: random.Random) -> tuple[int, ...]:
    return (draw.randrange(40, 400), 8)


def bert_shape(draw: random.Random) -> tuple[int, ...]:
    return (draw.randrange(5, 8), draw.randrange(34, 80), 16)


@pytest.mark.parametrize(
    ("model", "loss_of", "shape_of"), [(mlp(), classify, mlp_shape), (bert_layer(), square, bert_shape)]
)
def test_a_training_step_at_a_new_shape_compiles_nothing(
    model: nn.Module, loss_of: Step, shape_of: Callable[[random.Random], tuple[int, ...]]
) -> None:
    draw, generator = random.Random(1), torch.Generator().manual_seed(1)
    twin = copy.deepcopy(model)
    own, other = (torch.optim.Adam(m.parameters(), 1e-3) for m in (model, twin))

    def step(m: nn.Module, optimiser: torch.optim.Optimizer, x: torch.Tensor) -> torch.Tensor:
        optimiser.zero_grad()
        loss = loss_of(m, x)
        loss.backward()
        optimiser.step()
        return loss

    compiled = []
    with torch.enable_grad():
        for _ in range(SHAPES):
            x = torch.randn(shape_of(draw), generator=generator)
            with tilewright.lazy():
                got = step(model, own, x)
            torch.testing.assert_close(got, step(twin, other, x), rtol=1e-2, atol=1e-4)
            compiled.append(tilewright.stats()["lazy"]["compiled"])
    assert compiled[-1] == compiled[SETTLED]


def test_an_optimiser_step_is_one_segment() -> None:
    model = mlp()
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        with torch.enable_grad(), tilewright.lazy():
            optimiser.zero_grad()
            classify(model, torch.ones(40, 8)).backward()
            optimiser.step()

    for _ in range(3):
        step()
    before = tilewright.stats()["lazy"]["segments"]
    step()
    assert tilewright.stats()["lazy"]["segments"] == before + 1  # the counters of Adam are read on the host


def test_ops_that_are_taken_apart_with_sizes_in_them() -> None:
    values = torch.randn(23, 51)

    def program(rows: int, columns: int) -> list[torch.Tensor]:
        x = values[:rows, :columns].clone().requires_grad_()
        table = torch.ones(rows, columns, requires_grad=True)
        taken = F.embedding(torch.tensor([0, 3, 3, 2]), table).sum(0)
        loss = (F.layer_norm(x, (columns,))[3] * taken).sum() + x[1:, 2:].pow(2).sum() + x.std(0).sum()
        return list(torch.autograd.grad(loss, (x, table)))

    compiled = []
    with torch.enable_grad():
        for rows, columns in ((10, 25), (12, 31), (20, 37), (23, 51)):
            with tilewright.lazy():
                got = program(rows, columns)
            for one, want in zip(got, program(rows, columns), strict=True):
                torch.testing.assert_close(one, want, rtol=1e-4, atol=1e-4)
            compiled.append(tilewright.stats()["lazy"]["compiled"])
    assert compiled[1:] == compiled[:1] * 3


def test_conditions_on_sizes() -> None:
    a, b = sympy.symbols("a b", integer=True)
    for condition in (a >= 0, a * b >= 2, sympy.Ne(a, 1), sympy.Ne(a * b, 0), sympy.Eq(sympy.Max(1, a) * b, a * b)):
        assert holds_for_sizes(condition), condition
    for condition in (a >= 3, sympy.Ne(a, 5), sympy.Eq(a, b), a > b, sympy.Ne(a, b), a * b < 9):
        assert not holds_for_sizes(condition), condition
