"""Integer products and torch.ao's quantise and dequantise ops against eager; results in integers are exact."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_eager import check

decomposed = pytest.importorskip("torch.ao.quantization.fx._decomposed")
ops = torch.ops.quantized_decomposed


def bytes_of(*sizes: int) -> torch.Tensor:
    return torch.randint(-128, 128, sizes, dtype=torch.int8)


def test_int_mm(engine: str) -> None:
    check(
        lambda a, b: torch._int_mm(a, b),
        *((bytes_of(m, k), bytes_of(k, n)) for m, k, n in ((17, 16, 8), (33, 64, 40), (24, 24, 72))),
        engine=engine,
    )


def test_weight_int8pack_mm(engine: str) -> None:
    def run(a: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        return torch._weight_int8pack_mm(a, weight, scales)

    calls = ((torch.randn(m, 32).bfloat16(), bytes_of(16, 32), torch.rand(16).bfloat16() / 128) for m in (2, 5, 9))
    check(run, *calls, engine=engine)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16], ids=str)
def test_per_tensor(dtype: torch.dtype, engine: str) -> None:
    info = torch.iinfo(dtype)

    def run(x: torch.Tensor) -> Any:
        q = ops.quantize_per_tensor(x, 0.07, 3, info.min, info.max, dtype)
        return q, ops.dequantize_per_tensor(q, 0.07, 3, info.min, info.max, dtype)

    check(run, *((torch.randn(n, 5) * 20,) for n in (3, 70)), engine=engine)


def test_per_tensor_with_scales_in_tensors(engine: str) -> None:
    def run(x: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> Any:
        q = ops.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
        return q, ops.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, torch.int8)

    calls = ((torch.randn(n, 5), torch.tensor([0.013]), torch.tensor([-7])) for n in (3, 70))
    check(run, *calls, engine=engine)


def test_per_channel(engine: str) -> None:
    def run(x: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor) -> Any:
        q = ops.quantize_per_channel(x, scales, zeros, 1, -127, 127, torch.int8)
        return q, ops.dequantize_per_channel(q, scales, zeros, 1, -127, 127, torch.int8)

    calls = ((torch.randn(n, 6, 4), torch.rand(6) / 20 + 0.01, torch.randint(-9, 9, (6,))) for n in (2, 30))
    check(run, *calls, engine=engine)


def test_a_quantised_linear_layer(engine: str) -> None:
    """Activations quantised by their own range, an integer product, scales and bias behind it."""

    def run(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        scale = x.abs().amax(-1, keepdim=True) / 127
        q = torch.clamp(torch.round(x / scale), -127, 127).to(torch.int8)
        return torch._int_mm(q, weight).to(torch.float32) * scale * scales + bias

    calls = ((torch.randn(m, 64), bytes_of(64, 48), torch.rand(48) / 128, torch.randn(48)) for m in (17, 24, 61))
    check(run, *calls, engine=engine)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_products(dtype: torch.dtype, engine: str) -> None:
    def run(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> Any:
        return a @ b, torch.addmm(bias, a, b), torch.nn.functional.linear(a, b.t(), bias), (a[None] @ b[None]).relu()

    calls = ((torch.randn(m, k), torch.randn(k, n), torch.randn(n)) for m, k, n in ((3, 4, 5), (20, 33, 50)))
    check(run, *(tuple(t.to(dtype) / 2 for t in call) for call in calls), engine=engine)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_attention(dtype: torch.dtype, engine: str) -> None:
    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(q, k, v), attend(q, k, v, is_causal=True)

    calls = (tuple(torch.randn(2, 3, n, 16).to(dtype) for _ in range(3)) for n in (3, 40))
    check(run, *calls, engine=engine)
