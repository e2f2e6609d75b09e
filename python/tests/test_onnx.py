"""ONNX models through tilewright.load, compared with onnxruntime or numpy."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

import tilewright
from tilewright import onnx_backend

MLP = """
<ir_version: 10, opset_import: ["" : 18]>
mlp (float[B, 8] x) => (float[B, 4] y)
{
  h = Relu(x)
  two = Constant<value_float: float = 2.0>()
  d = Mul(h, two)
  s = Shape(d)
  first, second = Split<axis = 1, num_outputs = 2>(d)
  y = Add(first, second)
}
"""


def model(text: str) -> onnx.ModelProto:
    built = parser.parse_model(text)
    onnx.checker.check_model(built)
    return built


def against_onnxruntime(built: onnx.ModelProto, *calls: dict[str, np.ndarray], tolerance: float = 1e-5) -> None:
    """Every call on one session, twice; what an earlier call gave stays as it was."""
    session = tilewright.load(built)
    reference = onnxruntime.InferenceSession(built.SerializeToString(), providers=["CPUExecutionProvider"])
    kept = []
    for feeds in [*calls, *reversed(calls)]:
        expected = reference.run(None, feeds)
        kept.append((session.run(None, feeds), expected))
    for got, expected in kept:
        for mine, wanted in zip(got, expected, strict=True):
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
            np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


def test_a_model_runs_at_every_size():
    against_onnxruntime(model(MLP), *({"x": random(size, 8)} for size in (1, 5, 0, 17)))


@pytest.mark.parametrize("form", ["proto", "bytes", "path"])
def test_a_model_loads_from(form, tmp_path):
    built = model(MLP)
    path = tmp_path / "model.onnx"
    onnx.save(built, path)
    source = {"proto": built, "bytes": built.SerializeToString(), "path": path}[form]
    x = random(3, 8)
    got = tilewright.load(source).run({"x": x})["y"]
    np.testing.assert_allclose(got, 2 * (np.maximum(x, 0)[:, :4] + np.maximum(x, 0)[:, 4:]), rtol=1e-6)


def test_weights_in_external_data_are_found_beside_the_model(tmp_path):
    weight = random(64, 32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", 32])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path = tmp_path / "model.onnx"
    onnx.save(built, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").stat().st_size >= weight.nbytes
    x = random(3, 64)
    np.testing.assert_allclose(tilewright.load(path).run({"x": x})["y"], x @ weight, rtol=1e-4, atol=1e-4)


def test_a_session_takes_the_calls_of_onnxruntime():
    session = tilewright.InferenceSession(model(MLP).SerializeToString(), providers=["CPUExecutionProvider"])
    (x,), (y,) = session.get_inputs(), session.get_outputs()
    assert (x.name, x.shape, x.type) == ("x", ["B", 8], "tensor(float)")
    assert (y.name, y.shape) == ("y", ["B", 4])
    assert session.run(["y"], {"x": random(2, 8)})[0].shape == (2, 4)
    with pytest.raises(ValueError, match=r"unknown outputs: \['z'\]"):
        session.run(["z"], {"x": random(2, 8)})


def test_a_wrong_size_names_the_input_the_axis_and_both_values():
    with pytest.raises(ValueError, match=r"'x'.*8"):
        tilewright.load(model(MLP)).run({"x": random(2, 9)})


def test_sizes_with_a_question_mark_for_a_name_are_independent():
    node = helper.make_node("Neg", ["x"], ["y"])
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["?", "?"])
    graph = helper.make_graph([node], "g", [given], [onnx.ValueInfoProto(name="y")])
    session = tilewright.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    assert session.run(None, {"x": np.ones((2, 3), np.float32)})[0].shape == (2, 3)


def test_a_loop_that_grows_a_value_and_stacks_rows():
    text = """
    <ir_version: 10, opset_import: ["" : 18]>
    g (int64 n, float[K] x) => (float[N] grown, float[M, K] rows)
    {
      yes = Constant<value = bool {1}>()
      start = Constant<value = float[1] {1}>()
      grown, rows = Loop(n, yes, start) <body = b (int64 i, bool go, float[P] v) => (bool still, float[Q] w, float[K] row)
      {
        still = Identity(go)
        one = Constant<value = float[1] {3}>()
        w = Concat<axis = 0>(v, one)
        f = Cast<to = 1>(i)
        row = Add(x, f)
      }>
    }
    """
    built = parser.parse_model(text)
    calls = [{"n": np.array(count), "x": random(k)} for count, k in ((3, 4), (2, 2), (1, 1))]
    against_onnxruntime(built, *calls)
    none = tilewright.load(built).run({"n": np.array(0), "x": random(2)})
    assert none["grown"].tolist() == [1] and none["rows"].shape == (0, 2)


def test_branches_of_an_if_may_differ_in_size():
    text = """
    <ir_version: 10, opset_import: ["" : 18]>
    g (bool[1] c, float[B] x) => (float[N] y)
    {
      y = If(c) <then_branch = t () => (float[N] a) { a = Concat<axis = 0>(x, x) },
                 else_branch = e () => (float[N] b) { b = Neg(x) }>
    }
    """
    calls = [{"c": np.array([flag]), "x": random(size)} for flag, size in ((True, 3), (False, 5), (True, 0))]
    against_onnxruntime(parser.parse_model(text), *calls)


def test_backend_runs_a_node():
    node = helper.make_node("Add", ["a", "b"], ["c"])
    (c,) = onnx_backend.run_node(node, [np.float32([1, 2]), np.float32([3])])
    assert c.tolist() == [4, 5]


def test_a_slice_of_a_padded_value_with_pads_and_end_from_inputs():
    text = """
    <ir_version: 10, opset_import: ["" : 18]>
    g (float[N] x, int64[2] pads, int64[1] end) => (float[M] y)
    {
      padded = Pad(x, pads)
      zero = Constant<value = int64[1] {0}>()
      y = Slice(padded, zero, end)
    }
    """
    calls = [
        {"x": random(size), "pads": np.array(pads), "end": np.array([end])}
        for size, pads, end in ((5, [1, 2], 4), (3, [0, 0], -1), (1, [2, 1], 99))
    ]
    against_onnxruntime(parser.parse_model(text), *calls)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_a_loss_leaves_ignored_targets_out(reduction):
    text = f"""
    <ir_version: 10, opset_import: ["" : 18]>
    g (float[B, 4] x, int64[B] t) => (float[..] loss, float[..] logs)
    {{
      loss, logs = SoftmaxCrossEntropyLoss<reduction = "{reduction}", ignore_index = 1>(x, t)
    }}
    """
    built = parser.parse_model(text.replace("float[..]", "float"))
    for output in built.graph.output:
        output.type.tensor_type.ClearField("shape")
    calls = [{"x": random(size, 4), "t": np.arange(size) % 4} for size in (3, 7, 4)]
    against_onnxruntime(built, *calls)
