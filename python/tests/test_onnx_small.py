"""Small operators of com.microsoft and ai.onnx.ml against onnxruntime, at sizes that the model does not know."""

import numpy as np
import pytest
from onnx import helper
from onnx_models import MICROSOFT, one_node, reference

import tilewright

RNG = np.random.default_rng(5)
ML = "ai.onnx.ml"


def f32(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def check(op_type, *calls, tolerance=1e-5, **settings):
    built = one_node(op_type, calls[0], ["y"], **settings)
    built.opset_import.append(helper.make_opsetid(ML, 4))
    session = tilewright.load(built)
    for call in calls:
        feeds = {name: array for name, array in call if array is not None and name not in settings.get("constants", ())}
        got, expected = session.run(None, feeds)[0], reference(built, feeds)[0]
        assert got.shape == expected.shape and got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_cdist(metric):
    calls = [[("a", f32(m, 6)), ("b", f32(k, 6))] for m, k in [(3, 4), (1, 1), (17, 5)]]
    check("CDist", *calls, domain=MICROSOFT, metric=metric, tolerance=1e-4)


@pytest.mark.parametrize("axis", [0, -1, 2])
def test_expand_dims(axis):
    check("ExpandDims", *([("x", f32(n, 3)), ("a", np.array(axis, np.int32))] for n in (1, 5)), domain=MICROSOFT, constants=("a",))  # fmt: skip


def test_range_without_a_step():
    calls = [[("a", np.array(2)), ("b", np.array(limit))] for limit in (7, 3, 2, 40)]
    check("Range", *calls, domain=MICROSOFT)


def test_trilu_and_pad():
    check("Trilu", *([("x", f32(2, n, 5))] for n in (1, 5, 8)), domain=MICROSOFT, upper=0)
    pads = np.array([0, 1, 2, 0])
    calls = [[("x", f32(n, 5)), ("p", pads)] for n in (1, 5)]
    check("Pad", *calls, domain=MICROSOFT, mode="constant", constants=("p",))


def test_label_encoder():
    calls = [[("x", RNG.integers(0, 6, (n, 3)))] for n in (4, 1, 9)]
    check("LabelEncoder", *calls, domain=ML, keys_int64s=[1, 3, 4], values_floats=[0.5, 1.5, 2.5], default_float=-7.0)
    x = [[("x", np.array([1.0, np.nan, 2.0, 5.0], np.float32))]]
    check("LabelEncoder", *x, domain=ML, keys_floats=[2.0, float("nan")], values_int64s=[10, 20], default_int64=-1)


def test_columns_are_scaled_filled_and_picked():
    calls = [[("x", f32(n, 3))] for n in (4, 1, 9)]
    check("Scaler", *calls, domain=ML, offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 4.0])
    check("Imputer", *calls, domain=ML, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))
    check("Binarizer", *calls, domain=ML, threshold=0.25)
    check("ArrayFeatureExtractor", *([*call, ("i", np.array([2, 0]))] for call in calls), domain=ML)
    check("LinearRegressor", *calls, domain=ML, coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], intercepts=[1.0, 2.0], targets=2)  # fmt: skip
