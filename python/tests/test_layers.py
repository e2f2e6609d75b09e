"""Matrix products, convolutions, pooling, norms and attention against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from against_eager import check
from torch import nn


def test_matrix_products(engine: str) -> None:
    def run(a: torch.Tensor, b: torch.Tensor, v: torch.Tensor) -> Any:
        return (
            a @ b,
            a @ v,
            v @ b,
            torch.addmm(a @ b, a, b, beta=0.5, alpha=2),
            F.linear(a, b.t(), v.new_ones(b.shape[1])),
        )

    check(
        run,
        *((torch.randn(n, k), torch.randn(k, m), torch.randn(k)) for n, k, m in ((3, 4, 5), (9, 17, 8), (33, 4, 16))),
        engine=engine,
    )


def test_batched_products(engine: str) -> None:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return a @ b, torch.einsum("bij,bjk->bik", a, b), torch.baddbmm(a @ b, a, b), a[:, None] @ b[None]

    check(run, (torch.randn(3, 4, 5), torch.randn(3, 5, 6)), engine=engine)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32], ids=str)
def test_products_of_each_dtype(dtype: torch.dtype, engine: str) -> None:
    a, b = torch.randint(-4, 5, (4, 6)).to(dtype), torch.randint(-4, 5, (6, 3)).to(dtype)
    check(lambda a, b: a @ b, (a, b), engine=engine)


LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(6, 5), (4, 6)),
    "layer norm": (lambda: nn.LayerNorm(6), (4, 6)),
    "layer norm without weight": (lambda: nn.LayerNorm((3, 6), elementwise_affine=False), (4, 3, 6)),
    "group norm": (lambda: nn.GroupNorm(2, 6), (3, 6, 5)),
    "rms norm": (lambda: nn.RMSNorm(6), (4, 6)),
    "batch norm": (lambda: nn.BatchNorm2d(6).eval(), (2, 6, 4, 5)),
    "instance norm": (lambda: nn.InstanceNorm1d(6), (2, 6, 9)),
    "conv1d": (lambda: nn.Conv1d(6, 4, 3, stride=2, padding=1), (2, 6, 11)),
    "conv2d": (lambda: nn.Conv2d(6, 8, (3, 2), padding=(1, 0), dilation=(1, 2), groups=2), (2, 6, 9, 8)),
    "conv2d same": (lambda: nn.Conv2d(6, 4, 3, padding="same"), (2, 6, 9, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
    "transposed conv": (lambda: nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1), (2, 6, 5, 4)),
    "max pool": (lambda: nn.MaxPool2d(3, 2, 1), (2, 3, 9, 8)),
    "max pool with a partial window": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 3, 10, 8)),
    "max pool 1d": (lambda: nn.MaxPool1d(2), (2, 3, 9)),
    "average pool": (lambda: nn.AvgPool2d(2, 2, 1, count_include_pad=False), (2, 3, 9, 8)),
    "average pool 1d": (lambda: nn.AvgPool1d(3), (2, 3, 9)),
    "average pool over a divisor": (lambda: nn.AvgPool2d(2, divisor_override=-3), (2, 3, 9, 8)),
    "global average": (lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 9, 8)),
    "lstm cell": (lambda: nn.LSTMCell(6, 4), (3, 6)),
    "multihead attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), (2, 5, 8)),
    "upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 4, 5)),
    "prelu": (lambda: nn.PReLU(), (4, 6)),
    "glu": (lambda: nn.GLU(), (4, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, engine: str) -> None:
    make, shape = LAYERS[name]
    check(make(), (torch.randn(shape),), (torch.randn(shape[0] + 2, *shape[1:]),), engine=engine)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [None, "float", "bool"])
def test_attention(causal: bool, mask: str | None, engine: str) -> None:
    if causal and mask:
        pytest.skip("torch takes one of the two")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, m: torch.Tensor | None) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, m, is_causal=causal)

    for s, t in ((5, 5), (9, 9), (7, 12)):
        m = None if mask is None else torch.randn(2, 1, s, t) if mask == "float" else torch.rand(2, 1, s, t) < 0.7
        check(
            run,
            (torch.randn(2, 3, s, 8), torch.randn(2, 3, t, 8), torch.randn(2, 3, t, 8), m),
            engine=engine,
            dynamic=False,
        )


def test_attention_with_grouped_heads_and_scale(engine: str) -> None:
    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, scale=0.3, enable_gqa=True)

    check(run, (torch.randn(2, 6, 5, 8), torch.randn(2, 2, 7, 8), torch.randn(2, 2, 7, 8)), engine=engine)
