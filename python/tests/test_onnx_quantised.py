"""Quantised operators of ONNX and com.microsoft against onnxruntime, at sizes that the model does not know."""

import numpy as np
import pytest
from onnx_models import MICROSOFT, check_node

RNG = np.random.default_rng(7)
SHAPES = [(3, 8), (1, 8), (17, 8), (2, 8)]


def f32(*shape):
    return RNG.standard_normal(shape, dtype=np.float32) * 3


def integers(dtype, *shape):
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantize_linear(dtype, axis):
    shape = (6, 8)
    size = () if axis is None else (shape[axis],)
    scale = np.abs(f32(*size)) / 20 + np.float32(0.01)
    zero = integers(dtype, *size) // 4
    calls = [[("x", f32(*s)), ("s", scale), ("z", zero)] for s in (shape, shape)]
    check_node("QuantizeLinear", *calls, constants=("s", "z"), axis=axis or 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_dequantize_linear(dtype):
    calls = [[("x", integers(dtype, *s)), ("s", scalar(0.03)), ("z", scalar(3, dtype))] for s in SHAPES]
    check_node("DequantizeLinear", *calls)


def test_dequantize_linear_of_i32_sums():
    calls = [[("x", integers(np.int32, *s) // 1000), ("s", np.abs(f32(8)))] for s in SHAPES]
    check_node("DequantizeLinear", *calls, axis=1)


def test_quantize_and_dequantize_linear_in_blocks():
    x, scale = f32(4, 32), np.abs(f32(4, 2)) + np.float32(0.1)
    zero = integers(np.int8, 4, 2) // 4
    check_node("QuantizeLinear", [("x", x), ("s", scale), ("z", zero)], axis=1, block_size=16, symbolic=False)
    q = integers(np.int8, 4, 32)
    check_node("DequantizeLinear", [("x", q), ("s", scale), ("z", zero)], axis=1, block_size=16, symbolic=False)


def test_dynamic_quantize_linear():
    calls = [[("x", f32(*s))] for s in SHAPES] + [[("x", np.zeros((2, 3), np.float32))]]
    check_node("DynamicQuantizeLinear", *calls, outputs=("y", "s", "z"))


@pytest.mark.parametrize("a_type", [np.uint8, np.int8])
@pytest.mark.parametrize("b_type", [np.uint8, np.int8])
def test_matmul_integer(a_type, b_type):
    if a_type == np.int8:
        pytest.skip("onnxruntime has no product with i8 on the left")
    b = integers(b_type, 8, 5)
    calls = [
        [("a", integers(a_type, *s)), ("b", b), ("az", scalar(9, a_type)), ("bz", scalar(2, b_type))] for s in SHAPES
    ]
    check_node("MatMulInteger", *calls, constants=("b", "bz"))
    check_node("MatMulInteger", *([x[:2] for x in calls]), constants=("b",))


def test_matmul_integer_with_a_zero_point_for_each_column():
    b, zero = integers(np.int8, 8, 5), integers(np.int8, 5) // 4
    calls = [[("a", integers(np.uint8, 2, *s)), ("b", b), ("az", scalar(9, np.uint8)), ("bz", zero)] for s in SHAPES]
    check_node("MatMulInteger", *calls, constants=("b", "bz"))


def test_qlinear_matmul():
    parameters = [("bs", scalar(0.02)), ("bz", scalar(-3, np.int8)), ("ys", scalar(0.7)), ("yz", scalar(128, np.uint8))]
    b = integers(np.int8, 8, 5)
    calls = [
        [("a", integers(np.uint8, *s)), ("as", scalar(0.05)), ("az", scalar(120, np.uint8)), ("b", b), *parameters]
        for s in SHAPES
    ]
    check_node("QLinearMatMul", *calls, steps=1)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_qlinear_binary(op):
    def side(name, shape, zero):
        return [(name, integers(np.uint8, *shape)), (f"{name}s", scalar(0.04)), (f"{name}z", scalar(zero, np.uint8))]

    last = [("cs", scalar(0.1)), ("cz", scalar(100, np.uint8))]
    check_node(op, *([*side("a", s, 110), *side("b", (8,), 130), *last] for s in SHAPES), domain=MICROSOFT, steps=1)


@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"])
def test_qlinear_unary(op):
    output = [("ys", scalar(0.004)), ("yz", scalar(0, np.uint8))]
    attributes = {"QLinearSoftmax": {"axis": -1, "opset": 13}, "QLinearLeakyRelu": {"alpha": 0.1}}.get(op, {})
    if op == "QLinearLeakyRelu":
        output[0] = ("ys", scalar(0.05))
    calls = [
        [("x", integers(np.uint8, *s)), ("xs", scalar(0.05)), ("xz", scalar(120, np.uint8)), *output] for s in SHAPES
    ]
    constants = ("xs", "xz", "ys", "yz")
    check_node(op, *calls, domain=MICROSOFT, steps=1, constants=constants, **attributes)


def test_qlinear_concat():
    calls = []
    for rows, columns in SHAPES:
        parts = [("a", integers(np.uint8, rows, 2)), ("as", scalar(0.05)), ("az", scalar(120, np.uint8))]
        more = [("b", integers(np.uint8, rows, columns)), ("bs", scalar(0.03)), ("bz", scalar(3, np.uint8))]
        calls.append([("ys", scalar(0.06)), ("yz", scalar(100, np.uint8)), *parts, *more])
    constants = ("ys", "yz", "as", "az", "bs", "bz")
    check_node("QLinearConcat", *calls, domain=MICROSOFT, axis=1, steps=1, constants=constants)


def test_qlinear_where():
    def side(name, shape, zero):
        return [(name, integers(np.uint8, *shape)), (f"{name}s", scalar(0.04)), (f"{name}z", scalar(zero, np.uint8))]

    last = [("zs", scalar(0.1)), ("zz", scalar(100, np.uint8))]
    calls = [[("c", RNG.random(s) > 0.5), *side("a", s, 110), *side("b", s, 130), *last] for s in SHAPES]
    constants = ("as", "az", "bs", "bz", "zs", "zz")
    check_node("QLinearWhere", *calls, domain=MICROSOFT, steps=1, constants=constants)


@pytest.mark.parametrize("with_output_scale", [True, False])
def test_qgemm(with_output_scale):
    last = [("ys", scalar(0.7)), ("yz", scalar(128, np.uint8))] if with_output_scale else []
    b, c = integers(np.int8, 5, 8), integers(np.int32, 5) // 2**20
    calls = [
        [
            ("a", integers(np.uint8, *s)), ("as", scalar(0.05)), ("az", scalar(120, np.uint8)),
            ("b", b), ("bs", np.abs(f32(5)) / 30), ("bz", np.zeros(5, np.int8)), ("c", c), *last,
        ]
        for s in SHAPES
    ]  # fmt: skip
    calls = [[*call[:4], calls[0][4], *call[5:]] for call in calls]
    constants = ("as", "az", "b", "bs", "bz", "c", "ys", "yz")
    check_node("QGemm", *calls, domain=MICROSOFT, transB=1, steps=1, constants=constants)


def test_matmul_integer_to_float():
    b, bs = integers(np.int8, 8, 5), np.abs(f32(5))
    calls = [
        [
            ("a", integers(np.uint8, *s)), ("b", b), ("as", scalar(0.05)), ("bs", bs),
            ("az", scalar(120, np.uint8)), ("bz", np.zeros(5, np.int8)), ("c", f32(5)),
        ]
        for s in SHAPES
    ]  # fmt: skip
    check_node("MatMulIntegerToFloat", *calls, domain=MICROSOFT)


def test_dynamic_quantize_matmul():
    b = integers(np.int8, 8, 5)
    calls = [
        [("a", f32(*s)), ("b", b), ("bs", scalar(0.05)), ("bz", scalar(3, np.int8)), ("c", f32(5))] for s in SHAPES
    ]
    check_node("DynamicQuantizeMatMul", *calls, domain=MICROSOFT, tolerance=1e-4)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_matmul_nbits(bits, zeros):
    n, k, block = 6, 70, 32
    blocks = -(-k // block)
    weight = integers(np.uint8, n, blocks, block * bits // 8)
    points = integers(np.uint8, n * -(-blocks * bits // 8)) if zeros else None
    scales = np.abs(f32(n * blocks)) / 20
    parameters = [("b", weight), ("s", scales), ("z", points)]
    constants = ("b", "s", "z")
    calls = [[("a", f32(*s, k)), *parameters] for s in [(2, 3), (1, 1), (4, 17)]]
    attributes = {"N": n, "K": k, "bits": bits, "block_size": block}
    check_node("MatMulNBits", *calls, domain=MICROSOFT, tolerance=1e-4, constants=constants, **attributes)


@pytest.mark.parametrize("zeros", [False, True])
def test_gather_block_quantized(zeros):
    rows, columns, block = 9, 64, 16
    table = integers(np.uint8, rows, columns // 2)
    scales = np.abs(f32(rows, columns // block))
    points = integers(np.uint8, rows, columns // block // 2) if zeros else None
    parameters = [("s", scales), ("z", points)]
    calls = [[("x", table), ("i", RNG.integers(0, rows, s)), *parameters] for s in [(2, 3), (1, 1), (4, 17)]]
    constants = ("x", "s", "z")
    attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": block, "bits": 4}
    check_node("GatherBlockQuantized", *calls, domain=MICROSOFT, constants=constants, **attributes)
