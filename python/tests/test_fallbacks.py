"""What still runs on torch inside a compiled call, with the reason. The table may only shrink: when an op gets a lowering, its
row fails here and goes."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from tilewright.torch_backend.compiler import RECORDS
from torch import Tensor, rand, randn


@dataclass
class Row:
    program: Callable[..., Tensor]
    inputs: Callable[[int], tuple[Tensor, ...]]
    reason: str


FALLBACKS = {
    "embedding_bag": Row(
        lambda table, ids, offsets: F.embedding_bag(ids, table, offsets, mode="mean"),
        lambda n: (randn(7, 3), torch.arange(n) % 7, torch.tensor([0, 2, 3])),
        "four results, of which the bags' bookkeeping is only for the backward pass",
    ),
    "average pool in ceil mode": Row(
        lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True),
        lambda n: (randn(1, 2, n + 3, 8),),
        "the last windows count only what lies inside, which avg_pool does not know",
    ),
    "searchsorted": Row(
        lambda edges, x: torch.searchsorted(edges, x),
        lambda n: (torch.linspace(0, 1, 9), rand(n)),
        "no graph op finds places in a sorted row",
    ),
    "random numbers": Row(
        lambda x: torch.rand_like(x) + x * 0,
        lambda n: (randn(n),),
        "results have to equal eager's, so torch's generator makes them",
    ),
}


@pytest.mark.parametrize("name", FALLBACKS)
def test_runs_on_torch_and_equals_eager(name: str) -> None:
    row = FALLBACKS[name]
    torch._dynamo.reset()
    before = {id(graph) for graph in RECORDS.all()}
    compiled = torch.compile(row.program, backend="tilewright", fullgraph=True)
    for n in (5, 8, 6):
        inputs = row.inputs(n)
        with torch.no_grad():
            torch.manual_seed(n)
            got = compiled(*inputs)
            torch.manual_seed(n)
            torch.testing.assert_close(got, row.program(*inputs))
    graphs = [graph for graph in RECORDS.all() if id(graph) not in before]
    assert any(graph.fallbacks() or graph.whole_on_torch for graph in graphs), (
        f"'{name}' has a lowering: remove its row"
    )
