"""One ONNX model at several shapes, against onnxruntime without its optimiser: smallest first, in random order, from one
session and from a fresh one for each."""

import random

import numpy as np
import onnx
import onnxruntime
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
