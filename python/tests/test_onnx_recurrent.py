"""RNN, GRU and LSTM of ONNX with free batch and length, compared with onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tilewright

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
INPUTS, HIDDEN = 5, 6
RNG = np.random.default_rng(3)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32) * np.float32(0.5)


def recurrent_model(op: str, directions: int, extra: tuple[str, ...], **attributes) -> onnx.ModelProto:
    """Weights are constants; `extra` names the optional inputs that are there."""
    width = GATES[op] * HIDDEN
    weights = {"w": array(directions, width, INPUTS), "r": array(directions, width, HIDDEN)}
    if "bias" in extra:
        weights["bias"] = array(directions, 2 * width)
    if "peepholes" in extra:
        weights["peepholes"] = array(directions, 3 * HIDDEN)
    free = {
        "x": (TensorProto.FLOAT, ["T", "B", INPUTS]),
        "lengths": (TensorProto.INT32, ["B"]),
        "h0": (TensorProto.FLOAT, [directions, "B", HIDDEN]),
        "c0": (TensorProto.FLOAT, [directions, "B", HIDDEN]),
    }
    slots = ["x", "w", "r", "bias", "lengths", "h0", *(["c0", "peepholes"] if op == "LSTM" else [])]
    names = [name if name in ("x", "w", "r") or name in extra else "" for name in slots]
    outputs = ["y", "yh", "yc"][: 3 if op == "LSTM" else 2]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, hidden_size=HIDDEN, **attributes)],
        "g",
        [helper.make_tensor_value_info(name, *free[name]) for name in free if name == "x" or name in extra],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * (4 if name == "y" else 3))
            for name in outputs
        ],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)


def compare(built: onnx.ModelProto, directions: int) -> None:
    session = tilewright.load(built)
    reference = onnxruntime.InferenceSession(built.SerializeToString(), providers=["CPUExecutionProvider"])
    for steps, batch in ((1, 1), (7, 3), (3, 1), (12, 2)):
        feeds = {"x": array(steps, batch, INPUTS)}
        feeds["lengths"] = RNG.integers(1, steps + 1, batch).astype(np.int32)
        feeds["h0"] = array(directions, batch, HIDDEN)
        feeds["c0"] = array(directions, batch, HIDDEN)
        feeds = {name: feeds[name] for name, _, _ in session.inputs}
        for mine, wanted in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            assert mine.shape == wanted.shape
            np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("extra", [(), ("bias", "h0", "c0"), ("bias", "lengths", "h0")])
def test_recurrent_nodes_at_any_length(op, direction, extra):
    if op != "LSTM":
        extra = tuple(name for name in extra if name != "c0")
    directions = 2 if direction == "bidirectional" else 1
    compare(recurrent_model(op, directions, extra, direction=direction), directions)


def test_gru_that_resets_after_the_product():
    compare(recurrent_model("GRU", 2, ("bias", "h0"), direction="bidirectional", linear_before_reset=1), 2)


def test_lstm_with_peepholes_and_clip():
    compare(recurrent_model("LSTM", 1, ("bias", "peepholes"), clip=0.4), 1)


@pytest.mark.parametrize(
    "name",
    ["Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"],
)
def test_activations_by_name(name):
    parameters = {"activation_alpha": [0.3], "activation_beta": [0.7]}
    compare(recurrent_model("RNN", 1, ("bias",), activations=[name], **parameters), 1)
