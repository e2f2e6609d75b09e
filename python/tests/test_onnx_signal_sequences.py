"""Fourier transforms, sequences and relatives of attention, at sizes that the model does not know."""

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator
from onnx_models import MICROSOFT, check_node, one_node

import tilewright

RNG = np.random.default_rng(3)


def f32(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def against_reference(op_type, *calls, outputs=("y",), tolerance=1e-4, **settings):
    built = one_node(op_type, calls[0], list(outputs), **settings)
    session, reference = tilewright.load(built), ReferenceEvaluator(built)
    constants = settings.get("constants", ())
    for call in calls:
        feeds = {name: array for name, array in call if array is not None and name not in constants}
        for mine, wanted in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            assert mine.shape == wanted.shape and mine.dtype == wanted.dtype
            np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("attributes", [{}, {"inverse": 1}, {"onesided": 1}])
def test_dft(parts, attributes):
    if parts == 2 and "onesided" in attributes:
        pytest.skip("half a spectrum is of real signals")
    calls = [[("x", np.concatenate([f32(2, length, 3, 1)] * parts, -1))] for length in (5, 8, 1, 33)]
    built = [
        one_node("DFT", [("x", call[0][1][:, :, :, :]), ("l", None), ("a", np.array(1))], ["y"], constants=("a",), **attributes)
        for call in calls[:1]
    ]  # fmt: skip
    session = tilewright.load(fixed_last(built[0], parts))
    for ((_, x),) in calls:
        signal = x[..., 0] if parts == 1 else x[..., 0] + 1j * x[..., 1]
        wanted = np.fft.ifft(signal, axis=1) if attributes.get("inverse") else np.fft.fft(signal, axis=1)
        if attributes.get("onesided"):
            wanted = wanted[:, : x.shape[1] // 2 + 1]
        got = session.run(None, {"x": x})[0]
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], wanted, rtol=1e-4, atol=1e-4)


def fixed_last(built: onnx.ModelProto, parts: int) -> onnx.ModelProto:
    """Whether a signal is complex is part of the model."""
    built.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = parts
    return built


def test_stft():
    window = np.hanning(16).astype(np.float32)
    inputs = [("x", f32(2, 64, 1)), ("s", np.array(4)), ("w", window), ("l", np.array(16))]
    session = tilewright.load(fixed_last(one_node("STFT", inputs, ["y"], constants=("s", "w", "l")), 1))
    for length in (64, 16, 131):
        x = f32(3, length, 1)
        frames = np.stack([x[:, at : at + 16, 0] * window for at in range(0, length - 15, 4)], 1)
        wanted = np.fft.rfft(frames, axis=-1)
        got = session.run(None, {"x": x})[0]
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention(rule):
    calls = []
    for batch, length in [(2, 5), (1, 1), (3, 17)]:
        key = f32(batch, length, 8) / 3
        decay = -np.abs(f32(batch, length, 2)) if "gated" in rule else None
        beta = np.abs(f32(batch, length, 2)) / 2 if "delta" in rule else None
        rows = [("q", f32(batch, length, 16)), ("k", key), ("v", f32(batch, length, 6))]
        calls.append([*rows, ("p", f32(batch, 2, 4, 3)), ("d", decay), ("b", beta)])
    settings = {"update_rule": rule, "q_num_heads": 4, "kv_num_heads": 2, "model_opset": 27, "outputs": ("y", "s")}
    against_reference("LinearAttention", *calls, **settings)


def test_causal_conv_with_state():
    weight, bias = f32(4, 1, 3), f32(4)
    calls = [
        [("x", f32(b, 4, n)), ("w", weight), ("c", bias), ("p", f32(b, 4, 2))] for b, n in [(2, 5), (1, 1), (3, 9)]
    ]
    settings = {"constants": ("w", "c"), "activation": "silu", "model_opset": 27, "outputs": ("y", "s")}
    against_reference("CausalConvWithState", *calls, **settings)


@pytest.mark.parametrize("op", ["FusedConv", "NhwcFusedConv"])
def test_fused_conv(op):
    if op == "NhwcFusedConv":
        pytest.skip("onnxruntime has it for f16 only")
    calls = [[("x", f32(n, 3, h, 9)), ("w", f32(4, 3, 3, 3)), ("b", f32(4))] for n, h in [(1, 8), (2, 5)]]
    weights = calls[0][1:]
    calls = [[call[0], *weights] for call in calls]
    settings = {"activation": "LeakyRelu", "activation_params": [0.2], "pads": [1, 1, 1, 1], "constants": ("w", "b")}
    check_node(op, *calls, domain=MICROSOFT, tolerance=1e-4, **settings)


def test_fused_gemm():
    calls = [[("a", f32(m, 8)), ("b", f32(5, 8)), ("c", f32(5))] for m in (3, 1, 17)]
    check_node("FusedGemm", *calls, domain=MICROSOFT, transB=1, activation="Relu", tolerance=1e-4)


def test_qlinear_conv_and_conv_integer():
    weight = RNG.integers(-128, 127, (4, 3, 3, 3), dtype=np.int8)
    scales, bias = np.abs(f32(4)) / 50, RNG.integers(-500, 500, 4, dtype=np.int32)
    f, u8 = np.float32, np.uint8
    calls, plain = [], []
    for n, h in [(1, 8), (2, 5), (1, 3)]:
        x = RNG.integers(0, 255, (n, 3, h, 9), dtype=u8)
        inputs = [("x", x), ("xs", np.array(0.02, f)), ("xz", np.array(120, u8)), ("w", weight), ("ws", scales)]
        zeros = ("wz", np.zeros(4, np.int8))
        calls.append([*inputs, zeros, ("ys", np.array(0.5, f)), ("yz", np.array(99, u8)), ("b", bias)])
        plain.append([("x", x), ("w", weight.view(u8)), ("xz", np.array(120, u8)), ("wz", np.array(7, u8))])
    constants = ("xs", "xz", "w", "ws", "wz", "ys", "yz", "b")
    check_node("QLinearConv", *calls, steps=1, pads=[1, 1, 1, 1], constants=constants)
    check_node("ConvInteger", *plain, pads=[1, 1, 1, 1], constants=("w", "wz"))


SEQUENCES = """
<ir_version: 10, opset_import: ["" : 21]>
m (float[N, 6] x) => (float[N, 6] y, float[3, N, 2] z, int64 n)
{
  two = Constant<value_int: int = 2>()
  one = Constant<value_int: int = 1>()
  parts = SplitToSequence<axis = 1>(x, two)
  last = SequenceAt(parts, two)
  fewer = SequenceErase(parts, two)
  moved = SequenceInsert(fewer, last, one)
  doubled = SequenceMap<body = each (float[N, 2] a) => (float[N, 2] b) { b = Add(a, a) }>(moved)
  y = ConcatFromSequence<axis = 1>(doubled)
  z = ConcatFromSequence<axis = 0, new_axis = 1>(moved)
  n = SequenceLength(moved)
}
"""


def test_sequences_leave_no_trace():
    session = tilewright.load(parser.parse_model(SEQUENCES))
    for rows in (3, 1, 0, 9):
        x = f32(rows, 6)
        y, z, n = session.run(None, {"x": x})
        moved = [x[:, :2], x[:, 4:], x[:, 2:4]]
        np.testing.assert_array_equal(y, 2 * np.concatenate(moved, 1))
        np.testing.assert_array_equal(z, np.stack(moved))
        assert n == 3
