"""Times workloads against peers, interleaved, and writes the rows, a table of ratios and a picture.

Each peer lives in a process of its own and waits while another works. For each shape the peers take turns, several
rounds, in an order that changes from round to round. A row keeps a low quantile (0.1), the median, the 0.95 quantile.
"""

import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fusion_workloads import FUSION_WORKLOADS
from machine import describe_machine
from peers import PEERS
from report import draw, print_table, summarise
from workloads import WORKLOADS

HERE = Path(__file__).resolve().parent
SETTLE = 0.012  # seconds: OpenMP workers of the peer before spin for about 8 ms after their last task


class Peer:
    """`label` and `environment`: one of several processes of a peer, with variables of its own."""

    def __init__(self, name: str, workload: str, arguments, label: str | None = None, environment=None):
        self.name, self.failed = label or name, None
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by close)
        command = [sys.executable, str(HERE / "worker.py"), name, workload, str(arguments.threads), arguments.folder]
        self.process = subprocess.Popen(
            [*command, str(int(arguments.after_torch))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=os.environ | (environment or {}),
        )

    def ask(self, **request) -> dict:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if line:
                answer = json.loads(line)
                self.failed = self.failed or answer.get("failed")
                return answer
        self.log.seek(0)
        self.failed = "the process died: " + self.log.read()[-500:]
        return {"failed": self.failed}

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def spin() -> None:
    while True:
        pass


@contextlib.contextmanager
def background_load(processes: int):
    team = [multiprocessing.Process(target=spin, daemon=True) for _ in range(processes)]
    for process in team:
        process.start()
    yield
    for process in team:
        process.terminate()


def quantile(times: list[float], part: float) -> float:
    return times[min(len(times) - 1, int(part * len(times)))]


def measure_shape(peers: list[Peer], shape, arguments, turn: int) -> dict:
    row = {"shape": shape, "peers": {}}
    times: dict[str, list] = {}
    for peer in [p for p in peers if not p.failed]:
        answer = peer.ask(do="first", shape=shape)
        if not peer.failed:
            row["peers"][peer.name] = {"first": answer["first"], "error": answer["error"]}
    for i in range(arguments.rounds):
        alive = [p for p in peers if not p.failed]
        at = (turn + i) % max(1, len(alive))
        for peer in alive[at:] + alive[:at]:
            time.sleep(SETTLE)
            answer = peer.ask(do="time", shape=shape, budget=arguments.budget)
            if not peer.failed:
                times.setdefault(peer.name, []).append(answer["times"])
    for name, samples in times.items():
        together = sorted(x for sample in samples for x in sample)
        row["peers"][name] |= {
            "low": min(quantile(sample, 0.1) for sample in samples),
            "median": quantile(together, 0.5),
            "p95": quantile(together, 0.95),
        }
    return row


def measure_workload(name: str, arguments) -> dict:
    shapes = WORKLOADS[name].shapes(arguments.shapes, arguments.seed)
    peers = [Peer(peer, name, arguments) for peer in arguments.peers]
    rows = []
    try:
        with background_load(arguments.load):
            for turn, shape in enumerate(shapes):
                rows.append(measure_shape(peers, shape, arguments, turn))
                if sys.stderr.isatty():
                    print(f"\r{name}: shape {turn + 1} of {len(shapes)}", end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(file=sys.stderr)
        stats = next((p.ask(do="stats") for p in peers if p.name == "tilewright" and not p.failed), {})
    finally:
        for peer in peers:
            peer.close()
    failed = {peer.name: peer.failed for peer in peers if peer.failed}
    return {"workload": name, "rows": rows, "failed": failed, "tilewright_stats": stats}


def without_nan(value):
    """JSON has no nan: a ratio over no rows becomes null."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if value != value else value


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="comma-separated; default: all. Also: fusion")
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="comma-separated; default: all. Also: inductor-freezing"
    )
    parser.add_argument("--shapes", type=int, default=12, help="random shapes per workload")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each peer at each shape")
    parser.add_argument("--budget", type=float, default=0.15, help="seconds of one turn")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="N processes that keep cores busy meanwhile")
    parser.add_argument(
        "--after-torch", action="store_true", help="run a parallel torch operation before each timed call"
    )
    parser.add_argument("--output", type=Path, default=None, help="folder for results; default bench/results/DATE-TIME")
    arguments = parser.parse_args()
    arguments.workloads = arguments.workloads.replace("fusion", ",".join(FUSION_WORKLOADS))
    arguments.workloads, arguments.peers = arguments.workloads.split(","), arguments.peers.split(",")
    for name in set(arguments.workloads) - set(WORKLOADS):
        parser.error(f"no workload {name}: there are {', '.join(WORKLOADS)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    output = arguments.output or HERE.parent / "results" / stamp
    output.mkdir(parents=True, exist_ok=True)
    result = {"machine": describe_machine(arguments.threads), "load": arguments.load, "workloads": []}
    result["after_torch"] = arguments.after_torch
    print(f"{result['machine']['processor']}, {arguments.threads} threads", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        arguments.folder = folder
        for name in arguments.workloads:
            measured = measure_workload(name, arguments)
            measured["summary"] = summarise(WORKLOADS[name], measured, result["machine"])
            result["workloads"].append(measured)
            print_table(measured)
            (output / "models.json").write_text(json.dumps(without_nan(result), indent=1) + "\n")
    draw(result, output / "models.png")
    print(f"written: {output / 'models.json'}, {output / 'models.png'}")


if __name__ == "__main__":
    main()
