"""One compiled block for many layers: torch compiles the block once and hands in each layer's parameters."""

from __future__ import annotations

import gc

import torch

import tilewright


def block(size: int = 64) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(size, size), torch.nn.GELU(), torch.nn.Linear(size, size)).eval()


def packed(count: str = "weights_packed") -> int:
    return int(tilewright.stats()[count])


def test_layers_that_share_a_compiled_block_pack_their_weights_once() -> None:
    layers = [block() for _ in range(4)]
    compiled = [torch.compile(layer, backend="tilewright", dynamic=True) for layer in layers]
    with torch.no_grad():
        for rows in (3, 5, 7):
            for run in compiled:
                run(torch.randn(rows, 64))
        before = packed()
        for rows in (2, 9, 11):
            x = torch.randn(rows, 64)
            for run, layer in zip(compiled, layers, strict=True):
                torch.testing.assert_close(run(x), layer(x))
        assert packed() == before
        layers[2][0].weight.mul_(2)  # one weight of one layer is packed anew
        x = torch.randn(4, 64)
        for run, layer in zip(compiled, layers, strict=True):
            torch.testing.assert_close(run(x), layer(x))
        assert packed() == before + 1


def test_what_is_packed_of_a_layer_dies_with_it() -> None:
    first, second = block(96), block(96)
    with torch.no_grad():
        for layer in (first, second):
            run = torch.compile(layer, backend="tilewright", dynamic=True)
            for rows in (3, 5):
                run(torch.randn(rows, 96))
    both = packed("packed_bytes")
    del first, layer, run
    gc.collect()
    one = packed("packed_bytes")
    assert both - one >= 2 * 96 * 96 * 4
    del second
