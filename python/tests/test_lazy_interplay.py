"""Streaming mode beside the rest of torch: compiled functions, transforms, other kinds of tensors, modules with state."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import torch
from against_eager import assert_same

import tilewright


def lazily(function: Any, *args: Any) -> Any:
    with tilewright.lazy():
        return function(*args)


def test_a_compiled_function_reads_what_is_pending() -> None:
    compiled = torch.compile(lambda x: torch.softmax(x * 2 + 1, -1).sum(0), backend="tilewright", dynamic=True)
    x = torch.randn(4, 5)
    want = torch.softmax((x + 1) * 2 + 1, -1).sum(0) * 2
    for _ in range(2):
        torch.testing.assert_close(lazily(lambda: compiled(x + 1) * 2), want)
    torch.testing.assert_close(compiled(x + 1) * 2, want)


def test_transforms() -> None:
    def program(x: torch.Tensor) -> Any:
        gradient = torch.func.grad(lambda t: (t.sin() * t).sum())(x + 1)
        return gradient, torch.vmap(lambda t: (t * 2).cumsum(0))(x), torch.func.jvp(torch.sin, (x,), (x,))[1]

    x = torch.randn(4, 5)
    assert_same(lazily(program, x), program(x))


def test_autocast() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (x @ x.t()).float() + 1

    x = torch.randn(4, 8)
    torch.testing.assert_close(lazily(program, x), program(x), rtol=2e-2, atol=2e-2)


def test_complex_conjugated_and_sparse_tensors() -> None:
    def program(x: torch.Tensor) -> Any:
        c = torch.view_as_complex(x + 0)
        sparse = (torch.eye(3) + 1).to_sparse() * 2
        return (c * 2j).abs() + 1, torch.conj(c).imag + 1, c.imag + 1, sparse.to_dense() + 1

    x = torch.randn(3, 2)
    assert_same(lazily(program, x), program(x))


def test_subclasses() -> None:
    class Own(torch.Tensor):
        pass

    x = torch.randn(3)
    got = lazily(lambda: (x + 1).as_subclass(Own) * 2)
    assert type(got) is Own
    torch.testing.assert_close(got.as_subclass(torch.Tensor), (x + 1) * 2)


def test_modules_with_state() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.LSTM(8, 4)
    )
    x = torch.randn(6, 5)

    def step(own: Any) -> list[torch.Tensor]:
        torch.manual_seed(1)
        out, _ = own(x)
        out.pow(2).mean().backward()
        return [p.grad for p in own.parameters()] + [b.float() for b in own.buffers()]

    with torch.enable_grad():
        want, got = step(copy.deepcopy(model)), lazily(step, model)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_checkpoint_and_save() -> None:
    x = torch.randn(4)

    def program() -> Any:
        w = (x + 1).requires_grad_()
        torch.utils.checkpoint.checkpoint(lambda t: (t * 2).sin(), w, use_reentrant=False).sum().backward()
        file = io.BytesIO()
        torch.save({"w": w.detach() * 3}, file)
        file.seek(0)
        return w.grad, torch.load(file)["w"]

    with torch.enable_grad():
        assert_same(lazily(program), program())


def test_traced_script_runs_inside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.trace(lambda x: x * 2 + 1, (torch.randn(3),))
    x = torch.randn(3)
    torch.testing.assert_close(lazily(lambda: script(x + 1) * 2), (((x + 1) * 2) + 1) * 2)


def test_data_and_resize() -> None:
    def program(x: torch.Tensor) -> Any:
        y = x * 2
        y.data = x * 3
        z = x + 1
        z.resize_(2)
        w = x - 1
        w.set_(y)
        w += 1
        return y, z, w

    x = torch.arange(4.0)
    assert_same(lazily(program, x.clone()), program(x.clone()))
