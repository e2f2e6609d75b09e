"""The two stages of shape checks of ONNX models: contradictions that are certain are errors when a model is loaded, and
name the node; what only a call can tell is an error of the call, and names input, axis, expectation and what came."""

import numpy as np
import onnx
import pytest

import tilewright

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def load(text: str) -> tilewright.Session:
    return tilewright.load(onnx.parser.parse_model(HEAD + text))


def zeros(*sizes: int) -> np.ndarray:
    return np.zeros(sizes, np.float32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "g (float[B, 4] x, float[5, 3] w) => (float[B, 3] y) { y = MatMul(x, w) }",
            r"node 'y' \(MatMul\): matmul: inner dimensions differ: f32\[B, 4\] x f32\[5, 3\]",
        ),
        (
            "g (float[B, 4] x, float[B, 5] w) => (float[B, 9] y) { y = Add(x, w) }",
            r"node 'y' \(Add\): .*do not broadcast: f32\[B, 4\] x f32\[B, 5\]",
        ),
        (
            "g (float[B, 4] x, float[B, 2, 2] w) => (float[B, 8] y) { y = Concat<axis = 1>(x, w) }",
            r"node 'y' \(Concat\): .*shapes differ",
        ),
    ],
)
def test_certain_contradictions_are_named_at_import(text, message):
    with pytest.raises(ValueError, match=message):
        load(text)


@pytest.mark.parametrize(
    ("text", "feeds", "message"),
    [
        (  # an input against another one with the same name of a size
            "g (float[B, 4] x, float[B, C] w) => (float[B, D] y) { y = Add(x, w) }",
            {"x": zeros(2, 4), "w": zeros(3, 4)},
            r"input 'w', axis 0: expected B = 2, got 3",
        ),
        (  # a number of the model
            "g (float[B, 4] x) => (float[B, 4] y) { y = Relu(x) }",
            {"x": zeros(2, 5)},
            r"input 'x', axis 1: expected 4, got 5",
        ),
        (  # an expression of other sizes
            'g (float[past, 4] x, float["past + seq", 4] w, float[seq, 4] z) => (float[past, 4] y) { y = Relu(x) }',
            {"x": zeros(2, 4), "w": zeros(4, 4), "z": zeros(1, 4)},
            r"input 'w', axis 0: expected past \+ seq = 3, got 4",
        ),
        (  # sizes with different names, which a node makes meet
            "g (float[A, 4] x, float[B, 4] w) => (float[A, 8] y) { y = Concat<axis = 1>(x, w) }",
            {"x": zeros(2, 4), "w": zeros(3, 4)},
            r"'y': sizes do not fit: B = 3, expected A = 2 \(B is axis 0 of input 'w', A is axis 0 of input 'x'\)",
        ),
        (
            "g (float[B, 4] x, float[B, C] w) => (float[B, D] y) { y = Add(x, w) }",
            {"x": zeros(2, 4), "w": zeros(2, 3)},
            r"'y': sizes do not fit: C = 3, expected 1 or 4 \(C is axis 1 of input 'w'\)",
        ),
    ],
)
def test_a_call_names_what_does_not_fit(text, feeds, message):
    session = load(text)
    with pytest.raises(ValueError, match=message):
        session.run(None, feeds)


def test_a_call_after_a_wrong_one_is_right():
    session = load("g (float[B, 4] x, float[B, C] w) => (float[B, D] y) { y = Add(x, w) }")
    with pytest.raises(ValueError, match="sizes do not fit"):
        session.run(None, {"x": zeros(2, 4), "w": zeros(2, 3)})
    assert session.run(None, {"x": zeros(2, 4), "w": zeros(2, 1)})[0].shape == (2, 4)


def test_a_declared_result_that_is_wrong_is_lenient_in_a_session():
    session = load("g (float[B, 4] x) => (float[B, 9] y) { y = Relu(x) }")
    assert session.run(None, {"x": zeros(2, 4)})[0].shape == (2, 4)


def test_the_pads_of_torch_are_known_when_the_model_is_loaded():
    """torch exports pads as arithmetic: zeros behind them, in pairs from the last axis, turned around."""
    model = onnx.parser.parse_model(
        HEAD
        + """g (float[B, C, N] x) => (float[B, C, M] y) {
            last = Constant<value_ints = [2, 3]>()
            rest = Constant<value_ints = [4]>()
            zeros = ConstantOfShape<value: tensor = int64[1] {0}>(rest)
            all = Concat<axis = 0>(last, zeros)
            two = Constant<value_ints = [-1, 2]>()
            pairs = Reshape(all, two)
            zero = Constant<value_ints = [0]>()
            minus = Constant<value_ints = [-1]>()
            lowest = Constant<value_ints = [-9223372036854775807]>()
            turned = Slice(pairs, minus, lowest, zero, minus)
            ends = Transpose<perm = [1, 0]>(turned)
            flat = Reshape(ends, minus)
            pads = Cast<to = 7>(flat)
            y = Pad<mode = "reflect">(x, pads)
        }"""
    )
    session = tilewright.load(model)
    x = np.random.default_rng(1).standard_normal((2, 3, 6), np.float32)
    session.run(None, {"x": x})
    launches = tilewright.stats()["launches"]
    session.run(None, {"x": x})
    assert tilewright.stats()["launches"] == launches + 1  # nothing is read before the pad
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.pad(x, ((0, 0), (0, 0), (2, 3)), "reflect"))


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([0], [2], [1], [1]),
        ([1, 0], [3, 3], [0, 1], [1, 2]),
        ([-1], [-99], [-1], [-2]),
        ([5], [9], [0], [1]),
        ([0], [9223372036854775807], [1], [9223372036854775807]),
    ],
)
def test_slices_of_known_numbers(starts, ends, axes, steps):
    parts = ", ".join(
        f"{name} = Constant<value_ints = {values}>()"
        for name, values in (("a", starts), ("b", ends), ("c", axes), ("d", steps))
    ).replace("), ", ")\n")
    model = onnx.parser.parse_model(
        HEAD
        + f"""g (float[B] x) => (int64[M, N] y, float[B] z) {{
            n = Constant<value: tensor = int64[3, 4] {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}>()
            {parts}
            s = Slice(n, a, b, c, d)
            y = Transpose(s)
            z = Neg(x)
        }}"""
    )
    wanted = np.arange(12).reshape(3, 4)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index = [slice(None)] * 2
        index[axis] = slice(start, end if end != -99 else None, step)
        wanted = wanted[tuple(index)]
    got = tilewright.load(model).run(None, {"x": np.zeros(2, np.float32)})[0]
    np.testing.assert_array_equal(got, wanted.T)
