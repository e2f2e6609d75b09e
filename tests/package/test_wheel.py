"""The wheel works in a virtual environment that has never seen the checkout."""

import os
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from test_linkage import ALLOWED, needed_libraries

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    """Built in place, so that the compiler cache knows every file from ./dev build."""
    out = tmp_path_factory.mktemp("wheel")
    environment = os.environ | {"CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1"}
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(out), str(root)]
    done = subprocess.run([*command, "-Cbuild-dir=build-wheel"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return next(out.glob("tilewright-*.whl"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel; numpy and torch are read from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin/python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "-q", str(wheel)]
    subprocess.run(command, check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def run(environment, tmp_path, *command):
    return subprocess.run(
        [str(environment / "bin" / command[0]), *command[1:]], cwd=tmp_path, capture_output=True, text=True
    )


def test_it_holds_types_stubs_command_and_licence(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("tilewright/py.typed", "tilewright/_core.pyi", "scripts/tilewright", "entry_points.txt", "LICENSE"):
        assert any(name.endswith(wanted) for name in names), f"{wanted} is not in {names}"
    assert not [name for name in names if name.endswith((".a", ".cc", ".h", "_test.py"))]


def test_its_libraries_are_the_systems(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    shared = list(tmp_path.rglob("*.so"))
    assert shared
    for path in shared:
        assert not [name for name in needed_libraries(path) if not ALLOWED.fullmatch(name)]


def test_the_command_runs(environment, tmp_path):
    done = run(environment, tmp_path, "tilewright", "--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tilewright 0.")


def test_torch_finds_the_backend(environment, tmp_path):
    program = """
import tilewright, torch
f = torch.compile(lambda x, y: torch.relu(x + y), backend="tilewright", dynamic=True)
for n in (3, 5, 8):
    x, y = torch.randn(n, 4), torch.randn(n, 4)
    assert torch.equal(f(x, y), torch.relu(x + y))
print(tilewright.__file__)
"""
    done = run(environment, tmp_path, "python", "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(environment))
