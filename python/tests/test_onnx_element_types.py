"""ONNX element types that the graph has no dtype for: arithmetic against numpy, casts against ml_dtypes, strings."""

import ml_dtypes
import numpy
import pytest
from onnx import TensorProto, helper

import tilewright

UNSIGNED = [numpy.uint16, numpy.uint32, numpy.uint64]
FLOATS = {
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
}


def session(nodes, inputs, outputs, initializers=(), opset=21):
    """`inputs` are (name, element type, dims); outputs are (name, element type)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, element, dims) for name, element, dims in inputs],
        [helper.make_tensor_value_info(name, element, None) for name, element in outputs],
        list(initializers),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return tilewright.load(model)


def binary(op, dtype, result=None, **attributes):
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    return session(
        [helper.make_node(op, ["a", "b"], ["y"], **attributes)],
        [("a", element, ["n", 1]), ("b", element, ["m"])],
        [("y", result or element)],
    )


def edges(dtype):
    top = int(numpy.iinfo(dtype).max)
    half = top // 2
    return numpy.array([0, 1, 2, 3, 7, 1000, half - 1, half, half + 1, half + 2, top - 1, top], dtype)


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Add", numpy.add),
        ("Sub", numpy.subtract),
        ("Mul", numpy.multiply),
        ("Div", lambda a, b: a // b),
        ("Mod", numpy.mod),
        ("Max", numpy.maximum),
        ("Min", numpy.minimum),
        ("BitwiseAnd", numpy.bitwise_and),
        ("BitwiseXor", numpy.bitwise_xor),
    ],
)
def test_unsigned_arithmetic(dtype, op, expected):
    a, b = edges(dtype)[:, None], edges(dtype)
    if op in ("Div", "Mod"):
        b = b[1:]
    got = binary(op, dtype).run({"a": a, "b": b})["y"]
    assert got.dtype == dtype
    with numpy.errstate(over="ignore"):
        numpy.testing.assert_array_equal(got, expected(a, b))


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Equal", numpy.equal),
        ("Less", numpy.less),
        ("LessOrEqual", numpy.less_equal),
        ("Greater", numpy.greater),
        ("GreaterOrEqual", numpy.greater_equal),
    ],
)
def test_unsigned_comparisons(dtype, op, expected):
    a, b = edges(dtype)[:, None], edges(dtype)
    got = binary(op, dtype, TensorProto.BOOL).run({"a": a, "b": b})["y"]
    numpy.testing.assert_array_equal(got, expected(a, b))


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_unsigned_shifts(dtype, direction):
    a = edges(dtype)[:, None]
    b = numpy.arange(numpy.iinfo(dtype).bits, dtype=dtype)
    got = binary("BitShift", dtype, direction=direction).run({"a": a, "b": b})["y"]
    numpy.testing.assert_array_equal(got, a << b if direction == "LEFT" else a >> b)
    # A count that is not less than the width leaves nothing.
    numpy.testing.assert_array_equal(
        binary("BitShift", dtype, direction=direction).run({"a": a, "b": numpy.array([64], dtype)})["y"], 0 * a
    )


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum", "BitwiseNot", "ArgMax"])
def test_unsigned_reductions(dtype, op):
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    attributes = {} if op == "BitwiseNot" else {"keepdims": 0}
    result = TensorProto.INT64 if op == "ArgMax" else element
    run = session([helper.make_node(op, ["x"], ["y"], **attributes)], [("x", element, ["n"])], [("y", result)]).run
    for x in (edges(dtype), edges(dtype)[2:9]):
        expected = {
            "ReduceMax": x.max(),
            "ReduceMin": x.min(),
            "ReduceSum": x.sum(dtype=dtype),
            "BitwiseNot": ~x,
            "ArgMax": x.argmax(),
        }[op]
        got = run({"x": x})["y"]
        assert got.dtype == (numpy.int64 if op == "ArgMax" else dtype)
        numpy.testing.assert_array_equal(got, expected)


def cast(source, target, **attributes):
    return session(
        [helper.make_node("Cast", ["x"], ["y"], to=target, **attributes)],
        [("x", source, ["n"])],
        [("y", target)],
        opset=24,
    )


@pytest.mark.parametrize("target", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.UINT16])
def test_casts_of_uint64(target):
    numbers = [0, 1, 2**24 + 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1025, 2**64 - 1025, 2**64 - 1]
    # Between two neighbours of float, just off the tie: the bit that a halving drops decides.
    numbers += [2**63 + 2**39, 2**63 + 2**39 + 1, 2**63 + 2**39 - 1, 2**63 + 3 * 2**39]
    x = numpy.array(numbers, numpy.uint64)
    expected = x.astype(helper.tensor_dtype_to_np_dtype(target))
    got = cast(TensorProto.UINT64, target).run({"x": x})["y"]
    assert got.dtype == expected.dtype
    numpy.testing.assert_array_equal(got, expected)


def test_casts_to_uint64():
    x = numpy.array([0, 1.5, 2.0**52 + 1, 2.0**63, 2.0**63 + 2048, 2.0**64 - 2048])
    got = cast(TensorProto.DOUBLE, TensorProto.UINT64).run({"x": x})["y"]
    assert got.tolist() == [int(number) for number in x]
    whole = numpy.array([-1, 5, -(2**63)])
    assert cast(TensorProto.INT64, TensorProto.UINT64).run({"x": whole})["y"].tolist() == [2**64 - 1, 5, 2**63]


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", [numpy.float32, numpy.float64, numpy.float16])
def test_casts_to_small_floats_round_as_specified(source, target):
    halves = numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16)  # every tie of the formats is among them
    x = halves.astype(source)
    if source is numpy.float32:  # ml_dtypes rounds f64 to f32 first, and loses what is next to a tie
        x = x[~numpy.isnan(x)]
        x = numpy.concatenate([x, numpy.nextafter(x, source(numpy.inf)), numpy.nextafter(x, source(-numpy.inf))])
    if source is not numpy.float16:
        x = numpy.concatenate([x, numpy.array([1e30, -1e30, 1e-30, -1e-30, 3.4e38], source)])
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(source))
    small = numpy.dtype(FLOATS[target])
    with numpy.errstate(all="ignore"):
        expected = x.astype(small)
    got = cast(element, target, saturate=0).run({"x": x})["y"]
    assert got.dtype == small
    same = (got.view(numpy.uint8) == expected.view(numpy.uint8)) | (numpy.isnan(got) & numpy.isnan(expected))
    assert same.all(), (x[~same][:5], got[~same][:5], expected[~same][:5])
    saturated = cast(element, target).run({"x": x})["y"].astype(numpy.float32)
    largest = float(ml_dtypes.finfo(small).max)
    lost = numpy.isnan(expected.astype(numpy.float32)) | numpy.isinf(expected.astype(numpy.float32))
    wanted = numpy.where(lost & ~numpy.isnan(x), numpy.copysign(largest, x), expected.astype(numpy.float32))
    numpy.testing.assert_array_equal(saturated, wanted.astype(numpy.float32))


def test_doubles_next_to_a_tie_are_rounded_once():
    x = numpy.array([1.0625, numpy.nextafter(1.0625, 2), numpy.nextafter(1.0625, 0)])
    got = cast(TensorProto.DOUBLE, TensorProto.FLOAT8E4M3FN).run({"x": x})["y"]
    assert got.astype(numpy.float32).tolist() == [1.0, 1.125, 1.0]


@pytest.mark.parametrize("element", FLOATS)
def test_every_small_float_is_read_from_a_constant_and_from_an_input(element):
    bits = numpy.arange(256, dtype=numpy.uint8)
    x = bits.view(FLOATS[element])
    constant = helper.make_tensor("c", element, [256], bits.tobytes(), raw=True)
    model = session(
        [
            helper.make_node("Identity", ["c"], ["stored"]),
            helper.make_node("Cast", ["c"], ["wide"], to=TensorProto.FLOAT),
            helper.make_node("Cast", ["x"], ["given"], to=TensorProto.FLOAT),
        ],
        [("x", element, ["n"])],
        [("stored", element), ("wide", TensorProto.FLOAT), ("given", TensorProto.FLOAT)],
        [constant],
    )
    results = model.run({"x": x})
    for name in ("wide", "given"):
        numpy.testing.assert_array_equal(results[name], x.astype(numpy.float32))
    numpy.testing.assert_array_equal(results["stored"].astype(numpy.float32), x.astype(numpy.float32))


@pytest.mark.parametrize(
    ("element", "low", "high"),
    [(TensorProto.INT4, -8, 7), (TensorProto.UINT4, 0, 15), (TensorProto.INT2, -2, 1), (TensorProto.UINT2, 0, 3)],
)
def test_small_integers_wrap_and_unpack(element, low, high):
    values = list(range(low, high + 1))[:-1] or [low]  # an odd number: the last byte is not full
    constant = helper.make_tensor("c", element, [len(values)], values)
    model = session(
        [
            helper.make_node("Cast", ["c"], ["stored"], to=TensorProto.INT32),
            helper.make_node("Cast", ["x"], ["wrapped"], to=element),
        ],
        [("x", TensorProto.INT32, ["n"])],
        [("stored", TensorProto.INT32), ("wrapped", element)],
        [constant],
        opset=25,
    )
    x = numpy.arange(-40, 40, dtype=numpy.int32)
    results = model.run({"x": x})
    assert results["stored"].tolist() == values
    span = high - low + 1
    assert results["wrapped"].astype(numpy.int32).tolist() == [(v - low) % span + low for v in x.tolist()]


def test_strings_pass_through_and_compare():
    model = session(
        [
            helper.make_node("Gather", ["words", "at"], ["picked"], axis=0),
            helper.make_node("Concat", ["picked", "x"], ["joined"], axis=0),
            helper.make_node("Equal", ["x", "words"], ["same"]),
        ],
        [("x", TensorProto.STRING, ["n"]), ("at", TensorProto.INT64, ["k"])],
        [("joined", TensorProto.STRING), ("same", TensorProto.BOOL)],
        [helper.make_tensor("words", TensorProto.STRING, [3], [b"one", "zw\u00f6lf".encode(), b""])],
    )
    assert [argument.type for argument in model.get_inputs()] == ["tensor(string)", "tensor(int64)"]
    for x, at in ((["one", "new", ""], [2, 1]), (["zw\u00f6lf"], [0])):
        results = model.run({"x": numpy.array(x, object), "at": numpy.array(at)})
        assert results["joined"].tolist() == [["one", "zw\u00f6lf", ""][i] for i in at] + x
        words = numpy.array(["one", "zw\u00f6lf", ""], object)
        assert results["same"].tolist() == (words == numpy.array(x, object)).tolist()


def test_strings_in_arithmetic_are_an_error():
    with pytest.raises(NotImplementedError, match="strings are only moved and compared"):
        session(
            [helper.make_node("Add", ["x", "x"], ["y"])],
            [("x", TensorProto.STRING, ["n"])],
            [("y", TensorProto.STRING)],
        )


def test_types_survive_a_stored_model_and_loops(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Add", ["s", "s"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.UINT16, ["n"]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.UINT16, ["n"]),
        ],
    )
    model = session(
        [helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)],
        [("x", TensorProto.UINT16, ["n"]), ("trips", TensorProto.INT64, [])],
        [("y", TensorProto.UINT16)],
    )
    model.save(tmp_path / "m.tw")
    stored = tilewright.load(tmp_path / "m.tw")
    x = numpy.array([1, 2**14 + 1, 65535], numpy.uint16)
    for runner in (model, stored):
        assert [argument.type for argument in runner.get_outputs()] == ["tensor(uint16)"]
        y = runner.run({"x": x, "trips": numpy.array(3)})["y"]
        assert y.dtype == numpy.uint16
        assert y.tolist() == [8, 8, 65528]


def test_another_dtype_than_the_models_is_an_error_that_names_the_input():
    model = binary("Add", numpy.uint16)
    with pytest.raises(TypeError, match="input 'a' must be uint16, its dtype is int32"):
        model.run({"a": numpy.zeros((1, 1), numpy.int32), "b": numpy.zeros(1, numpy.uint16)})


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (TensorProto.UINT16, numpy.uint16),
        (TensorProto.INT4, ml_dtypes.int4),
        (TensorProto.UINT4, ml_dtypes.uint4),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
    ],
)
@pytest.mark.parametrize("block", [0, 4])
def test_quantised_elements_with_scales_of_an_axis_or_of_blocks(element, dtype, block):
    rng = numpy.random.default_rng(7)
    attributes = {"axis": 1, "block_size": block} if block else {"axis": 1}
    model = session(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes),
        ],
        [
            ("x", TensorProto.FLOAT, ["n", "c"]),
            ("s", TensorProto.FLOAT, ["n", "b"] if block else ["c"]),
            ("z", element, ["n", "b"] if block else ["c"]),
        ],
        [("q", element), ("y", TensorProto.FLOAT)],
    )
    is_float = element == TensorProto.FLOAT8E4M3FN
    low, high = {"uint16": (0, 65535), "int4": (-8, 7), "uint4": (0, 15)}.get(numpy.dtype(dtype).name, (0, 0))
    for n, c in ((3, 8), (1, 12)):
        x = rng.normal(size=(n, c)).astype(numpy.float32) * 4
        shape = (n, c // block) if block else (c,)
        s = rng.uniform(0.25, 1, shape).astype(numpy.float32)
        z = numpy.zeros(shape, numpy.float32) if is_float else rng.integers(0, 4, shape).astype(numpy.float32)
        results = model.run({"x": x, "s": s, "z": z.astype(dtype)})
        wide_s, wide_z = (numpy.repeat(p, block, 1) if block else p for p in (s, z))
        if is_float:
            q = (x / wide_s).astype(dtype).astype(numpy.float32)
        else:
            q = numpy.clip(numpy.rint(x / wide_s) + wide_z, low, high)
        numpy.testing.assert_array_equal(results["q"].astype(numpy.float32), q)
        numpy.testing.assert_allclose(results["y"], (q - wide_z) * wide_s, rtol=1e-6)
