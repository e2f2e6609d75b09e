"""The tilewright command: output forms, exit codes of base/error_kinds.def, messages."""

import json
import subprocess

import numpy
import onnx
import onnx.parser
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


def test_run_stores_results_that_numpy_reads(command, graph, tmp_path):
    x, w = (
        numpy.random.default_rng(1).standard_normal((2, 5, 64)).astype("f4").reshape(10, 64),
        numpy.ones((64, 16), "f4"),
    )
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "w.npy", w)
    done = command(
        "run", graph, "--input", f"x={tmp_path}/x.npy", "--input", f"w={tmp_path}/w.npy", "--output", tmp_path
    )
    assert done.returncode == 0, done.stderr
    numpy.testing.assert_allclose(numpy.load(tmp_path / "y.npy"), x @ w, rtol=1e-4, atol=1e-4)


def test_run_names_the_symbol_whose_size_is_missing(command, graph):
    done = command("run", graph)
    assert done.returncode == 2
    assert "the size 'B' of input 'x', f32[B, 64], is not known" in done.stderr


def test_run_names_the_axis_that_contradicts(command, graph):
    done = command("run", graph, "--input", "x=3x65")
    assert done.returncode == 3
    assert "65" in done.stderr and "64" in done.stderr


def test_bench_times_each_new_shape(command, graph):
    done = command("bench", graph, "--json", "--size", "B=1..40", "--shapes", 3, "--seconds", 0.01)
    rows = json.loads(done.stdout)["shapes"]
    assert [sorted(row) for row in rows] == 3 * [["calls", "first_us", "low_us", "median_us", "sizes"]]


def test_inspect_shows_what_the_passes_make_of_a_graph(command, graph):
    report = json.loads(command("inspect", "--json", "--optimised", graph).stdout)
    assert report["passes"]
    assert "return y" in report["optimised"]


def test_inspect_shows_the_bytecode_of_a_size(command, graph):
    done = command("inspect", "--bytecode", "--size", "B=3", graph)
    assert done.returncode == 0, done.stderr
    assert "matmul" in done.stdout


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff", b"not an array"])
def test_a_damaged_array_is_an_error_with_its_name(command, graph, tmp_path, damage):
    (tmp_path / "x.npy").write_bytes(damage)
    done = command("run", graph, "--size", "B=3", "--input", f"x={tmp_path}/x.npy")
    assert done.returncode == 7
    assert "x.npy" in done.stderr


ONNX = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B, 4] x) => (float[B, 4] y) { y = Relu(x) }"""


@pytest.fixture
def onnx_model(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(ONNX), path)
    return path


def test_verify_an_onnx_model(command, onnx_model):
    done = command("verify", onnx_model)
    assert done.returncode == 0, done.stderr
    assert "an ONNX model of 1 nodes" in done.stdout


def test_verify_names_a_declared_result_that_is_wrong(command, onnx_model):
    onnx.save(onnx.parser.parse_model(ONNX.replace("float[B, 4] y", "float[B, 9] y")), onnx_model)
    done = command("verify", onnx_model)
    assert done.returncode == 3  # shape mismatch
    assert "output 'y', axis 1: declared 9, the graph gives 4" in done.stderr


def test_export_to_onnx(command, graph, tmp_path):
    target = tmp_path / "out.onnx"
    done = command("export", graph, "-o", target, "--opset", 17)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{target}: opset 17, 1 nodes")
    model = onnx.load(target)
    onnx.checker.check_model(model, full_check=True)
    assert [value.name for value in model.graph.input] == ["x", "w"]
    report = json.loads(command("export", "--json", target, "-o", tmp_path / "again.onnx").stdout)
    assert (report["opset"], report["operators"], report["notes"]) == (20, {"MatMul": 1}, [])


def test_export_names_the_opset_that_is_needed(command, graph, tmp_path):
    graph.write_text("x: i32[B]\nz: i32[B]\ny = bit_and(x, z)\nreturn y\n")
    done = command("export", graph, "-o", tmp_path / "out.onnx", "--opset", 17)
    assert done.returncode == 8  # unsupported
    assert "'y' = bit_and (opset 17): needs the ONNX operator BitwiseAnd" in done.stderr
    assert "--opset" in command("export", "--help").stdout
