"""Includes follow the arrows between layers that CMakeLists.txt draws (tw_layer .. DEPENDS), and no others."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"tilewright/([^"]+)"', re.MULTILINE)
# vm/machine.h is the interface that every machine implements; tilewright.h is the public face of the runtime.
SHARED = {"vm": {"isa"}}
PUBLIC = "runtime"


def read_arrows() -> dict[str, set[str]]:
    text = (ROOT / "CMakeLists.txt").read_text()
    arrows = {
        name: set(depends.split()) for name, depends in re.findall(r"tw_layer\((\S+?)(?: DEPENDS ([^)]*))?\)", text)
    }
    arrows.update(SHARED)
    for name in arrows:
        if name.startswith("vm/"):
            arrows[name].add("vm")
    reached: dict[str, set[str]] = {}
    for name in arrows:
        todo, seen = [name], {name}
        while todo:
            new = arrows.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reached[name] = seen
    return reached


def layer_of(path: str, layers: dict[str, set[str]]) -> str | None:
    folder = path.rpartition("/")[0] or PUBLIC
    while folder and folder not in layers:
        folder = folder.rpartition("/")[0]
    return folder or None


def main() -> int:
    layers = read_arrows()
    problems = []
    for path in sorted((ROOT / "tilewright").rglob("*")):
        if path.suffix not in {".cc", ".h"} or path.stem.endswith(("_test", "_bench")):
            continue
        name = str(path.relative_to(ROOT / "tilewright"))
        layer = layer_of(name, layers)
        for included in INCLUDE.findall(path.read_text()) if layer else ():
            other = "runtime" if included == "tilewright.h" else layer_of(included, layers)
            if other is None or other not in layers[layer]:
                problems.append(f"tilewright/{name}: {layer} may not include tilewright/{included}")
    print("\n".join(problems) if problems else "layers: ok")
    return 1 if problems else 0


sys.exit(main())
