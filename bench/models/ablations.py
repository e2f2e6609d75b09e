"""What each part of the fuser is worth: the same model files by Session.run, with more and more of it switched on.

Every variant is a process of its own; they take turns at each shape as the peers of run.py do. Times are relative to no
fusion at all (each operation a kernel and a launch of its own): geometric means over shapes of the low quantile.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from machine import describe_machine
from report import geometric_mean
from run import Peer, measure_shape, without_nan
from workloads import WORKLOADS

# TILEWRIGHT_SKIP of each variant (docs/settings.md).
VARIANTS = {
    "no fusion": "fuse_areas,fuse_decided_areas,stack_steps",
    "areas": "fuse_areas,stack_steps",
    "+ speculation": "stack_steps",
    "+ stacking": "",
}
DEFAULT = "layernorm-any,undecided-sums,small-program,rope,swiglu,mmoe,adam,groupnorm,minilm"


def measure(name: str, arguments) -> dict:
    peers = [
        Peer("tilewright-session", name, arguments, label, {"TILEWRIGHT_SKIP": skip})
        for label, skip in VARIANTS.items()
    ]
    try:
        shapes = WORKLOADS[name].shapes(arguments.shapes, arguments.seed)
        rows = [measure_shape(peers, shape, arguments, turn) for turn, shape in enumerate(shapes)]
    finally:
        for peer in peers:
            peer.close()
    failed = {peer.name: peer.failed for peer in peers if peer.failed}
    base = next(iter(VARIANTS))
    ratios = {
        label: geometric_mean(
            [
                row["peers"][label]["low"] / row["peers"][base]["low"]
                for row in rows
                if "low" in row["peers"].get(label, {}) and "low" in row["peers"].get(base, {})
            ]
        )
        for label in VARIANTS
    }
    return {"workload": name, "ratios": ratios, "rows": rows, "failed": failed}


def draw(results: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(1.3 * len(results) + 2, 3.6))
    width = 0.8 / len(VARIANTS)
    for i, label in enumerate(VARIANTS):
        axis.bar(
            [x + i * width for x in range(len(results))], [r["ratios"][label] for r in results], width, label=label
        )
    axis.set_xticks([x + 0.4 - width / 2 for x in range(len(results))], [r["workload"] for r in results], fontsize=7)
    axis.set_ylabel("time / no fusion")
    axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=DEFAULT)
    parser.add_argument("--shapes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.05, help="seconds of one turn")
    parser.add_argument("--output", type=Path, default=Path("bench/results/ablations"))
    arguments = parser.parse_args()
    arguments.after_torch = False
    arguments.output.mkdir(parents=True, exist_ok=True)
    results = []
    print(f"{'':<18}" + "".join(f"{label:>16}" for label in VARIANTS))
    with tempfile.TemporaryDirectory() as folder:
        arguments.folder = folder
        for name in arguments.workloads.split(","):
            results.append(measure(name, arguments))
            cells = "".join(f"{results[-1]['ratios'][label]:>16.2f}" for label in VARIANTS)
            print(f"{name:<18}{cells}", flush=True)
            for label, reason in results[-1]["failed"].items():
                print(f"  {label} failed: {reason.strip().splitlines()[-1][:150]}")
    report = {"machine": describe_machine(arguments.threads), "load": os.getloadavg()[0], "workloads": results}
    (arguments.output / "ablations.json").write_text(json.dumps(without_nan(report), indent=1) + "\n")
    draw(results, arguments.output / "ablations.png")


if __name__ == "__main__":
    main()
