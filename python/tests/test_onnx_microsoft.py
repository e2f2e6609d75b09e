"""Operators of com.microsoft that optimisers and quantisers write: against onnxruntime, and against their definition where
its CPU has no kernel."""

import math

import numpy as np
import pytest
from onnx_models import MICROSOFT, check_node, one_node

import tilewright

RNG = np.random.default_rng(11)


def f32(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def integers(dtype, *shape):
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype=dtype)


def run_node(op_type, *inputs, domain=MICROSOFT, **attributes):
    names = [(f"i{number}", array) for number, array in enumerate(inputs)]
    model = one_node(op_type, names, ["y"], domain=domain, **attributes)
    return tilewright.load(model).run(None, dict(names))[0]


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def erf_gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_dynamic_quantize_lstm(direction, dtype):
    inputs, hidden, directions = 5, 4, 2 if direction == "bidirectional" else 1
    zero = 128 if dtype == np.uint8 else 0
    fixed = {
        "w": integers(dtype, directions, inputs, 4 * hidden),
        "r": integers(dtype, directions, hidden, 4 * hidden),
        "b": f32(directions, 8 * hidden),
        "ws": np.full(directions, 0.01, np.float32),
        "wz": np.full(directions, zero, dtype),
        "rs": np.full(directions, 0.008, np.float32),
        "rz": np.full(directions, zero, dtype),
    }
    slots = ["x", "w", "r", "b", "lengths", "h", "c", "p", "ws", "wz", "rs", "rz"]
    calls = []
    for steps, batch in [(1, 1), (7, 3), (2, 5), (3, 1)]:
        x = np.clip(f32(steps, batch, inputs), -1, 1)
        calls.append([(name, x if name == "x" else fixed.get(name)) for name in slots])
    check_node(
        "DynamicQuantizeLSTM", *calls, outputs=("y", "yh", "yc"), tolerance=2e-3, domain=MICROSOFT,
        constants=tuple(fixed), direction=direction, hidden_size=hidden,
    )  # fmt: skip


POOLS = [((1, 3, 8, 8), 0), ((2, 4, 9, 7), 0), ((1, 8, 8, 3), 1), ((2, 9, 7, 4), 1)]
PARAMETERS = [("xs", scalar(0.05)), ("xz", scalar(120, np.uint8)), ("ys", scalar(0.03)), ("yz", scalar(100, np.uint8))]
NAMES = tuple(name for name, _ in PARAMETERS)


@pytest.mark.parametrize(("shape", "last"), POOLS)
@pytest.mark.parametrize("count_include_pad", [0, 1])
def test_qlinear_average_pool(shape, last, count_include_pad):
    calls = [[("x", integers(np.uint8, *s)), *PARAMETERS] for s in (shape, (3, *shape[1:]))]
    check_node(
        "QLinearAveragePool", *calls, domain=MICROSOFT, steps=1, constants=NAMES, channels_last=last,
        kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=count_include_pad,
    )  # fmt: skip


@pytest.mark.parametrize(("shape", "last"), POOLS)
def test_qlinear_global_average_pool(shape, last):
    calls = [[("x", integers(np.uint8, *s)), *PARAMETERS] for s in (shape, (3, *shape[1:]))]
    check_node("QLinearGlobalAveragePool", *calls, domain=MICROSOFT, steps=1, constants=NAMES, channels_last=last)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_transpose_matmul(a, b):
    calls = []
    for m, k, n in [(1, 3, 2), (4, 3, 5), (2, 7, 1)]:
        calls.append([("a", f32(2, k, m) if a else f32(2, m, k)), ("b", f32(2, n, k) if b else f32(2, k, n))])
    check_node("TransposeMatMul", *calls, domain=MICROSOFT, transA=a, transB=b, alpha=0.5)


def test_qlinear_reduce_mean():
    x = integers(np.uint8, 3, 7)
    got = run_node("QLinearReduceMean", x, *(array for _, array in PARAMETERS), axes=[1], keepdims=0)
    mean = ((x.astype(np.float32) - 120) * np.float32(0.05)).mean(axis=1)
    wanted = np.clip(np.rint(mean / np.float32(0.03)) + 100, 0, 255)
    assert got.dtype == np.uint8 and np.abs(got.astype(int) - wanted.astype(int)).max() <= 1


def test_bias_add():
    x, bias, skip = f32(2, 6, 8), f32(8), f32(2, 6, 8)
    np.testing.assert_allclose(run_node("BiasAdd", x, bias, skip), x + bias + skip, rtol=1e-6)


def test_bias_softmax():
    x, bias = f32(2, 3, 4, 6), f32(2, 1, 1, 6)
    sums = np.exp(x + bias)
    got = run_node("BiasSoftmax", x, bias, axis=3, is_inner_broadcast=0)
    np.testing.assert_allclose(got, sums / sums.sum(-1, keepdims=True), rtol=1e-5)


def test_bias_split_gelu():
    x, bias = f32(2, 3, 8), f32(8)
    left, right = np.split(x + bias, 2, axis=-1)
    np.testing.assert_allclose(run_node("BiasSplitGelu", x, bias), left * erf_gelu(right), rtol=1e-4, atol=1e-6)


def test_fused_matmul_activation():
    a, b = f32(3, 4), f32(5, 4)
    got = run_node("FusedMatMulActivation", a, b, transB=1, alpha=2.0, activation="Relu")
    np.testing.assert_allclose(got, np.maximum(2 * a @ b.T, 0), rtol=1e-5, atol=1e-6)


def test_gemm_fast_gelu():
    x, w, bias = f32(3, 4), f32(4, 5), f32(5)
    got = run_node("GemmFastGelu", x, w, bias)
    np.testing.assert_allclose(got, tanh_gelu(x @ w + bias), rtol=1e-4, atol=1e-6)


def test_nhwc_conv_is_conv_with_channels_behind():
    x, w, bias = f32(2, 6, 5, 3), f32(4, 3, 3, 3), f32(4)
    got = run_node("NhwcConv", x, w, bias, pads=[1, 1, 1, 1])
    plain = run_node("Conv", np.moveaxis(x, 3, 1), w, bias, domain="", pads=[1, 1, 1, 1])
    np.testing.assert_allclose(got, np.moveaxis(plain, 1, 3), rtol=1e-5, atol=1e-6)
