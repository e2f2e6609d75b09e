"""Files stay readable: at most 500 lines, tests at most 700, and no leftover markers."""

import re
import subprocess
import sys
from pathlib import Path

SUFFIXES = {".cc", ".h", ".def", ".py", ".pyi", ".cmake", ".sh"}
LEFTOVER = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]))


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    problems = []
    for name in sorted(listing.stdout.split("\n")):
        path = root / name
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        lines = path.read_text().splitlines()
        is_test = path.stem.endswith("_test") or path.stem.startswith("test_")
        limit = 700 if is_test else 500
        if len(lines) > limit:
            problems.append(f"{name}: {len(lines)} lines, the limit is {limit}")
        problems += [f"{name}:{i}: {m.group()}" for i, line in enumerate(lines, 1) if (m := LEFTOVER.search(line))]
    print("\n".join(problems) if problems else "sizes: ok")
    return 1 if problems else 0


sys.exit(main())
