"""Threads, each with contexts of its own, which read tensors that all share; errors in the middle; results that live on."""

from __future__ import annotations

import contextlib
import random
import threading
from typing import Any

import torch
from lazy_calls import leaves_nothing_active  # noqa: F401 (a fixture)

import tilewright

THREADS, ROUNDS = 8, 25


class Interruption(Exception):
    """Raised in the middle of a context."""


class Worker(threading.Thread):
    """Runs random programs on shared tensors and its own ones; keeps what each gave and how to run it again."""

    def __init__(self, seed: int, shared: list[torch.Tensor], use_context: bool) -> None:
        super().__init__()
        self.draw = random.Random(seed)
        self.shared, self.use_context = shared, use_context
        self.kept: list[tuple[list[torch.Tensor], float, int]] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(ROUNDS):
                self.round()
        except BaseException as error:
            self.error = error

    def round(self) -> None:
        seed, stops_at = self.draw.random(), self.draw.randrange(20)
        made: list[torch.Tensor] = []
        context = tilewright.lazy(max_ops=self.draw.choice((4, 16, 256)))
        with contextlib.suppress(Interruption), context if self.use_context else contextlib.nullcontext():
            self.program(random.Random(seed), made, stops_at)
        self.kept.append((made, seed, stops_at))

    def program(self, draw: random.Random, made: list[torch.Tensor], stops_at: int) -> None:
        made.append(self.shared[0] * 1)
        for step in range(12):
            if step == stops_at:
                raise Interruption
            x, y = draw.choice(made), draw.choice(self.shared)
            kind = draw.randrange(6)
            if kind == 0:
                made.append(x + y)
            elif kind == 1:
                x[draw.randrange(3) :].mul_(0.5)
            elif kind == 2:
                made.append((x @ y.t()).clamp(-9, 9) @ y)
            elif kind == 3 and x.sum().item() > 0:
                made.append(x - 1)
            elif kind == 4:
                x.copy_(y)
            else:
                made.append(x.t().contiguous().t())


def check(workers: list[Worker], shared: list[torch.Tensor]) -> None:
    for worker in workers:
        assert worker.error is None, repr(worker.error)
        for got, seed, stops_at in worker.kept:
            want: list[torch.Tensor] = []
            with contextlib.suppress(Interruption):
                worker.program(random.Random(seed), want, stops_at)
            assert len(got) == len(want)
            for one, other in zip(got, want, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def started(use_context: bool, shared: list[torch.Tensor]) -> list[Worker]:
    workers = [Worker(seed, shared, use_context) for seed in range(THREADS)]
    for worker in workers:
        worker.start()
    return workers


def shared_tensors() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(4, 4, generator=generator) for _ in range(3)]


def test_threads_with_contexts_of_their_own() -> None:
    shared = shared_tensors()
    workers = started(True, shared)
    for worker in workers:
        worker.join()
    check(workers, shared)


def test_threads_while_the_process_records() -> None:
    shared = shared_tensors()
    tilewright.enable()
    try:
        pending = [tensor * 1 for tensor in shared]  # the workers read what this thread has recorded
        workers = started(False, pending)
        own = pending[0] + 1
        for worker in workers:
            worker.join()
    finally:
        tilewright.disable()
    torch.testing.assert_close(own, shared[0] + 1)
    check(workers, shared)


def test_what_one_thread_made_others_go_on_with() -> None:
    """A tensor goes through all threads, each of which records an update of it."""
    x = torch.zeros(4, 4)
    turn = threading.Semaphore(1)
    errors: list[Any] = []

    def update(number: int) -> None:
        try:
            for _ in range(10):
                with turn, tilewright.lazy():
                    x[number % 4].add_(1)
                    x.mul_(1)
                    kept = x * 2
                    assert kept is not None
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=update, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert x.tolist() == [[20.0] * 4] * 4
