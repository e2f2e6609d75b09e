"""Strings, sequences and optionals at the border of an ONNX model, and random numbers from call to call."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser
from onnx_calls import check, floats, parsed

import tilewright


def strings(*texts: str) -> np.ndarray:
    return np.array(texts, object)


def test_texts_of_a_call_meet_texts_of_the_model():
    """A word that the call brings and one of the model are equal if their texts are."""
    model = parsed(
        """g (string[N] x) => (joined, hit, kept) {
          s = Constant<value_string = "!">()
          joined = StringConcat(x, s)
          w = Constant<value_string = "b!">()
          hit = Equal(joined, w)
          kept = StringNormalizer<case_change_action = "UPPER", is_case_sensitive = 1, stopwords = ["b"]>(x)
        }""",
        20,
    )
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    session = tilewright.load(model)
    for texts in (["a", "b", "long text"], ["b"], ["é", "b", "b", ""]):
        joined, hit, kept = session.run(None, {"x": strings(*texts)})
        assert joined.tolist() == [text + "!" for text in texts]
        assert hit.tolist() == [text == "b" for text in texts]
        assert kept.tolist() == ([text.upper() for text in texts if text != "b"] or [""])


def test_strings_are_stored_with_the_model(tmp_path):
    model = parsed(
        """g (string[N] x) => (y) { y = StringConcat(x, x) }""",
        20,
    )
    tilewright.save(tilewright.load(model), str(tmp_path / "model.tilewright"))
    again = tilewright.load(tmp_path / "model.tilewright")
    assert again.run({"x": strings("ab", "c")})["y"].tolist() == ["abab", "cc"]


def test_casts_between_strings_and_numbers():
    model = parsed(
        """g (string[N] x, float[N] r) => (y, i, s) { y = Cast<to = 1>(x) i = Cast<to = 7>(x) s = Cast<to = 8>(r) }"""
    )
    session = tilewright.load(model)
    y, i, s = session.run(None, {"x": strings("3", "-17", "+4"), "r": np.float32([0.5, 1e20, np.inf])})
    assert y.tolist() == [3, -17, 4] and i.tolist() == [3, -17, 4] and y.dtype == np.float32
    assert [np.float32(text) for text in s] == [np.float32(0.5), np.float32(1e20), np.float32(np.inf)]
    with pytest.raises(ValueError, match="'three' is not a number"):
        session.run(None, {"x": strings("three"), "r": np.float32([0])})


SEQUENCES = {
    "items of a sequence are joined": (
        "g (seq(float[A, B]) s) => (y) { y = ConcatFromSequence<axis = 0>(s) }",
        [{"s": [floats(1, 2)]}, {"s": [floats(2, 3), floats(1, 3), floats(4, 3)]}],
    ),
    "a sequence is made and split": (
        """g (float[A, B] x, int64 i) => (s, t, n) {
          s = SplitToSequence<axis = 0, keepdims = 0>(x)
          t = SequenceErase(s, i)
          n = SequenceLength(t)
        }""",
        [{"x": floats(1, 2), "i": np.array(0)}, {"x": floats(3, 4), "i": np.array(-1)}],
    ),
    "a sequence grows in a loop": (
        """g (int64 n, float[A] x) => (y) {
          c = Constant<value = bool {1}>()
          e = SequenceEmpty<dtype = 1>()
          s = Loop(n, c, e) <body = b (int64 i, bool c_in, seq(float[M]) s_in) => (c_out, s_out) {
            c_out = Identity(c_in)
            f = Cast<to = 1>(i)
            r = Add(x, f)
            s_out = SequenceInsert(s_in, r)
          }>
          y = ConcatFromSequence<axis = 0, new_axis = 1>(s)
        }""",
        [{"n": np.array(1), "x": floats(2)}, {"n": np.array(4), "x": floats(3)}],
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str) -> None:
    text, calls = SEQUENCES[name]
    check(parsed(text), calls)


def test_a_sequence_is_described_and_checked():
    session = tilewright.load(parsed(SEQUENCES["items of a sequence are joined"][0]))
    assert session.get_inputs()[0].type == "seq(tensor(float))"
    with pytest.raises(TypeError, match="input 's' is a sequence: expected a list of arrays, got ndarray"):
        session.run({"s": floats(2, 2)})
    with pytest.raises(TypeError, match="input 's': expected f32, got f64"):
        session.run({"s": [np.zeros((1, 1))]})
    with pytest.raises(ValueError, match="input 's': expected 2 axes, got 1"):
        session.run({"s": [floats(3)]})


def test_an_optional_input_may_be_left_out():
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (optional(float[N]) o) => (h, y) {
          h = OptionalHasElement(o)
          y = If(h) <then_branch = t () => (a) { a = OptionalGetElement(o) },
                     else_branch = e () => (b) { b = Constant<value_floats = [7.0]>() }>
        }"""
    )
    session = tilewright.load(model)
    assert session.run(None, {"o": None})[1].tolist() == [7.0]
    assert session.run(None, {})[1].tolist() == [7.0]
    assert session.run(None, {"o": np.float32([1, 2])})[1].tolist() == [1.0, 2.0]
    assert session.get_inputs()[0].type == "optional(tensor(float))"


