"""cmake --install gives a library that an outside CMake project finds, links and runs."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.slow


def call(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    call("cmake", "--build", build, "--target", "tilewright", "tilewright_cli")
    for component in ("library", "tools"):
        call("cmake", "--install", build, "--prefix", folder, "--component", component)
    return folder


@pytest.fixture(scope="module")
def project(root, prefix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    call("cmake", "-S", root / "examples/cmake_project", "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", folder)
    return folder


def test_the_prefix_holds_library_headers_and_command(prefix):
    assert list(prefix.rglob("libtilewright.a"))
    assert (prefix / "include/tilewright/tilewright.h").exists()
    assert call(prefix / "bin/tilewright", "--version").startswith("tilewright 0.")


def test_an_outside_project_runs_a_stored_model_at_any_size(project, root, tmp_path):
    python = os.environ.get("TILEWRIGHT_VENV", str(root / ".venv")) + "/bin/python"
    model = tmp_path / "model.tilewright"
    call(python, root / "examples/cmake_project/save_model.py", model)
    lines = call(project / "run_model", model).splitlines()
    assert len(lines) == 4
    assert all("ok" in line for line in lines)
