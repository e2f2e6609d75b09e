"""State in place: a KV cache is never copied, whether it is a buffer of the module or an argument that is mutated."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import tilewright

Update = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]


def index_put(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> object:
    cache[:, :, at] = new


def index_copy(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> object:
    return cache.index_copy_(2, at, new)


def slice_copy(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> object:
    return cache[:, :, 3 : 3 + new.shape[2]].copy_(new)


def slice_of_one(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> None:
    cache[1, :, 3 : 3 + new.shape[2]] = new[1]


def one_row(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> None:
    cache[0, 2, 5] = new[0, 0, 0]


UPDATES = [index_put, index_copy, slice_copy, slice_of_one, one_row]
CACHE = (2, 4, 512, 16)


class Buffered(torch.nn.Module):
    def __init__(self, update: Update) -> None:
        super().__init__()
        self.update = update
        self.cache: torch.Tensor
        self.register_buffer("cache", torch.zeros(CACHE))

    def forward(self, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.update(self.cache, new * 2, at)
        return self.cache.sum(dim=(1, 2, 3))


def written(call: Callable[[], object]) -> int:
    before = tilewright.stats()["bytes_written"]
    call()
    return int(tilewright.stats()["bytes_written"] - before)


def inputs(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(2, 4, rows, 16), torch.randperm(500)[:rows]


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update.__name__)
def test_a_cache_in_a_buffer_is_never_copied(update: Update) -> None:
    ours, theirs = Buffered(update), Buffered(update)
    compiled = torch.compile(ours, backend="tilewright", dynamic=True, options={"fallback": "error"})
    for rows in (3, 5, 2, 5):
        new, at = inputs(rows)
        results: list[torch.Tensor] = []
        count = written(lambda new=new, at=at, results=results: results.append(compiled(new, at)))
        assert torch.allclose(results[0], theirs(new, at), atol=1e-3)
        assert torch.equal(ours.cache, theirs.cache)
        assert count <= 4 * new.nbytes + 4096, f"{count} bytes written for {new.nbytes} new ones"


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update.__name__)
def test_a_cache_that_is_an_argument_is_never_copied(update: Update) -> None:
    def step(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        update(cache, new + 1, at)
        return cache[:, 0, 0].sum()

    compiled = torch.compile(step, backend="tilewright", dynamic=True, options={"fallback": "error"})
    ours, theirs = torch.zeros(CACHE), torch.zeros(CACHE)
    for rows in (3, 5, 2, 5):
        new, at = inputs(rows)
        results: list[torch.Tensor] = []
        count = written(lambda new=new, at=at, results=results: results.append(compiled(ours, new, at)))
        assert torch.allclose(results[0], step(theirs, new, at), atol=1e-3)
        assert torch.equal(ours, theirs)
        assert count <= 4 * new.nbytes + 4096, f"{count} bytes written for {new.nbytes} new ones"


def test_what_a_caller_still_needs_is_copied() -> None:
    def step(x: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[1] = new
        return y

    compiled = torch.compile(step, backend="tilewright", dynamic=True)
    x, new = torch.randn(6, 4), torch.randn(4)
    kept = x.clone()
    assert torch.equal(compiled(x, new), step(x, new))
    assert torch.equal(x, kept)


def test_the_old_state_of_a_cache_can_be_returned() -> None:
    def step(cache: torch.Tensor, new: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = cache[2].clone()
        cache[2] = new
        return old, cache.sum()

    compiled = torch.compile(step, backend="tilewright", dynamic=True)
    ours, theirs = torch.randn(6, 4), torch.zeros(6, 4)
    theirs.copy_(ours)
    for _ in range(3):
        new = torch.randn(4)
        got, want = compiled(ours, new), step(theirs, new)
        assert torch.equal(got[0], want[0])
        assert torch.allclose(got[1], want[1], atol=1e-5)
        assert torch.equal(ours, theirs)


def recurrence(h: torch.Tensor, xs: torch.Tensor, w: torch.Tensor, reverse: bool) -> tuple[torch.Tensor, torch.Tensor]:
    def cell(h: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = torch.tanh(h @ w + x)
        return h, h * 2

    return scan(cell, h, xs, dim=0, reverse=reverse)  # type: ignore[no-any-return]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_runs_as_one_loop(reverse: bool) -> None:
    compiled = torch.compile(recurrence, backend="tilewright", dynamic=True, options={"fallback": "error"})
    w = torch.randn(4, 4)
    for steps, batch in ((5, 2), (3, 7), (12, 2), (5, 2)):
        h, xs = torch.randn(batch, 4), torch.randn(steps, batch, 4)
        last, all_states = compiled(h, xs, w, reverse)
        states, order = [], range(steps)
        for i in reversed(order) if reverse else order:
            h = torch.tanh(h @ w + xs[i])
            states.append(h * 2)
        assert torch.allclose(last, h, atol=1e-5)
        assert torch.allclose(all_states, torch.stack(states[::-1] if reverse else states), atol=1e-5)


def test_a_while_loop_keeps_its_state() -> None:
    def decode(cache: torch.Tensor, row: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, ...]:
        def wants(i: torch.Tensor, cache: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
            return i < count

        def step(i: torch.Tensor, cache: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, ...]:
            at = i.reshape(1)
            return i + 1, cache.index_put((at,), row), torch.sin(row) + cache[0]

        return while_loop(wants, step, (torch.zeros((), dtype=torch.int64), cache, row))  # type: ignore[no-any-return]

    compiled = torch.compile(decode, backend="tilewright", dynamic=True, options={"fallback": "error"})
    cache, row = torch.randn(400, 64), torch.randn(1, 64)
    counts = []
    for steps in (3, 10, 50, 0):
        count = torch.tensor(steps)
        results: list[tuple[torch.Tensor, ...]] = []
        counts.append(written(lambda count=count, results=results: results.append(compiled(cache, row, count))))
        want, state = cache.clone(), row
        for i in range(steps):
            state, want[i] = torch.sin(state) + want[0], state[0]
        assert torch.allclose(results[0][1], want, atol=1e-5)
        assert torch.allclose(results[0][2], state, atol=1e-5)
    assert (counts[2] - counts[1]) / 40 < cache.nbytes / 10


def test_what_is_prepared_of_a_weight_follows_it():
    """A product with a weight that is widened first: the widened one is kept from call to call."""

    class Widened(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(16, 8, dtype=torch.float16))

        def forward(self, x):
            return x @ self.w.float() + self.w.float().t().contiguous().sum()

    model = Widened()
    run = torch.compile(model, backend="tilewright", dynamic=True)
    with torch.no_grad():
        for rows in (3, 4, 4):
            x = torch.ones(rows, 16)
            torch.testing.assert_close(run(x), model(x))
            model.w.mul_(2)
            torch.testing.assert_close(run(x), model(x))
