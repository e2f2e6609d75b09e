"""Reductions, scans, sorting and extremes against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_eager import check

SHAPES = ((5, 7, 3), (1, 4, 1), (2, 65, 3))
REDUCTIONS: dict[str, Any] = {
    "sum": lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True)),
    "mean": lambda x: (x.mean(), x.mean(-1), x.mean((0, 1), keepdim=True)),
    "prod": lambda x: (x.prod(), x.prod(1, keepdim=True)),
    "amax": lambda x: (x.amax(), x.amax(1), x.amin((0, 2), keepdim=True), x.max(), x.min()),
    "max with position": lambda x: (*x.max(1), *x.min(-1, keepdim=True)),
    "argmax": lambda x: (x.argmax(), x.argmax(1), x.argmin(-1, keepdim=True)),
    "any and all": lambda x: ((x > 0).any(), (x > 0).all(1), (x > 0).any(-1, keepdim=True)),
    "variance": lambda x: (x.var(1), x.std(-1, correction=0), *torch.var_mean(x, (0, 1))),
    "logsumexp": lambda x: (x.logsumexp(1), x.logsumexp((0, 2), keepdim=True)),
    "norm": lambda x: (x.norm(), x.norm(dim=1), x.norm(1, dim=-1), x.norm(torch.inf, dim=0), x.norm(3, dim=1)),
    "running": lambda x: (x.cumsum(1), x.cumprod(-1), *x.cummax(1), *x.cummin(0)),
    "softmax": lambda x: (x.softmax(-1), x.log_softmax(1), x.softmax(0)),
    "sort": lambda x: (*x.sort(1), *x.sort(stable=True, dim=-1, descending=True), x.argsort(0)),
    "topk": lambda x: (*x.topk(1, 1), *x.topk(2, 1, largest=False)),
    "count": lambda x: (x > 0).sum(1),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name: str, engine: str) -> None:
    for shape in SHAPES:
        check(REDUCTIONS[name], (torch.randn(shape),), engine=engine, dynamic=False)


@pytest.mark.parametrize("name", ["sum", "mean", "variance", "amax", "softmax", "logsumexp", "running"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_reduction_of_each_float(name: str, dtype: torch.dtype, engine: str) -> None:
    check(REDUCTIONS[name], (torch.randn(4, 6, 3).to(dtype),), engine=engine)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "argmax", "sort", "count"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
def test_reduction_of_integers(name: str, dtype: torch.dtype, engine: str) -> None:
    check(REDUCTIONS[name], (torch.randint(0, 3, (4, 6, 3)).to(dtype),), engine=engine)


def test_one_program_for_all_sizes(engine: str) -> None:
    def run(x: torch.Tensor) -> Any:
        return x.sum(1), x.softmax(-1), x.amax(0), x.mean()

    check(run, *((torch.randn(n, m),) for n, m in ((3, 4), (9, 65), (2, 127), (33, 2))), engine=engine)


def test_reductions_over_nothing(engine: str) -> None:
    def run(x: torch.Tensor) -> Any:
        return x.sum(1), x.prod(1), x.mean(1), (x > 0).any(1), (x > 0).all(1), x.logsumexp(1)

    check(run, (torch.randn(3, 0),), (torch.randn(0, 4),), engine=engine)
