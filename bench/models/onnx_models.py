"""Times the real ONNX models of tests/real_models: a Tilewright session, ONNX Runtime and OpenVINO, interleaved.

Each peer lives in a process of its own and waits while another works. The shapes of a model come in random order; the
first call at each is timed on sessions that have seen other shapes. `ratio` is Tilewright's low quantile over that of
the faster peer, `first` the worst first call over a warm one, of those that take 0.3 ms more; `make` the time of session
creation over ONNX Runtime's.

    .venv/bin/python bench/models/onnx_models.py [--models NAMES] [--rounds N] [--budget SECONDS] [--json FILE]
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[2] / "tests"))
from real_models import CACHE, MODELS, read_model  # noqa: E402

PEERS = ("tilewright", "ort", "openvino")
SETTLE = 0.012  # seconds: worker threads of the peer before spin for some milliseconds after their last task


def make_runner(peer: str, content: bytes, threads: int):
    if peer == "tilewright":
        import tilewright

        tilewright.set_num_threads(threads)
        return tilewright.load(content).run
    if peer == "ort":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return lambda feeds: session.run(None, feeds)
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    return core.compile_model(core.read_model(content), "CPU", settings)


class Worker:
    """The process of one peer. It answers requests, one JSON line each."""

    def __init__(self, peer: str, name: str, threads: int, directory: Path):
        self.peer, self.threads, self.model = peer, threads, MODELS[name]
        self.content = read_model(self.model, directory)
        self.feeds, self.run = {}, None

    def create(self):
        self.run = None
        start = time.perf_counter()
        self.run = make_runner(self.peer, self.content, self.threads)
        return {"seconds": time.perf_counter() - start}

    def time(self, shape, budget):
        shape = tuple(shape)
        if shape not in self.feeds:
            self.feeds[shape] = self.model.make(*shape)
        feeds, clock, times = self.feeds[shape], time.perf_counter, []
        end = clock() + budget
        while len(times) < (1 if budget == 0 else 3) or (budget and clock() < end and len(times) < 5000):
            start = clock()
            self.run(feeds)
            times.append(clock() - start)
        times.sort()
        return {"seconds": times[len(times) // 10]}


def work(arguments) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print goes to stderr, not between the answers
    worker = Worker(arguments.worker, arguments.models, arguments.threads, arguments.directory)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # the table shows it
            answer = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


class Peer:
    def __init__(self, name: str, model: str, arguments):
        self.name, self.failed = name, None
        command = [sys.executable, str(HERE), "--worker", name, "--models", model, "--threads", str(arguments.threads)]
        self.process = subprocess.Popen(
            [*command, "--directory", str(arguments.directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, **request) -> float:
        if self.failed:
            return math.nan
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"failed": "the process died"}')
        self.failed = answer.get("failed")
        return answer.get("seconds", math.nan)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def least(times: list[float]) -> float:
    return min((t for t in times if not math.isnan(t)), default=math.nan)


def measure(name: str, arguments) -> dict:
    model = MODELS[name]
    shapes = random.Random(arguments.seed).sample([*model.shapes, *model.large], len(model.shapes) + len(model.large))
    peers = [Peer(peer, name, arguments) for peer in arguments.peers]
    made = {peer.name: [] for peer in peers}
    first = {peer.name: {} for peer in peers}
    warm = {peer.name: {} for peer in peers}
    try:
        for _ in range(arguments.creations):  # the shapes are new to each session
            for peer in peers:
                made[peer.name].append(peer.ask(do="create"))
                for at, shape in enumerate(shapes):
                    seconds = peer.ask(do="time", shape=shape, budget=0)
                    if at:  # the first call of a session is about the session
                        first[peer.name].setdefault(shape, []).append(seconds)
        for turn in range(arguments.rounds):
            for shape in shapes:
                for peer in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
                    time.sleep(SETTLE)
                    warm[peer.name].setdefault(shape, []).append(
                        peer.ask(do="time", shape=shape, budget=arguments.budget)
                    )
    finally:
        for peer in peers:
            peer.close()
    rows = {}
    for peer in peers:
        low = {str(list(shape)): least(warm[peer.name].get(shape, [])) for shape in shapes}
        new = {str(list(shape)): least(times) for shape, times in first[peer.name].items()}
        rows[peer.name] = {"made": least(made[peer.name]), "first": new, "warm": low, "failed": peer.failed}
    return rows


def summarise(rows: dict) -> dict:
    mine = rows["tilewright"]
    others = [row for peer, row in rows.items() if peer != "tilewright"]
    ratios = {}
    for shape, seconds in mine["warm"].items():
        ratios[shape] = seconds / least([row["warm"].get(shape, math.nan) for row in others])
    firsts = [
        seconds / mine["warm"][shape]
        for shape, seconds in mine["first"].items()
        if seconds > mine["warm"][shape] + 0.3e-3
    ]
    return {
        "ratio": geometric_mean(list(ratios.values())),
        "worst": max(ratios.values()),
        "ratios": ratios,
        "first": max(firsts, default=1.0),
        "make": mine["made"] / rows["ort"]["made"] if "ort" in rows else math.nan,
    }


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def describe(name: str, rows: dict, summary: dict) -> str:
    shapes = ", ".join(
        f"{shape.strip('[]').replace(', ', 'x')}: {1e3 * rows['tilewright']['warm'][shape]:.3g} ms {ratio:.2f}"
        for shape, ratio in sorted(summary["ratios"].items(), key=lambda row: rows["tilewright"]["warm"][row[0]])
    )
    failed = ", ".join(f"{peer} fails" for peer, row in rows.items() if row["failed"])
    return (
        f"{name:16} {summary['ratio']:6.2f} {summary['worst']:6.2f} {summary['first']:6.2f} {summary['make']:6.2f}"
        f"  {shapes}{'; ' + failed if failed else ''}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated; default: all")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each peer at each shape")
    parser.add_argument("--budget", type=float, default=0.05, help="seconds of one turn")
    parser.add_argument("--creations", type=int, default=3, help="sessions made by each peer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path, default=CACHE, help="the folder of the wheels")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return
    arguments.peers = arguments.peers.split(",")
    print(f"{'model':16} {'ratio':>6} {'worst':>6} {'first':>6} {'make':>6}  ms of Tilewright and ratio for each shape")
    results = {}
    for name in arguments.models.split(","):
        rows = measure(name, arguments)
        if all(not math.isnan(seconds) for seconds in rows["tilewright"]["warm"].values()):
            results[name] = {"peers": rows, "summary": summarise(rows)}
            print(describe(name, rows, results[name]["summary"]), flush=True)
        else:
            print(f"{name:16} {rows['tilewright']['failed']}", flush=True)
    ratios = [result["summary"]["ratio"] for result in results.values()]
    above = [name for name, result in results.items() if result["summary"]["worst"] > 1.3]
    print(
        f"geometric mean over {len(ratios)} models {geometric_mean(ratios):.2f}; above 1.3 at some shape: {', '.join(above)}"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
