"""Times eager programs against the same programs inside tilewright.lazy(), interleaved, and takes the cost of a recorded op apart.

Both run in one process and one thread; a row is the low (0.1) quantile of the thread's CPU time over rounds of turns.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path

import torch
from machine import describe_machine
from tilewright.streaming import recorder
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import tilewright


def arithmetic(ops):
    def program(x, w):
        y = x
        for _ in range(ops // 5):
            y = ((y * w + 0.5) - x).clamp(-2, 2) * 0.9
        return y

    return program


def activations(ops):
    def program(x, w):
        y = x
        for _ in range(ops // 5):
            y = torch.tanh(y * w) + torch.sigmoid(y) * 0.5
        return y

    return program


def norms(ops):
    def program(x, w):
        rows, weights = x.view(16, -1), w.view(16, -1)
        for _ in range(ops // 5):
            rows = F.gelu(rows * torch.rsqrt((rows * rows).mean(-1, keepdim=True) + 1e-5) * weights)
        return rows

    return program


def optimiser(ops):
    def program(x, w):
        m, v, p = torch.zeros_like(x), torch.zeros_like(x), w.clone()
        for _ in range(max(1, ops // 10)):
            m = m * 0.9 + x * 0.1
            v = v * 0.999 + x * x * 0.001
            p = p - 0.01 * m / (v.sqrt() + 1e-8)
        return p

    return program


def early_exit(ops):
    def program(x, w):
        y, taken = x, 0
        while taken < ops // 10 and (taken == 0 or bool(y.abs().max() > 0.01)):
            for _ in range(2):
                y = torch.tanh(y * 0.8) + w * 0.01
            y, taken = y - y.mean(), taken + 1
        return y

    return program


def attention(ops):
    def program(x, w):
        q = x.view(4, -1, 16)
        for _ in range(max(1, ops // 10)):
            scores = torch.softmax(q @ q.transpose(1, 2) * 0.25, -1)
            q = F.layer_norm(scores @ q + q, (16,))
        return q

    return program


PROGRAMS = {
    "arithmetic": arithmetic,
    "activations": activations,
    "norms": norms,
    "optimiser": optimiser,
    "early_exit": early_exit,
    "attention": attention,
}


def thread_time(function) -> float:
    start = time.thread_time_ns()
    function()
    return (time.thread_time_ns() - start) / 1e3


def low(values) -> float:
    return sorted(values)[len(values) // 10]


def compare(make, ops: int, size: int, rounds: int) -> dict:
    program, x, w = make(ops), torch.randn(size), torch.rand(size)

    def lazily():
        with tilewright.lazy():
            return program(x, w)

    torch.testing.assert_close(lazily(), program(x, w), rtol=1e-3, atol=1e-4)
    lazily()
    before = tilewright.stats()["lazy"]["ops_recorded"]
    lazily()
    recorded = tilewright.stats()["lazy"]["ops_recorded"] - before
    eager, lazy = [], []
    for turn in range(rounds):
        for times, function in ((eager, lambda: program(x, w)), (lazy, lazily))[:: 1 if turn % 2 else -1]:
            times.append(thread_time(function))
    return {"ops": ops, "size": size, "recorded": recorded, "eager": low(eager), "lazy": low(lazy)}


class Empty(TorchDispatchMode):
    """What any recorder in a dispatch mode has to do: be called, and make the result."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return torch.empty_strided((1024,), (1,))


class Nothing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return args[0]


def dispatch_all(own, args, calls: int) -> None:
    add, dispatch = torch.ops.aten.add.Tensor, own.stream.dispatch
    for _ in range(calls):
        dispatch(own, add, (), args, {})


def costs(rounds: int) -> dict:
    """us per op: eager, a mode that does nothing, one that makes the result, recording (all, and its C++ part)."""
    x, w = torch.randn(1024), torch.randn(1024)
    calls = 200

    def adds():
        for _ in range(calls):
            x + w

    rows = {name: [] for name in ("eager add", "mode that returns", "mode that makes the result", "lazy, recording")}
    rows["lazy, the C++ part"] = []
    for _ in range(rounds):
        rows["eager add"].append(thread_time(adds))
        with Nothing():
            rows["mode that returns"].append(thread_time(adds))
        with Empty():
            rows["mode that makes the result"].append(thread_time(adds))
        with tilewright.lazy(max_ops=10 * calls):
            adds()
            tilewright.flush()
            rows["lazy, recording"].append(thread_time(adds))
            tilewright.flush()
            with _disable_current_modes():
                rows["lazy, the C++ part"].append(thread_time(partial(dispatch_all, recorder.ACTIVE[0], (x, w), calls)))
    return {name: low(times) / calls for name, times in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--ops", default="10,30,50")
    parser.add_argument("--sizes", default="1024,4096")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with torch.no_grad():
        per_op = costs(given.rounds)
        for name in given.programs.split(","):
            for ops in map(int, given.ops.split(",")):
                for size in map(int, given.sizes.split(",")):
                    rows.append({"program": name, **compare(PROGRAMS[name], ops, size, given.rounds)})
    print(f"{'program':12} {'ops':>4} {'size':>5} {'recorded':>8} {'eager us':>9} {'lazy us':>9} {'ratio':>6}")
    for row in rows:
        ratio = row["lazy"] / row["eager"]
        print(
            f"{row['program']:12} {row['ops']:4} {row['size']:5} {row['recorded']:8} {row['eager']:9.1f} "
            f"{row['lazy']:9.1f} {ratio:6.2f}"
        )
    for name, value in per_op.items():
        print(f"{name:28} {value:6.2f} us per op")
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps({"machine": describe_machine(), "rows": rows, "costs": per_op}, indent=1))


if __name__ == "__main__":
    main()
