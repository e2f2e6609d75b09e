"""What machine this is: processor, caches, versions, and the limits that machine_limits.cc measures."""

import json
import os
import platform
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

SOURCE = Path(__file__).with_name("machine_limits.cc")


def measure_limits(threads: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "machine_limits"
        command = ["g++", "-std=c++20", "-O3", "-march=native", "-pthread", str(SOURCE), "-o", str(program)]
        subprocess.run(command, check=True)
        return json.loads(
            subprocess.run([str(program), str(threads)], capture_output=True, text=True, check=True).stdout
        )


def cache_bytes() -> dict:
    sizes = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if (index / "type").read_text().strip() != "Instruction":
            size = (index / "size").read_text().strip()
            sizes[f"l{(index / 'level').read_text().strip()}"] = int(size.rstrip("KM")) << {"K": 10, "M": 20}[size[-1]]
    return sizes


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe_machine(threads: int) -> dict:
    info = dict(
        line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line
    )
    info = {key.strip(): value.strip() for key, value in info.items()}
    wide = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16") if flag in info.get("flags", "").split()]
    return {
        "processor": info.get("model name", platform.machine()),
        "family_model": f"{info.get('cpu family', '?')}/{info.get('model', '?')}",
        "instruction_sets": wide,
        "cores": os.cpu_count(),
        "threads": threads,
        "caches": cache_bytes(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("torch", "onnxruntime", "openvino", "tilewright")},
        "limits": measure_limits(threads),
    }
