"""Branches and loops of ONNX in odd forms, each at several shapes in random order, smallest first, from a fresh session
each and from one for all of them, against onnxruntime without its optimiser."""

import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

import tilewright

RNG = np.random.default_rng(17)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def parsed(text: str, opset: int = 18) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')


def reference(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def compare(got, expected) -> None:
    if isinstance(expected, list):
        assert isinstance(got, list) and len(got) == len(expected)
        for mine, wanted in zip(got, expected, strict=True):
            compare(mine, wanted)
        return
    if expected is None:
        assert got is None
        return
    assert got.dtype == expected.dtype and got.shape == expected.shape, (got.shape, expected.shape)
    if expected.dtype.kind in "OU":
        assert got.tolist() == expected.tolist()
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def check(model: onnx.ModelProto, calls: list[dict]) -> None:
    """`calls` stand smallest first."""
    theirs = reference(model)
    expected = [theirs.run(None, feeds) for feeds in calls]
    session = tilewright.load(model)
    order = list(range(len(calls)))
    shuffled = random.Random(3).sample(order * 2, 2 * len(order))
    for place in [*order, *shuffled]:
        compare(session.run(None, calls[place]), expected[place])
    for place in order:
        compare(tilewright.load(model).run(None, calls[place]), expected[place])


CONTROL = {
    # The inner condition is over a size that exists only inside of the branch taken.
    "a nested branch asks for a size of its own branch": (
        """
        g (float[A, B] x, bool c) => (y) {
          y = If(c) <
            then_branch = t () => (t_y) {
              places = NonZero(x)
              shape = Shape(places)
              one = Constant<value_int = 1>()
              count = Gather(shape, one)
              four = Constant<value_int = 4>()
              many = Greater(count, four)
              row = Transpose<perm = [1, 0]>(places)
              t_y = If(many) <
                then_branch = tt () => (tt_y) { tt_y = Cast<to = 1>(row) },
                else_branch = te () => (te_y) { rf = Cast<to = 1>(row)  te_y = ReduceSum<keepdims = 0>(rf) }
              >
            },
            else_branch = e () => (e_y) { e_y = ReduceMax<keepdims = 0>(x) }
          >
        }""",
        [
            {"x": floats(1, 1), "c": np.array(True)},
            {"x": floats(1, 1), "c": np.array(False)},
            {"x": floats(3, 4), "c": np.array(True)},
            {"x": floats(2, 2), "c": np.array(True)},
            {"x": floats(5, 7), "c": np.array(False)},
        ],
    ),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str) -> None:
    text, calls = CONTROL[name]
    check(parsed(text), calls)
