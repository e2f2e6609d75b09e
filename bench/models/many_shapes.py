"""Ten thousand random shapes of one model through torch.compile: graphs compiled, encode times, growth of memory.

Shapes are drawn at random (batch 1 to 4, length 4 to 192 for the BERT models) after the largest one has run. The
programs of unseen shapes are encoded anew; resident memory is read at the 100th shape and at the last.
"""

import argparse
import math
import random
import sys
import time

import torch
from workloads import WORKLOADS

import tilewright


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="minilm", choices=sorted(WORKLOADS))
    parser.add_argument("--shapes", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    workload = WORKLOADS[arguments.workload]
    generator = random.Random(arguments.seed)
    shapes = [workload.draw(generator) for _ in range(arguments.shapes)]
    run = torch.compile(workload.make(workload.key(shapes[0])), backend="tilewright", dynamic=True)
    start = time.perf_counter()
    with torch.no_grad():
        largest = max(
            shapes, key=workload.bytes if workload.bytes(shapes[0]) != workload.bytes(shapes[-1]) else math.prod
        )
        for shape in [largest, *(min(shapes, key=lambda s: s[axis]) for axis in range(len(shapes[0])))]:
            run(*workload.inputs(shape))  # one graph for sizes of 1 is Dynamo's own
        graphs = len(tilewright.explain(run).graphs)
        for number, shape in enumerate(shapes):
            run(*workload.inputs(shape))
            if number == 100:
                early = tilewright.stats()
            if sys.stderr.isatty() and number % 100 == 0:
                print(f"\r{number} of {len(shapes)}", end="", file=sys.stderr, flush=True)
    late = tilewright.stats()
    report = {
        "distinct shapes": len(set(shapes)),
        "graphs": len(tilewright.explain(run).graphs),
        "graphs after the first shapes": len(tilewright.explain(run).graphs) - graphs,
        "programs encoded": late["programs_encoded"],
        "encode p50, p99, max (us)": [round(late["encode_ns"][q] / 1e3, 1) for q in ("p50", "p99", "max")],
        "resident bytes, shape 100 to the last": late["resident_bytes"] - early["resident_bytes"],
        "arena bytes, the same": late["arena_bytes"] - early["arena_bytes"],
        "seconds": round(time.perf_counter() - start, 1),
    }
    print(file=sys.stderr)
    for name, value in report.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
