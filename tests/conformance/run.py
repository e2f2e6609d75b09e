"""./dev conformance SUITE [DIR] [--sample N] [--backends] [--json]: runs a suite of cases, ends with "N passed, M failed".

A suite is a module of this folder with cases(directory) -> {name: callable that raises where the result is wrong}, and
perhaps summary() -> a line to print at the end.
"""

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")


# What the optimiser can leave out; inline_composites, split_reduces and remove_dead_nodes are what kernels are made from.
OPTIMISER = (
    "remove_no_ops,merge_transposes,merge_reshapes,merge_updates,fold_constants,common_subexpressions,"
    "recognise_composites,widen_products,sink_reshapes,fuse_areas"
)


def levels() -> list[str]:
    """The machines there are, told by the error for one that is not."""
    code = "import tilewright; tilewright.load(b'x: f32[1]\\ny = neg(x)\\nreturn y\\n')"
    environment = {**os.environ, "TILEWRIGHT_ISA": "none"}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stderr
    return ["reference", *told.rpartition("it has ")[2].strip().split(", ")]


def run_backends(arguments: list[str]) -> int:
    """The suite on every machine, with the optimiser and without it, a process each. On the reference machine, the cases
    of single nodes alone: it takes minutes for a network."""
    passed, failed = 0, {}
    for level in levels():
        for skip in ("", OPTIMISER):
            environment = {**os.environ, "TILEWRIGHT_ISA": level, "TILEWRIGHT_SKIP": skip}
            command = [sys.executable, __file__, *arguments, "--json"]
            command += ["--only", "node/"] if level == "reference" and "onnx" in arguments else []
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            label = f"{level}, optimiser {'off' if skip else 'on'}"
            if not done.stdout.startswith("{"):
                failed[label] = {"the process": done.stderr[-300:]}
                continue
            result = json.loads(done.stdout)
            passed += result["passed"]
            failed[label] = result["failed"]
            print(f"{label}: {result['passed']} passed, {len(result['failed'])} failed", flush=True)
            for name, reason in result["failed"].items():
                print(f"  {name}: {reason}")
    count = sum(len(rows) for rows in failed.values())
    print(f"{passed} passed, {count} failed")
    return 1 if count else 0


def load_suite(name: str):
    """The module of a suite. Some are called as the packages that they test, so this folder stays off the path."""
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_case(case) -> str | None:
    """None, or in a line what was wrong."""
    try:
        case()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(line.strip() for line in str(error).strip().splitlines()[:2])
        return f"{type(error).__name__}: {text or last.name}"[:300]
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("directory", nargs="?", type=Path, help="cases of the same layout from another folder")
    parser.add_argument("--sample", type=int, metavar="N", help="only N cases, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="only cases whose name contains this")
    parser.add_argument(
        "--symbolic", action="store_true", help="the variant of the suite onnx at sizes never given to it"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument(
        "--backends", action="store_true", help="on every machine, with the optimiser and without it; not with --only"
    )
    arguments = parser.parse_args()
    if arguments.backends:
        return run_backends([text for text in sys.argv[1:] if text != "--backends"])
    suite = f"{arguments.suite}_symbolic" if arguments.symbolic else arguments.suite
    if suite not in SUITES:
        parser.error(f"the suite {arguments.suite} has no symbolic variant")
    module = load_suite(suite)
    cases = module.cases(arguments.directory)
    names = [name for name in sorted(cases) if not arguments.only or arguments.only in name]
    if arguments.sample and arguments.sample < len(names):
        names = sorted(random.Random(arguments.seed).sample(names, arguments.sample))
    failed = {}
    for done, name in enumerate(names, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{done} of {len(names)}: {name}", end="", file=sys.stderr, flush=True)
        if (reason := run_case(cases[name])) is not None:
            failed[name] = reason
            if not arguments.json:
                print(f"{name}: {reason}", flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"passed": len(names) - len(failed), "failed": failed}))
    else:
        if hasattr(module, "summary"):
            print(module.summary())
        print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    raise SystemExit(main())
