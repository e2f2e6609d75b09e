"""Calls that cannot be: the error names the input, what was expected and what came, and the next call is right."""

from typing import Any

import numpy
import pytest
import torch

import tilewright

MODEL = b"x: f32[B, 8]\nw: f32[8, 4]\nr: f32[B, 4]\ny = matmul(x, w)\nz = add(y, r)\nreturn z\n"


def inputs(**changed: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"x": torch.ones(2, 8), "w": torch.ones(8, 4), "r": torch.ones(2, 4)}
    return {name: value for name, value in (made | changed).items() if value is not None}


BAD = {
    "another device": (
        ValueError,
        "input 'x': expected memory of device cpu, got meta",
        {"x": torch.ones(2, 8, device="meta")},
    ),
    "a sparse tensor": (ValueError, "input 'w': ", {"w": torch.ones(8, 4).to_sparse()}),
    "rank": (ValueError, r"input 'x': expected 2 axes \(f32\[B, 8\]\), got 3", {"x": torch.ones(1, 2, 8)}),
    "dtype": (TypeError, "input 'x': expected f32, got f64", {"x": torch.ones(2, 8, dtype=torch.float64)}),
    "no number": (ValueError, "input 'x': ", {"x": numpy.array(["a"])}),
    "a dtype without a form here": (
        TypeError,
        "input 'x': no dtype is DLPack's code",
        {"x": torch.ones(2, 8, dtype=torch.complex64)},
    ),
    "a size": (ValueError, "input 'x', axis 1: expected 8, got 7", {"x": torch.ones(2, 7)}),
    "sizes that contradict": (ValueError, "input 'r', axis 0: expected B = 2, got 3", {"r": torch.ones(3, 4)}),
    "too few": (ValueError, r"missing inputs: \['r'\]; the model takes \['x', 'w', 'r'\]", {"r": None}),
    "too many": (ValueError, r"unknown inputs: \['q'\]", {"q": torch.ones(1)}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_call_is_told_and_the_session_works_on(name: str) -> None:
    session = tilewright.load(MODEL)
    kind, text, changed = BAD[name]
    for _ in range(2):
        with pytest.raises(kind, match=text):
            session.run(inputs(**changed))
        assert torch.equal(session.run(inputs())["z"], torch.full((2, 4), 9.0))


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w + 1


@pytest.mark.parametrize(
    "bad",
    [
        (torch.ones(2, 7), torch.ones(8, 4)),
        (torch.ones(2, 8, dtype=torch.float64), torch.ones(8, 4)),
        (torch.ones(2, 8, device="meta"), torch.ones(8, 4)),
        (torch.ones(2, 8),),
    ],
    ids=["a size", "dtype", "device", "too few"],
)
def test_a_compiled_function_works_on_after_a_bad_call(bad: tuple[torch.Tensor, ...]) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(product, backend="tilewright", dynamic=True)
    with torch.no_grad():
        for _ in range(2):
            with pytest.raises((RuntimeError, TypeError, torch._dynamo.exc.TorchDynamoException)):
                compiled(*bad)
            assert torch.equal(compiled(torch.ones(2, 8), torch.ones(8, 4)), torch.full((2, 4), 9.0))


def test_a_graph_of_another_device_runs_on_torch_or_says_why_not() -> None:
    torch._dynamo.reset()
    there = torch.ones(2, 8, device="meta"), torch.ones(8, 4, device="meta")
    with torch.no_grad():
        assert torch.compile(product, backend="tilewright")(*there).device.type == "meta"
        strict = torch.compile(product, backend="tilewright", options={"fallback": "error"})
        with pytest.raises(
            torch._dynamo.exc.BackendCompilerFailed, match="arg0_1: expected memory of device cpu, got meta"
        ):
            strict(*there)
        assert torch.equal(strict(torch.ones(2, 8), torch.ones(8, 4)), torch.full((2, 4), 9.0))
