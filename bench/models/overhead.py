"""What a call costs beside its kernels, and what a cold start costs in the backend.

`machine` is the time in which the machine runs programs, `ours` the rest of the compiled graph's call, `dynamo` what
torch.compile takes around it, with the caches as the kernels left them. `cold` is the time from the graph that
AOTAutograd gives to the first result (lowering, passes, plan, packing, encoding, running), without Dynamo's own trace.
"""

import argparse
import time

import tilewright.torch_backend as package
import torch
from tilewright.torch_backend import compiler as backend
from torch._dynamo.backends.registry import lookup_backend
from workloads import WORKLOADS

import tilewright

clock = time.perf_counter_ns


class Spy:
    """Stands around the calls of compiled graphs and around their compilation."""

    def __init__(self) -> None:
        self.graph_ns = self.compile_ns = 0

    def install(self) -> None:
        plain_boxed, plain_compile = backend.boxed, backend.compile_module

        def boxed(graph):
            call = plain_boxed(graph)

            def timed(arguments):
                start = clock()
                results = call(arguments)
                self.graph_ns += clock() - start
                return results

            timed._boxed_call = True
            return timed

        def compile_module(*arguments):
            start = clock()
            call = plain_compile(*arguments)
            self.compile_ns += clock() - start
            return call

        backend.boxed = boxed
        package.compile_module = compile_module


def measure(name: str, shape, calls: int, spy: Spy) -> None:
    workload = WORKLOADS[name]
    function = workload.make(workload.key(shape))
    inputs = workload.inputs(shape)
    spy.compile_ns = spy.graph_ns = 0
    run = torch.compile(function, backend=lookup_backend("tilewright"), dynamic=True)
    run(*inputs)
    cold = (spy.compile_ns + spy.graph_ns) / 1e6
    rows = []
    for _ in range(calls):
        spy.graph_ns, machine, start = 0, tilewright.stats()["machine_ns"], clock()
        run(*inputs)
        whole = clock() - start
        machine = tilewright.stats()["machine_ns"] - machine
        rows.append((whole, machine, spy.graph_ns - machine, whole - spy.graph_ns))
    parts = [sorted(column)[len(rows) // 10] / 1e3 for column in zip(*rows, strict=True)]
    print(f"{name} {shape}: cold {cold:.1f} ms; whole {parts[0]:.1f} us = machine {parts[1]:.1f}, ", end="")
    print(f"ours {parts[2]:.1f}, dynamo {parts[3]:.1f} (0.1 quantiles)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--calls", type=int, default=300)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    spy = Spy()
    spy.install()
    with torch.no_grad():
        for name, shape in (("softmax", (1, 2, 768)), ("minilm", (1, 10)), ("minilm", (1, 69))):
            measure(name, shape, arguments.calls, spy)


if __name__ == "__main__":
    main()
