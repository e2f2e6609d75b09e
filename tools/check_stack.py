"""Vectors stay in registers: disassembles the CPU levels and looks for vector moves to and from the stack.

Checked are the f32 strip handlers that every model uses (they pass eight vectors to each other as arguments; a spill
makes every step several times slower) and the innermost multiply-add loops of the kernels of matrix products (matmul, dot, block_dot).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHEAP = ("Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt", "Relu")
STACK = re.compile(r"[xyz]mm\d+.*\(%r[sb]p|\(%r[sb]p.*[xyz]mm\d+")
MULTIPLY = re.compile(r"vfmadd|vpdpbusd|vdpbf16ps|vpmaddwd")
JUMP = re.compile(r"\sj\w+\s+([0-9a-f]+) <")


def functions(path: Path):
    command = ["objdump", "-d", "-C", "--no-show-raw-insn", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for block in text.split("\n\n"):
        if match := re.match(r"\s*[0-9a-f]+ <(.*)>:\n", block):
            yield match[1], block[match.end() :].splitlines()


def handler_pattern() -> re.Pattern:
    table = (ROOT / "tilewright/isa/strip_ops.def").read_text()
    numbers = [re.search(rf"^STRIP\((\d+), {name},", table, re.MULTILINE)[1] for name in CHEAP]
    operation = rf"(?:Unary|Binary)<\([^()]*StripOp\)(?:{'|'.join(numbers)}), \([^()]*Lane\)0"
    memory = r"LoadUnit<float, \([^()]*Lane\)0|StoreUnit<float, \([^()]*Lane\)0, \(.*?Way\)[02]"
    return re.compile(rf"handler<.*?(?:{operation}|{memory})")


def hot_loops(lines: list[str]):
    """Bodies of loops that multiply and add and hold no other loop."""
    at = {line.split(":")[0].strip(): i for i, line in enumerate(lines)}
    loops = [(at[m[1]], i) for i, line in enumerate(lines) if (m := JUMP.search(line)) and at.get(m[1], i) < i]
    for first, last in loops:
        inner = any(first <= a and b < last for a, b in loops)
        if not inner and any(MULTIPLY.search(line) for line in lines[first:last]):
            yield lines[first:last]


def main() -> int:
    build, problems, seen, wanted = ROOT / os.environ.get("TILEWRIGHT_BUILD", "build"), [], 0, handler_pattern()
    for path in sorted(build.glob("CMakeFiles/tw_vm_cpu_avx*.dir/tilewright/vm/cpu/level/*.o")):
        for name, lines in functions(path):
            bodies = [lines] if wanted.search(name) else hot_loops(lines) if "_kernel" in name else []
            for body in bodies:
                seen += 1
                if moves := sum(bool(STACK.search(line)) for line in body):
                    problems.append(f"{path.parents[5].name}: {moves} vector moves over the stack in {name[:160]}")
    problems += [] if seen else [f"no vector code was found in {build}"]
    print("\n".join(problems) if problems else f"stack: ok, {seen} handlers and loops")
    return 1 if problems else 0


sys.exit(main())
