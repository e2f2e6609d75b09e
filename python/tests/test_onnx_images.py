"""Convolutions, pools, norms over channels and resizes of ONNX with every size free, compared with onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tilewright

RNG = np.random.default_rng(7)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def build(
    node: onnx.NodeProto, inputs: dict[str, tuple], opset: int, weights: dict[str, np.ndarray]
) -> onnx.ModelProto:
    """A model of one node; inputs are (element type, shape), a letter being a free size."""
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in node.output if name],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(built)


def compare(built: onnx.ModelProto, calls: list[dict[str, np.ndarray]], tolerance: float = 1e-4) -> None:
    session = tilewright.load(built)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference = onnxruntime.InferenceSession(built.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for feeds in calls:
        for mine, wanted in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
            np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


IMAGE = {"x": (TensorProto.FLOAT, ["N", "C", "H", "W"])}
SHAPES = [(1, 4, 7, 9), (2, 4, 12, 5), (3, 4, 6, 6)]


def on_images(
    op: str, opset: int = 18, weights=None, outputs=("y",), shapes=SHAPES, tolerance=1e-4, **attributes
) -> None:
    weights = weights or {}
    node = helper.make_node(op, ["x", *weights], list(outputs), **attributes)
    weights = {name: value for name, value in weights.items() if name}
    compare(build(node, IMAGE, opset, weights), [{"x": array(*shape)} for shape in shapes], tolerance)


@pytest.mark.parametrize(
    "attributes",
    [
        {"pads": [1, 2, 0, 1], "strides": [2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 3]},
        {"auto_pad": "SAME_LOWER", "strides": [3, 2]},
        {"auto_pad": "VALID", "dilations": [2, 1]},
    ],
)
def test_conv_at_free_sizes(attributes):
    on_images("Conv", weights={"w": array(6, 2, 3, 2), "b": array(6)}, group=2, **attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        {"pads": [1, 0, 1, 1], "strides": [2, 3], "output_padding": [1, 2]},
        {"strides": [2, 2], "dilations": [1, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [3, 2]},
    ],
)
def test_conv_transpose_at_free_sizes(attributes):
    on_images("ConvTranspose", weights={"w": array(4, 3, 3, 4), "b": array(6)}, group=2, **attributes)


def test_conv_transpose_with_a_given_size():
    weights = {"w": array(4, 3, 3, 4), "b": array(6)}
    shapes = [(2, 4, 7, 9), (1, 4, 7, 9)]
    on_images("ConvTranspose", weights=weights, group=2, strides=[2, 2], output_shape=[14, 18], shapes=shapes)


@pytest.mark.parametrize("ceil_mode", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 1, 1]])
def test_pools_at_free_sizes(ceil_mode, pads):
    attributes = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": pads, "ceil_mode": ceil_mode}
    on_images("MaxPool", outputs=("y", "i"), **attributes)
    on_images("MaxPool", dilations=[2, 1], storage_order=1, outputs=("y", "i"), **attributes)
    on_images("LpPool", p=3, **attributes)
    for count in (0, 1):
        on_images("AveragePool", opset=19, count_include_pad=count, **attributes)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_global_pools_at_free_sizes(op):
    on_images(op)


def test_norms_at_free_sizes():
    scale, bias, mean, var = array(4), array(4), array(4), np.abs(array(4)) + 1
    on_images("BatchNormalization", weights={"s": scale, "b": bias, "m": mean, "v": var})
    on_images("InstanceNormalization", weights={"s": scale, "b": bias})
    on_images("GroupNormalization", opset=21, weights={"s": scale, "b": bias}, num_groups=2)
    on_images("LRN", size=3, alpha=0.01, beta=0.6, bias=1.5)
    on_images("LpNormalization", axis=1, p=1)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"])
def test_resize_at_free_sizes(mode, coordinates):
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    for scales in ([1, 1, 2, 2], [1, 1, 1.5, 3]):
        on_images(
            "Resize",
            weights={"": None, "s": np.float32(scales)},
            shapes=[(1, 2, 4, 6), (2, 1, 2, 8), (1, 3, 8, 2)],
            tolerance=1e-3,
            **attributes,
        )
    node = helper.make_node("Resize", ["x", "", "", "to"], ["y"], **attributes)
    built = build(node, IMAGE | {"to": (TensorProto.INT64, [4])}, 18, {})
    calls = [
        {"x": array(*shape), "to": np.int64([*shape[:2], *to])}
        for shape, to in (((1, 2, 4, 6), (7, 3)), ((2, 1, 5, 5), (5, 11)), ((1, 1, 3, 9), (1, 1)))
    ]
    compare(built, calls, 1e-3)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_antialias_at_free_sizes(mode):
    weights = {"": None, "s": np.float32([1, 1, 0.5, 0.4])}
    shapes = [(1, 2, 8, 10), (1, 1, 12, 5)]
    on_images("Resize", weights=weights, mode=mode, antialias=1, shapes=shapes, tolerance=1e-3)
