"""Operators of ONNX that sample, order, reduce or combine by labels, with every size free, compared with onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import tilewright

RNG = np.random.default_rng(11)
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def compare(op, calls, outputs=1, opset=20, constants=(), reference="onnxruntime", tolerance=1e-4, **attributes):
    """Each call is a list of inputs; those whose positions are in `constants` come from the first call. All sizes of
    the others are symbols, but for lists of integers that are always as long."""
    names = [f"i{number}" for number in range(len(calls[0]))]
    free = [number for number in range(len(names)) if number not in constants and calls[0][number] is not None]
    inputs = []
    for i in free:
        is_list = calls[0][i].dtype == np.int64 and len({call[i].shape for call in calls}) == 1
        shape = calls[0][i].shape if is_list else [f"{names[i]}_{axis}" for axis in range(calls[0][i].ndim)]
        inputs.append(helper.make_tensor_value_info(names[i], KINDS[calls[0][i].dtype], shape))
    used = [name if calls[0][i] is not None else "" for i, name in enumerate(names)]
    results = [f"o{number}" for number in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, used, results, **attributes)],
        "g",
        inputs,
        [helper.make_empty_tensor_value_info(name) for name in results],
        [onnx.numpy_helper.from_array(calls[0][i], names[i]) for i in constants],
    )
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    session = tilewright.load(built)
    if reference == "onnxruntime":
        oracle = onnxruntime.InferenceSession(
            onnx.shape_inference.infer_shapes(built).SerializeToString(), providers=["CPUExecutionProvider"]
        )
    else:
        oracle = ReferenceEvaluator(built)
    for call in calls:
        feeds = {names[i]: call[i] for i in free}
        for mine, wanted in zip(session.run(None, feeds), oracle.run(None, feeds), strict=True):
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
            np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij,bjk->bik", [[(2, 3, 4), (2, 4, 5)], [(1, 1, 7), (1, 7, 2)]]),
        ("ij->ji", [[(3, 4)], [(1, 5)]]),
        ("ii->i", [[(4, 4)], [(1, 1)]]),
        ("...ij,...jk", [[(2, 3, 4), (2, 4, 5)], [(4, 2, 2), (4, 2, 3)]]),
        ("abc,cd,db->a", [[(2, 3, 4), (4, 5), (5, 3)], [(1, 2, 2), (2, 1), (1, 2)]]),
        ("i,j->ij", [[(3,), (4,)], [(1,), (2,)]]),
        ("bhqd,bhkd->bhqk", [[(2, 3, 4, 5), (2, 3, 6, 5)], [(1, 1, 1, 8), (1, 1, 3, 8)]]),
    ],
)
def test_einsum_at_free_sizes(equation, shapes):
    compare("Einsum", [[array(*shape) for shape in call] for call in shapes], equation=equation)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample_at_free_sizes(mode, padding, align):
    calls = [
        [array(2, 3, 5, 7), RNG.uniform(-1.4, 1.4, (2, 4, 3, 2)).astype(np.float32)],
        [array(1, 1, 6, 4), RNG.uniform(-1.4, 1.4, (1, 2, 9, 2)).astype(np.float32)],
    ]
    compare("GridSample", calls, mode=mode, padding_mode=padding, align_corners=align, tolerance=1e-3)


def boxes_and_scores(batch: int, classes: int, count: int) -> list[np.ndarray]:
    corners = RNG.uniform(0, 1, (batch, count, 2))
    boxes = np.concatenate([corners, corners + RNG.uniform(0.1, 0.5, (batch, count, 2))], axis=2)
    return [boxes.astype(np.float32), RNG.uniform(0, 1, (batch, classes, count)).astype(np.float32)]


@pytest.mark.parametrize("center", [0, 1])
def test_non_max_suppression_at_free_sizes(center):
    limits = [np.int64([4]), np.float32([0.3]), np.float32([0.2])]
    calls = [[*boxes_and_scores(*sizes), *limits] for sizes in ((1, 1, 6), (2, 3, 20), (1, 2, 1))]
    compare("NonMaxSuppression", calls, opset=11, constants=(2, 3, 4), center_point_box=center)


def regions(count: int, height: int, width: int, batch: int) -> list[np.ndarray]:
    first = RNG.uniform(0, 0.5, (count, 2)) * (width, height)
    last = first + RNG.uniform(0.2, 0.5, (count, 2)) * (width, height)
    return [np.concatenate([first, last], 1).astype(np.float32), RNG.integers(0, batch, count)]


@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
def test_roi_align_at_free_sizes(ratio, mode, coordinates):
    calls = [
        [array(2, 3, 12, 10), *regions(4, 12, 10, 2)],
        [array(1, 1, 7, 20), *regions(1, 7, 20, 1)],
    ]
    attributes = {"output_height": 3, "output_width": 2, "sampling_ratio": ratio, "mode": mode}
    compare("RoiAlign", calls, opset=16, coordinate_transformation_mode=coordinates, **attributes)


def test_max_roi_pool_at_free_sizes():
    def call(batch, channels, height, width, count):
        boxes, rows = regions(count, height, width, batch)
        return [array(batch, channels, height, width), np.concatenate([rows[:, None], boxes], 1).astype(np.float32)]

    calls = [call(2, 3, 12, 10, 4), call(1, 1, 7, 20, 1)]
    compare("MaxRoiPool", calls, pooled_shape=[3, 2], spatial_scale=0.9)


def test_deform_conv_at_free_sizes():
    weight = array(4, 2, 3, 3)
    calls = [
        [array(n, 4, h, w), weight, array(n, 36, h, w), array(4), array(n, 18, h, w)]
        for n, h, w in ((1, 5, 6), (2, 4, 4))
    ]
    for call in calls:
        call[3] = calls[0][3]
    attributes = {"group": 2, "offset_group": 2, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    compare("DeformConv", calls, opset=19, constants=(1, 3), reference="onnx", **attributes)


def test_affine_grid_at_free_sizes():
    calls = [[array(2, 2, 3), np.int64([2, 1, 4, 5])], [array(1, 2, 3), np.int64([1, 3, 2, 7])]]
    compare("AffineGrid", calls[:1], constants=(1,))
    compare("AffineGrid", calls[1:], constants=(1,), align_corners=1)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_over_axes_that_the_call_gives(op, keepdims):
    calls = [
        [array(*shape), np.int64(axes)]
        for shape, axes in (((2, 3, 4), [0, 2]), ((5, 1, 3), [1, -1]), ((2, 2, 2), [1, 0]))
    ]
    compare(op, calls, keepdims=keepdims)


def test_running_sums_over_an_axis_that_the_call_gives():
    compare("CumSum", [[array(3, 4), np.array(axis)] for axis in (0, 1, -1)], reverse=1)


@pytest.mark.parametrize("sorts", [0, 1])
def test_unique_at_free_sizes(sorts):
    calls = [[RNG.integers(0, 3, shape).astype(np.float32)] for shape in ((3, 4), (1, 1), (9, 2))]
    compare("Unique", calls, outputs=4, sorted=sorts)
    compare("Unique", calls, outputs=4, sorted=sorts, axis=0)
    compare("Unique", calls, outputs=4, sorted=sorts, axis=1)


def test_top_k_at_free_sizes():
    calls = [[array(*shape), np.int64([k])] for shape, k in (((3, 8), 3), ((1, 5), 5), ((4, 9), 1))]
    compare("TopK", calls, outputs=2)
    compare("TopK", calls, outputs=2, largest=0)
    compare("TopK", [[x, np.int64([1])] for x, _ in calls], outputs=2, axis=0)


def test_det_at_free_sizes():
    compare("Det", [[array(2, 4, 4)], [array(3, 1, 1)], [array(1, 6, 6)]])


def test_reverse_sequence_at_free_sizes():
    calls = [[array(5, 3), np.int64([1, 5, 2])], [array(2, 1), np.int64([2])]]
    compare("ReverseSequence", calls, time_axis=0, batch_axis=1)
    compare("ReverseSequence", [[x.T.copy(), lengths] for x, lengths in calls], time_axis=1, batch_axis=0)


def test_center_crop_pad_at_free_sizes():
    calls = [[array(*shape), np.int64(to)] for shape, to in (((5, 8), (8, 5)), ((3, 3), (3, 4)), ((9, 2), (4, 7)))]
    compare("CenterCropPad", calls)


def test_col2im_at_free_sizes():
    calls = [[array(n, 2 * 6, 12), np.int64([5, 5]), np.int64([2, 3])] for n in (1, 3)]
    compare("Col2Im", calls, constants=(1, 2))


def test_random_numbers_follow_their_distribution():
    def drawn(op, **attributes):
        graph = helper.make_graph(
            [helper.make_node(op, ["x"], ["y"], **attributes)],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["a", "b"])],
            [helper.make_empty_tensor_value_info("y")],
        )
        built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        return tilewright.load(built)

    normal = drawn("RandomNormalLike", mean=2.0, scale=0.5, seed=1.0).run({"x": np.zeros((100, 200), np.float32)})["y"]
    assert abs(normal.mean() - 2) < 0.02 and abs(normal.std() - 0.5) < 0.02
    uniform = drawn("RandomUniformLike", low=-1.0, high=3.0).run({"x": np.zeros((100, 100), np.float32)})["y"]
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    coins = drawn("Bernoulli").run({"x": np.full((100, 100), 0.3, np.float32)})["y"]
    assert set(np.unique(coins)) == {0, 1} and abs(coins.mean() - 0.3) < 0.03
    odds = np.log(np.float32([[0.5, 0.2, 0.3], [0.1, 0.9, 1e-9]]))
    classes = drawn("Multinomial", sample_size=4000).run({"x": odds})["y"]
    assert classes.dtype == np.int32 and classes.shape == (2, 4000)
    for row, wanted in zip(classes, np.exp(odds), strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=3) / 4000, wanted, atol=0.04)
