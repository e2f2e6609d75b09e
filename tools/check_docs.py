"""Generated pages are fresh, links between pages lead somewhere, and every environment variable read has a row."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("ops", "isa", "settings", "onnx_export")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
VARIABLE = re.compile(r"""(?:getenv\(|environ(?:\.get\(|\[))\s*["'](TILEWRIGHT_\w+)""")


def stale_pages() -> list[str]:
    build = ROOT / os.environ.get("TILEWRIGHT_BUILD", "build")
    made = subprocess.run(["cmake", "--build", str(build), "--target", "tw_docs"], capture_output=True, text=True)
    if made.returncode:
        return [f"tw_docs does not build in {build}: {made.stdout[-800:]}{made.stderr[-200:]}"]
    problems = []
    for page in PAGES:
        path = ROOT / "docs" / f"{page}.md"
        wanted = subprocess.run(
            [str(build / "tools" / "tw_docs"), page], capture_output=True, text=True, check=True
        ).stdout
        if not path.exists() or path.read_text() != wanted:
            problems.append(f"docs/{page}.md is not what its table says: run ./dev docs")
    return problems


def broken_links() -> list[str]:
    problems = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        for target in LINK.findall(page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                problems.append(f"{page.relative_to(ROOT)}: no file {target}")
    return problems


def unlisted_variables() -> list[str]:
    rows = (ROOT / "tilewright/base/settings.def").read_text()
    problems, found = [], set()
    for folder in ("tilewright", "python/tilewright", "python/src", "cli"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".cc", ".h", ".py"} and not path.stem.endswith(("_test", "_testing")):
                found |= (names := set(VARIABLE.findall(path.read_text())))
                missing = [name for name in names if f'SETTING("{name}"' not in rows]
                problems += [f"{path.relative_to(ROOT)}: {name} has no row in base/settings.def" for name in missing]
    unread = set(re.findall(r'^SETTING\("(\w+)"', rows, re.MULTILINE)) - found
    return problems + [f"base/settings.def: nobody reads {name}" for name in sorted(unread)]


def main() -> int:
    problems = stale_pages() + broken_links() + unlisted_variables()
    print("\n".join(problems) if problems else "docs: ok")
    return 1 if problems else 0


sys.exit(main())
