"""cmake --install gives a library that an outside CMake project finds, links and runs."""

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


def test_an_outside_project_runs_a_stored_model_at_any_size(project, prefix, root, tmp_path):
    model = tmp_path / "model.tilewright"
    graph = root / "examples/cmake_project/block.txt"
    call(prefix / "bin/tilewright", "export", graph, "--output", model, "--random")
    lines = call(project / "run_model", model).splitlines()
    assert [line.endswith("ok") for line in lines] == 4 * [True], lines
    assert "n: [ 3 17 64 ]" in lines[1]


def test_a_file_that_is_no_model_is_an_error_with_its_name(project, root):
    done = subprocess.run([project / "run_model", root / "README.md"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "README.md" in done.stderr
