"""Turns the rows of a run into ratios, shares of the machine's limits, a table and a picture."""

import math
from pathlib import Path

from workloads import Workload


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def least_seconds(workload: Workload, shape, machine: dict) -> float:
    """The time below which this machine cannot be: all its multiply-adds at their peak, or all bytes once at the rate
    of the nearest memory level that holds them."""
    limits, caches = machine["limits"], machine["caches"]
    size = workload.bytes(shape)
    level = "dram"
    if size <= machine["threads"] * caches.get("l2", 0):
        level = "l2"
    elif size <= caches.get("l3", 0):
        level = "l3"
    return max(workload.flops(shape) / limits["fma_gflops"], size / limits[f"{level}_read_gbs"]) / 1e9


def summarise(workload: Workload, measured: dict, machine: dict) -> dict:
    rows = [row for row in measured["rows"] if "low" in row["peers"].get("eager", {})]
    fast_bytes = machine["threads"] * machine["caches"].get("l2", 0)
    summary = {}
    for peer in dict.fromkeys(name for row in rows for name in row["peers"]):
        own = [row for row in rows if "low" in row["peers"].get(peer, {})]
        if not own:
            continue
        ratio = [(row, row["peers"][peer]["low"] / row["peers"]["eager"]["low"]) for row in own]
        firsts = sorted(row["peers"][peer]["first"] for row in own)
        rivals = {"floor", "tilewright", "tilewright-session", peer}
        best = [
            (
                min(
                    (seen["low"] for name, seen in row["peers"].items() if name not in rivals and "low" in seen),
                    default=None,
                ),
                row,
            )
            for row in own
        ]
        best = [(row["peers"][peer]["low"] / time, row) for time, row in best if time]
        summary[peer] = {
            "time_over_eager": geometric_mean([r for _, r in ratio]),
            "time_over_eager_in_l2": geometric_mean(
                [r for row, r in ratio if workload.bytes(row["shape"]) <= fast_bytes]
            ),
            "time_over_eager_beyond_l2": geometric_mean(
                [r for row, r in ratio if workload.bytes(row["shape"]) > fast_bytes]
            ),
            "time_over_best_other": geometric_mean([r for r, _ in best]),
            "ahead_of_best_other": sum(r < 1 for r, _ in best) / len(best) if best else math.nan,
            "share_of_limit": geometric_mean(
                [least_seconds(workload, row["shape"], machine) / row["peers"][peer]["low"] for row in own]
            ),
            "p95_over_low": geometric_mean([row["peers"][peer]["p95"] / row["peers"][peer]["low"] for row in own]),
            "first_median": firsts[len(firsts) // 2],
            "first_max": firsts[-1],
            "error": max(row["peers"][peer]["error"] for row in own),
        }
    return summary


COLUMNS = (  # heading, key of the summary, format, scale
    ("time/eager", "time_over_eager", ".2f", 1),
    ("in L2", "time_over_eager_in_l2", ".2f", 1),
    ("beyond", "time_over_eager_beyond_l2", ".2f", 1),
    ("/best", "time_over_best_other", ".2f", 1),
    ("ahead %", "ahead_of_best_other", ".0f", 100),
    ("of limit %", "share_of_limit", ".1f", 100),
    ("p95/low", "p95_over_low", ".2f", 1),
    ("first ms", "first_median", ".2f", 1e3),
    ("max ms", "first_max", ".0f", 1e3),
    ("error", "error", ".1e", 1),
)


def print_table(measured: dict) -> None:
    print(f"\n{measured['workload']:<12}{'':<20}" + "".join(f"{heading:>11}" for heading, *_ in COLUMNS))
    for peer, summary in measured["summary"].items():
        cells = (format(scale * summary[key], form) for _, key, form, scale in COLUMNS)
        print(f"{'':<12}{peer:<20}" + "".join(f"{cell.replace('nan', '-'):>11}" for cell in cells))
    for peer, reason in measured["failed"].items():
        print(f"{'':<12}{peer:<20}failed: {reason.strip().splitlines()[-1][:150]}")
    print(end="", flush=True)


def draw(result: dict, path: Path) -> None:
    """One panel a workload: bars of time over eager (below 1 is faster), one colour a peer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    workloads = [w for w in result["workloads"] if w["summary"]]
    if not workloads:
        return
    peers = list(dict.fromkeys(peer for w in workloads for peer in w["summary"] if peer not in ("eager", "floor")))
    colours = dict(zip(peers, pyplot.cm.tab10.colors, strict=False))
    figure, axes = pyplot.subplots(
        1, len(workloads), figsize=(2.2 * len(workloads) + 1, 3.6), squeeze=False, sharey=True
    )
    for axis, workload in zip(axes[0], workloads, strict=True):
        shown = [peer for peer in peers if peer in workload["summary"]]
        heights = [workload["summary"][peer]["time_over_eager"] for peer in shown]
        axis.bar(shown, heights, color=[colours[peer] for peer in shown])
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.set_title(workload["workload"], fontsize=9)
        axis.set_xticks([])
        axis.set_ylim(0, 2.5)
        for x, height in enumerate(heights):
            axis.text(x, min(height, 2.4), f"{height:.2f}", ha="center", va="bottom", fontsize=7)
    axes[0][0].set_ylabel("time / eager (geometric mean)")
    figure.legend(
        [pyplot.Rectangle((0, 0), 1, 1, color=colours[p]) for p in peers],
        peers,
        loc="lower center",
        ncol=len(peers),
        fontsize=8,
    )
    figure.suptitle(f"{result['machine']['processor']}, {result['machine']['threads']} threads, fp32", fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=130)
