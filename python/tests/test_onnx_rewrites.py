"""What the optimiser makes of quantised and normalised products, with each rewrite and without it: onnxruntime's answers."""

import numpy as np
import onnx
import pytest
from onnx_models import reference

import tilewright

QDQ = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B, 8, N] x) => (float[B, 6, N] y, float[B, M, K] z) {
    qx = QuantizeLinear(x, sx, zx)
    dx = DequantizeLinear(qx, sx, zx)
    dw = DequantizeLinear<axis = 0>(w, sw)
    c = Conv<pads = [1, 1]>(dx, dw, bias)
    r = Relu(c)
    qr = QuantizeLinear(r, sr, zr)
    y = DequantizeLinear(qr, sr, zr)
    t = Transpose<perm = [0, 2, 1]>(y)
    qt = QuantizeLinear(t, sr, zr)
    dt = DequantizeLinear(qt, sr, zr)
    dm = DequantizeLinear<axis = 1>(m, sm)
    p = MatMul(dt, dm)
    qp = QuantizeLinear(p, sp, zp)
    z = DequantizeLinear(qp, sp, zp)
}"""


@pytest.mark.parametrize("skipped", ["", "quantized_products", "prepare_weights", "quantized_products,prepare_weights"])
def test_products_of_dequantised_bytes(monkeypatch, skipped):
    monkeypatch.setenv("TILEWRIGHT_SKIP", skipped)
    random = np.random.default_rng(3)
    model = onnx.parser.parse_model(QDQ)
    steps = {"sx": 0.02, "sr": 0.05, "sp": 0.11}
    weights = {
        "zx": np.uint8(131),
        "zr": np.uint8(0),
        "zp": np.int8(-7),
        "w": random.integers(-127, 128, (6, 8, 3)).astype(np.int8),
        "sw": random.uniform(0.005, 0.02, 6).astype(np.float32),
        "bias": random.standard_normal(6).astype(np.float32),
        "m": random.integers(-127, 128, (6, 40)).astype(np.int8),
        "sm": random.uniform(0.005, 0.02, 40).astype(np.float32),
    } | {name: np.float32(value) for name, value in steps.items()}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    session = tilewright.load(model)
    for rows, length in ((2, 9), (1, 1), (3, 33)):
        x = random.standard_normal((rows, 8, length)).astype(np.float32)
        for mine, theirs, step in zip(
            session.run(None, {"x": x}), reference(model, {"x": x}), (steps["sr"], steps["sp"]), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, atol=1.01 * step)
            assert (np.abs(mine - theirs) > 0.01 * step).mean() < 0.02


@pytest.mark.parametrize("skipped", ["", "scale_convolutions"])
def test_a_batch_norm_behind_a_convolution(monkeypatch, skipped):
    monkeypatch.setenv("TILEWRIGHT_SKIP", skipped)
    random = np.random.default_rng(4)
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[B, 5, H, W] x) => (float[B, 300, H, W] y) {
            c = Conv<pads = [1, 1, 1, 1]>(x, w, bias)
            n = BatchNormalization(c, scale, shift, mean, variance)
            y = Relu(n)
        }"""
    )
    weights = {"w": random.standard_normal((300, 5, 3, 3))}
    weights |= {name: random.uniform(0.5, 2, 300) for name in ("bias", "scale", "shift", "mean", "variance")}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items())
    session = tilewright.load(model)
    for sizes in ((1, 5, 4, 4), (2, 5, 1, 9)):
        x = random.standard_normal(sizes).astype(np.float32)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], reference(model, {"x": x})[0], rtol=1e-4, atol=1e-4)