def test_an_input_without_a_rank_takes_any():
    x = onnx.ValueInfoProto(name="x", type=helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [onnx.ValueInfoProto(name="y")])
    session = tilewright.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
    for shape in ((), (3,), (2, 1, 4), (0, 2)):
        value = np.ones(shape, np.float32)
        np.testing.assert_array_equal(session.run({"x": value})["y"], -value)


def random_model(op: str, **attributes) -> onnx.ModelProto:
    node = helper.make_node(op, [], ["y"], shape=[64], **attributes)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform"])
def test_random_numbers_differ_from_call_to_call(op: str) -> None:
    session = tilewright.load(random_model(op))
    drawn = [session.run(None, {})[0].tobytes() for _ in range(4)]
    assert len({*drawn, tilewright.load(random_model(op)).run(None, {})[0].tobytes()}) == 5


def test_a_seed_gives_the_same_stream_in_every_session(tmp_path) -> None:
    model = random_model("RandomNormal", seed=3.0)
    one, other = tilewright.load(model), tilewright.load(model)
    stream = [one.run(None, {})[0] for _ in range(3)]
    assert len({array.tobytes() for array in stream}) == 3
    tilewright.save(other, str(tmp_path / "random.tilewright"))
    for session in (other, tilewright.load(tmp_path / "random.tilewright")):
        for expected in stream:
            np.testing.assert_array_equal(session.run(None, {})[0], expected)


def test_the_trips_of_a_loop_draw_their_own() -> None:
    model = parsed(
        """g (int64 n) => (y) {
          c = Constant<value = bool {1}>()
          y = Loop(n, c) <body = b (int64 i, bool c_in) => (c_out, r) {
            c_out = Identity(c_in)
            r = RandomUniform<shape = [8]>()
          }>
        }"""
    )
    rows = tilewright.load(model).run(None, {"n": np.array(5)})[0]
    assert len({row.tobytes() for row in rows}) == 5


def test_dropout_in_training_keeps_the_mean() -> None:
    model = parsed("g (float[N] x, float r, bool t) => (y, m) { y, m = Dropout(x, r, t) }")
    session = tilewright.load(model)
    x = np.ones(20000, np.float32)
    y, kept = session.run(None, {"x": x, "r": np.float32(0.75), "t": np.array(True)})
    assert abs(kept.mean() - 0.25) < 0.02
    np.testing.assert_array_equal(y, np.where(kept, np.float32(4), np.float32(0)))
    y, kept = session.run(None, {"x": x, "r": np.float32(0.75), "t": np.array(False)})
    assert kept.all() and (y == x).all()
