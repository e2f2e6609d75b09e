"""The tilewright command: output forms, exit codes of base/error_kinds.def, messages."""

import json
import subprocess

import pytest

GRAPH = """x: f32[B, 64]
w: f32[64, 16]
y = matmul(x, w)
return y
"""


@pytest.fixture
def command(build):
    def run(*arguments):
        return subprocess.run([str(build / "cli/tilewright"), *map(str, arguments)], capture_output=True, text=True)

    return run


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text(GRAPH)
    return path


def test_version_and_help(command):
    assert command("--version").stdout.startswith("tilewright 0.")
    assert "inspect" in command("--help").stdout
    assert "--json" in command("inspect", "--help").stdout


def test_inspect_prints_the_graph_again(command, graph, tmp_path):
    done = command("inspect", graph)
    assert done.returncode == 0, done.stderr
    again = tmp_path / "again.txt"
    again.write_text(done.stdout)
    assert command("inspect", again).stdout == done.stdout


def test_inspect_as_json(command, graph):
    report = json.loads(command("inspect", "--json", graph).stdout)
    assert report["inputs"][0] == {"name": "x", "type": "f32[B, 64]"}
    assert report["ops"] == {"matmul": 1}


def test_verify_accepts_a_good_graph(command, graph):
    done = command("verify", graph)
    assert (done.returncode, done.stderr) == (0, "")


def test_verify_names_node_and_shapes(command, graph):
    graph.write_text(GRAPH.replace("f32[64, 16]", "f32[32, 16]"))
    done = command("verify", graph)
    assert done.returncode == 3  # shape mismatch
    assert "'y' = matmul" in done.stderr
    assert "inner dimensions differ" in done.stderr


def test_an_error_as_json_has_the_exit_code(command, tmp_path):
    done = command("verify", "--json", tmp_path / "none")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == error["exit_code"] == 9  # not found


def test_a_damaged_program_file_is_an_error(command, tmp_path):
    path = tmp_path / "program"
    path.write_bytes(bytes(range(256)) * 4)
    assert command("verify", path).returncode == 7  # damaged file


def test_wrong_usage_has_the_exit_code_of_a_wrong_argument(command):
    assert command("inspect").returncode == 2
    assert command("fly").returncode == 2
