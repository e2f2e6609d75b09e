"""ONNX models whose structure depends on values or sizes of a call: one session, imported again for each way."""

import threading

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

import tilewright

RNG = np.random.default_rng(5)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def row(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def parsed(text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]>\n{text}')


def node_model(op: str, inputs: dict[str, tuple[int, list]], **attributes) -> onnx.ModelProto:
    """One node; a result without a declared rank."""
    node = helper.make_node(op, list(inputs), ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, *info) for name, info in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def check(session: tilewright.session.Session, built: onnx.ModelProto, calls: list[dict[str, np.ndarray]]) -> None:
    """Every call twice, in both orders, against onnxruntime."""
    reference = onnxruntime.InferenceSession(built.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in [*calls, *reversed(calls)]:
        for got, expected in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


F32, I64 = TensorProto.FLOAT, TensorProto.INT64
X = {"x": (F32, ["A", "B", "C"])}
X4 = {"x": (F32, ["A", "B", "C", "D"])}
CASES = {
    "squeeze": ("Squeeze", X4 | {"v": (I64, ["n"])}, [(array(1, 3, 1, 2), v) for v in (row(0), row(2), row(-4, 2))]),
    "unsqueeze": ("Unsqueeze", X | {"v": (I64, ["n"])}, [(array(2, 3, 4), v) for v in (row(0), row(1, 3), row(-1))]),
    "reduce": ("ReduceSum", X | {"v": (I64, ["n"])}, [(array(2, 3, 4), v) for v in (row(0), row(2, 1), row())]),
    "reshape": (
        "Reshape",
        X | {"v": (I64, ["n"])},
        [(array(2, 3, 4), v) for v in (row(24), row(4, -1), row(0, 3, 2, 2))],
    ),
    "expand": (
        "Expand",
        X | {"v": (I64, ["n"])},
        [(array(1, 3, 1), v) for v in (row(4, 1, 5), row(2, 2, 3, 2), row(1))],
    ),
    "tile": (
        "Tile",
        X | {"v": (I64, ["n"])},
        [(array(2, 3, 1), v) for v in (row(1, 2, 3), row(2, 1, 1), row(0, 1, 1))],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_shapes_and_axes_are_inputs_of_the_call(name):
    op, inputs, calls = CASES[name]
    built = node_model(op, inputs)
    check(tilewright.load(built), built, [{"x": x, "v": v} for x, v in calls])


def test_bounds_of_a_slice_are_inputs_of_the_call():
    extra = {name: (I64, ["n"]) for name in ("starts", "ends", "axes", "steps")}
    built = node_model("Slice", X | extra)
    calls = [(row(1), row(9), row(2), row(2)), (row(0, -1), row(2, -9), row(0, 1), row(1, -1))]
    check(tilewright.load(built), built, [{"x": array(3, 4, 5)} | dict(zip(extra, c, strict=True)) for c in calls])


def test_pads_and_their_axes_are_inputs_of_the_call():
    node = helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"])
    built = node_model("Pad", X | {"pads": (I64, ["p"]), "axes": (I64, ["n"])})
    built.graph.node[0].CopyFrom(node)
    calls = [(row(1, 2), row(0)), (row(0, 1, 2, 0), row(2, -2)), (row(3, 0), row(1))]
    check(tilewright.load(built), built, [{"x": array(2, 3, 4), "pads": p, "axes": a} for p, a in calls])


def test_squeeze_without_axes_follows_the_sizes():
    built = node_model("Squeeze", X4)
    shapes = [(1, 2, 3, 4), (2, 1, 1, 5), (1, 1, 1, 1), (2, 3, 4, 5), (0, 1, 2, 1)]
    check(tilewright.load(built), built, [{"x": array(*shape)} for shape in shapes])


BRANCHES = """
g (float[B, 4] x, int64 rate) => (float y)
{
  wanted = Constant<value = int64 {16000}>()
  c = Equal(rate, wanted)
  y = If(c) <then_branch = t () => (float[B, 1, 4] a) { one = Constant<value = int64[1] {1}>() a = Unsqueeze(x, one) },
             else_branch = e () => (float[B, 4] b) { b = Neg(x) }>
}
"""


def unranked(text: str) -> onnx.ModelProto:
    built = parsed(text)
    for output in built.graph.output:
        output.type.tensor_type.ClearField("shape")
    return built


def test_branches_of_an_if_may_differ_in_rank():
    built = unranked(BRANCHES)
    calls = [{"x": array(n, 4), "rate": np.array(rate)} for n, rate in ((2, 16000), (3, 8000), (1, 16000))]
    check(tilewright.load(built), built, calls)


def test_what_follows_branches_of_other_ranks_runs_on_either():
    built = unranked(
        """
        g (float[B, 4] x) => (float z)
        {
          zero = Constant<value = float {0}>()
          sum = ReduceSum<keepdims = 0>(x)
          c = Greater(sum, zero)
          y = If(c) <then_branch = t () => (float[B, 1, 4] a) { one = Constant<value = int64[1] {1}>() a = Unsqueeze(x, one) },
                     else_branch = e () => (float[B, 4] b) { b = Neg(x) }>
          z = Add(y, x)
        }
        """
    )
    calls = [{"x": np.abs(array(3, 4))}, {"x": -np.abs(array(2, 4))}]
    check(tilewright.load(built), built, calls)


def test_a_computed_shape_of_unknown_length_decides_the_rank():
    built = unranked(
        """
        g (float[N] x, int64[K] s) => (float y)
        {
          two = Constant<value = int64[1] {2}>()
          doubled = Mul(s, two)
          y = Reshape(x, doubled)
        }
        """
    )
    calls = [{"x": array(24), "s": s} for s in (row(12), row(1, 6), row(1, 1, 3))]
    check(tilewright.load(built), built, calls)


def test_declared_results_are_told_before_a_call():
    session = tilewright.load(unranked(BRANCHES))
    assert [(one.name, one.shape) for one in session.get_inputs()] == [("x", ["B", 4]), ("rate", [])]
    (y,) = session.get_outputs()
    assert (y.name, y.shape, y.type) == ("y", [], "tensor(float)")


@pytest.mark.parametrize("axes", [row(7), row(1, 1), row(-9)])
def test_a_bad_value_names_the_input_and_leaves_the_session_usable(axes):
    built = node_model("Unsqueeze", X | {"axes": (I64, ["n"])})
    session = tilewright.load(built)
    with pytest.raises((ValueError, IndexError), match=r"where input 'axes' is \[.*axis"):
        session.run({"x": array(2, 3, 4), "axes": axes})
    assert session.run({"x": array(2, 3, 4), "axes": row(0)})["y"].shape == (1, 2, 3, 4)


def test_a_value_of_the_wrong_type_names_the_input():
    session = tilewright.load(node_model("Unsqueeze", X | {"axes": (I64, ["n"])}))
    with pytest.raises(ValueError, match=r"input 'axes': expected i64\[n\], got f32\[1\]"):
        session.run({"x": array(2, 3, 4), "axes": array(1)})


def test_too_many_elements_to_decide_a_structure():
    session = tilewright.load(node_model("ReduceSum", X | {"axes": (I64, ["n"])}))
    with pytest.raises(NotImplementedError, match=r"input 'axes' has 5000 elements.*at most 4096"):
        session.run({"x": array(2, 3, 4), "axes": np.zeros(5000, np.int64)})


def test_more_values_than_are_kept_still_run():
    session = tilewright.load(node_model("Reshape", {"x": (F32, ["N"]), "v": (I64, ["n"])}))
    for trip in range(2):
        for n in range(1, 80):
            got = session.run({"x": np.arange(n, dtype=np.float32) + trip, "v": row(1, n)})["y"]
            assert got.tolist() == [[i + trip for i in range(n)]]


def test_weights_are_packed_once_for_all_ways():
    weight = array(64, 48)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Unsqueeze", ["m", "axes"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", F32, ["B", 64]), helper.make_tensor_value_info("axes", I64, ["n"])],
        [helper.make_tensor_value_info("y", F32, None)],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    session = tilewright.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))
    before = tilewright._core.counters()["weights_packed"]
    for axis in (0, 1, 2, -1):
        x = array(5, 64)
        got = session.run({"x": x, "axes": row(axis)})["y"]
        np.testing.assert_allclose(got, np.expand_dims(x @ weight, axis), rtol=1e-4, atol=1e-4)
    assert tilewright._core.counters()["weights_packed"] - before == 1


