"""Streaming mode under autograd: training steps, gradients of views and in-place writes, the modes of gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lazy_calls import leaves_nothing_active, same  # noqa: F401 (a fixture)

import tilewright


def train(steps: int, optimizer: Any) -> list[torch.Tensor]:
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 4), torch.nn.Tanh()
    )
    steps_of = optimizer(model.parameters())
    for _ in range(steps):
        x, y = torch.randn(5, 6), torch.randint(0, 4, (5,))
        steps_of.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps_of.step()
    return [loss.detach(), *(p.detach() for p in model.parameters()), *(p.grad for p in model.parameters())]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.01),
        lambda p: torch.optim.AdamW(p, lr=0.01),
    ],
)
def test_training_steps(optimizer: Any) -> None:
    with torch.enable_grad():
        want = train(3, optimizer)
        with tilewright.lazy():
            got = train(3, optimizer)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_numbers_that_an_optimiser_changes_at_each_step_compile_nothing() -> None:
    """The corrections of Adam are other numbers at each step; they are inputs of the segment, not parts of it."""
    compiled = []
    with torch.enable_grad():
        for steps in (6, 30):
            before = tilewright.stats()["lazy"]["compiled"]
            with tilewright.lazy():
                train(steps, lambda p: torch.optim.Adam(p, lr=0.0123, betas=(0.87, 0.97)))
            compiled.append(tilewright.stats()["lazy"]["compiled"] - before)
    assert compiled[1] <= 2


def test_gradients_of_views_and_in_place() -> None:
    def program(x: torch.Tensor) -> Any:
        x.requires_grad_()
        y = x * 2
        y[0] = y[1] + x[0]
        y.mul_(3)
        (gradient,) = torch.autograd.grad((y.t() @ y).sum() + y.view(-1)[::2].sum(), x)
        return gradient, y.detach(), y._version

    with torch.enable_grad():
        same(program, torch.randn(3, 4))


def test_saved_tensor_that_changes_is_an_error() -> None:
    with torch.enable_grad(), tilewright.lazy():
        x = torch.randn(3, requires_grad=True)
        y = (x * 2).exp()
        loss = y.sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_grad_modes(mode: Any) -> None:
    layer = torch.nn.Linear(4, 4)

    def program(x: torch.Tensor) -> Any:
        with mode():
            y = layer(x).relu()
            z = y.view(-1)[2:] + 1
        return y.requires_grad, y.is_inference(), z.is_inference(), y.detach().clone(), z.detach().clone()

    same(program, torch.randn(3, 4))
