"""One peer in a process of its own. Reads one JSON request a line, answers one JSON line, and is idle in between, so
that run.py can let the peers take turns on a quiet machine.

requests: {"do": "first", "shape": S}               -> {"first": seconds, "error": largest relative error}
          {"do": "time", "shape": S, "budget": SEC} -> {"times": sorted seconds, thinned to 64, "count": calls}
          {"do": "stats"}                           -> tilewright.stats(), {} for others
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp())  # every run compiles anew

import torch
from peers import make_runner
from workloads import WORKLOADS


def largest_error(result, expected) -> float:
    """Relative to the largest element of each result."""
    if isinstance(expected, tuple | list):
        return max(map(largest_error, result, expected))
    if not expected.numel():
        return 0.0
    return float((result - expected).abs().max() / (expected.abs().max() + 1e-6))


class Worker:
    def __init__(self, peer: str, workload: str, threads: int, folder: str, after_torch: bool):
        torch.set_num_threads(threads)
        torch._dynamo.config.recompile_limit = 10_000
        torch._dynamo.config.accumulated_recompile_limit = 100_000
        self.peer, self.workload, self.threads, self.folder = peer, WORKLOADS[workload], threads, Path(folder)
        self.functions, self.runners = {}, {}
        self.noise = torch.randn(1 << 18) if after_torch else None

    def inputs(self, shape):
        torch.manual_seed(7)
        return self.workload.inputs(shape)

    def runner(self, shape):
        key = self.workload.key(shape)
        if key not in self.runners:
            self.functions[key] = self.workload.make(key)
            self.runners[key] = make_runner(
                self.peer, self.workload, self.functions[key], shape, self.threads, self.folder
            )
        return self.runners[key], self.functions[key]

    def first(self, shape):
        run, eager = self.runner(shape)
        inputs = self.inputs(shape)
        start = time.perf_counter()
        result = run(*inputs)
        seconds = time.perf_counter() - start
        return {"first": seconds, "error": largest_error(result, eager(*inputs))}

    def time(self, shape, budget):
        run, _ = self.runner(shape)
        inputs, clock = self.inputs(shape), time.perf_counter
        run(*inputs)
        times, end = [], clock() + budget
        while len(times) < 3 or (clock() < end and len(times) < 20_000):
            if self.noise is not None:
                torch.add(self.noise, 1.0)
            start = clock()
            run(*inputs)
            times.append(clock() - start)
        times.sort()
        step = max(1, len(times) // 64)
        return {"times": times[::step], "count": len(times)}

    def stats(self):
        if self.peer != "tilewright":
            return {}
        import tilewright

        return tilewright.stats()


def main() -> None:
    peer, workload, threads, folder, after_torch = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print goes to stderr, not between the answers
    worker = Worker(peer, workload, int(threads), folder, after_torch == "1")
    with torch.no_grad():
        for line in sys.stdin:
            request = json.loads(line)
            action = request.pop("do")
            if "shape" in request:
                request["shape"] = tuple(request["shape"])
            try:
                answer = getattr(worker, action)(**request)
            except Exception as error:  # reported by run.py, which drops this peer
                answer = {"failed": f"{type(error).__name__}: {error}"[:2000]}
            print(json.dumps(answer, default=str), file=answers, flush=True)


if __name__ == "__main__":
    main()
