"""./dev conformance SUITE [DIR] [--sample N] [--json]: runs a suite of cases, ends with "N passed, M failed".

A suite is a module of this folder with cases(directory) -> {name: callable that raises where the result is wrong}.
"""

import argparse
import importlib.util
import json
import random
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")


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
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else last.name}"[:300]
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
    arguments = parser.parse_args()
    suite = f"{arguments.suite}_symbolic" if arguments.symbolic else arguments.suite
    if suite not in SUITES:
        parser.error(f"the suite {arguments.suite} has no symbolic variant")
    cases = load_suite(suite).cases(arguments.directory)
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
        print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    raise SystemExit(main())
