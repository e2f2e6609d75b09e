"""The checks of tools/ pass, and each of them is able to fail."""

import shutil
import subprocess
import sys

import pytest


def run_check(root, name):
    return subprocess.run([sys.executable, str(root / "tools" / f"check_{name}.py")], capture_output=True, text=True)


@pytest.mark.parametrize("name", ["layers", "sizes", "docs", pytest.param("stack", marks=pytest.mark.slow)])
def test_check_passes(root, build, name):
    done = run_check(root, name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def copy(root, tmp_path):
    """A copy of what the checks read, as a repository of its own."""
    for folder in ("tilewright", "tools"):
        shutil.copytree(root / folder, tmp_path / folder)
    shutil.copy(root / "CMakeLists.txt", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_an_include_against_the_arrows_is_found(copy):
    (copy / "tilewright/base/check.cc").write_text('#include "tilewright/graph/graph.h"\n')
    done = run_check(copy, "layers")
    assert done.returncode == 1
    assert "tilewright/base/check.cc: base may not include tilewright/graph/graph.h" in done.stdout


def test_a_long_file_is_found(copy):
    (copy / "tilewright/base/long.cc").write_text("// line\n" * 501)
    done = run_check(copy, "sizes")
    assert done.returncode == 1
    assert "tilewright/base/long.cc: 501 lines, the limit is 500" in done.stdout