def test_threads_with_other_values_do_not_disturb_each_other():
    session = tilewright.load(node_model("ReduceSum", X | {"axes": (I64, ["n"])}, keepdims=0))
    x = array(3, 4, 5)
    wrong = []

    def work(axis: int) -> None:
        for trip in range(30):
            at = (axis + trip) % 3
            got = session.run({"x": x, "axes": row(at)})["y"]
            if got.shape != x.sum(at).shape or not np.allclose(got, x.sum(at), atol=1e-4):
                wrong.append((axis, trip))

    threads = [threading.Thread(target=work, args=(axis,)) for axis in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_model_with_more_than_one_graph_is_stored_with_the_weights_of_now(tmp_path):
    """Its external data comes along."""
    weight = array(16, 24)
    text = """g (float[A, 16] x, int64[n] axes, float[16, 24] w) => (y) { p = MatMul(x, w)  y = Unsqueeze(p, axes) }"""
    built = parsed(text)
    del built.graph.input[2]
    built.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    path = tmp_path / "external.onnx"
    onnx.save(built, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    session = tilewright.load(path)
    x, axes = array(3, 16), row(0)
    assert session.weight_names() == ["w"]
    np.testing.assert_array_equal(session.weight("w"), weight)
    before = session.run(None, {"x": x, "axes": axes})[0]
    np.testing.assert_allclose(before, (x @ weight)[None], rtol=1e-5, atol=1e-5)
    session.set_weights({"w": 2 * weight})
    np.testing.assert_allclose(session.run(None, {"x": x, "axes": axes})[0], 2 * before, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"weight 'w': expected f32\[16, 24\], got f32\[2\]"):
        session.set_weights({"w": array(2)})
    stored = tmp_path / "elsewhere"
    stored.mkdir()
    session.save(stored / "model.onnx")
    again = tilewright.load(stored / "model.onnx")
    np.testing.assert_allclose(
        again.run(None, {"x": x, "axes": row(1)})[0], 2 * before[0][:, None], rtol=1e-5, atol=1e-5
    )
