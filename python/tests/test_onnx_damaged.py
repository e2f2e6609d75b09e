"""Damaged and hostile ONNX files: each is an error that says what is wrong, before memory is taken for it."""

import contextlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright

F32, I64 = TensorProto.FLOAT, TensorProto.INT64
NODE = helper.make_node
X = helper.make_tensor_value_info("x", F32, ["N"])


def model(nodes, inputs=(X,), outputs=("y",), initializers=(), functions=()) -> bytes:
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", list(inputs), results, list(initializers))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8).SerializeToString()


def weight(dims: list[int], raw: bytes, data_type: int = F32) -> TensorProto:
    return TensorProto(name="w", data_type=data_type, dims=dims, raw_data=raw)


def outside() -> TensorProto:
    tensor = TensorProto(name="w", data_type=F32, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../../etc/passwd")
    return tensor


def added(tensor: TensorProto, *more: TensorProto) -> bytes:
    return model([NODE("Add", ["x", "w"], ["y"])], initializers=[tensor, *more])


def calls(number: int, deepest: int) -> onnx.FunctionProto:
    """A function that calls the next one twice."""
    nodes = [NODE(f"F{number + 1}", ["a"], ["t"], domain="f"), NODE(f"F{number + 1}", ["t"], ["b"], domain="f")]
    body = nodes if number < deepest else [NODE("Neg", ["a"], ["b"])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    return helper.make_function("f", f"F{number}", ["a"], ["b"], body, opsets)


TRUE = numpy_helper.from_array(np.array(True))
FOREVER = helper.make_graph(
    [NODE("Identity", ["c"], ["co"]), NODE("Neg", ["s"], ["so"])],
    "b",
    [
        helper.make_tensor_value_info("i", I64, []),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("s", F32, ["N"]),
    ],
    [helper.make_tensor_value_info("co", TensorProto.BOOL, []), helper.make_tensor_value_info("so", F32, ["N"])],
)

NOT_LOADED = {
    "a cycle": (model([NODE("Add", ["x", "b"], ["a"]), NODE("Neg", ["a"], ["b"])], outputs=["b"]), "reads 'b'"),
    "a node that reads its own result": (model([NODE("Add", ["x", "y"], ["y"])]), "reads 'y', which no node before it"),
    "a missing input": (model([NODE("Neg", ["q"], ["y"])]), "reads 'q', which no node before it makes"),
    "a missing result": (model([NODE("Neg", ["x"], ["z"])]), "no node makes the output 'y'"),
    "a name given twice": (model([NODE("Neg", ["x"], ["y"]), NODE("Abs", ["x"], ["y"])]), "'y' is given twice"),
    "two inputs of one name": (model([NODE("Neg", ["x"], ["y"])], [X, X]), "two inputs are called 'x'"),
    "two initializers of one name": (
        added(weight([1], b"1234"), weight([1], b"1234")),
        "two initializers are called 'w'",
    ),
    "absurd sizes": (added(weight([2**40, 2**40], b"1234")), "of a tensor are not possible"),
    "negative sizes": (added(weight([-4], b"1234")), "of a tensor are not possible"),
    "too few bytes": (added(weight([4], b"1234")), r"f32\[4\] has 4 bytes of data"),
    "too many bytes": (added(weight([1], b"12345678")), r"f32\[1\] has 8 bytes of data"),
    "an element type that does not exist": (added(weight([1], b"1234", 77)), "element type of an unknown number"),
    "data outside of the folder": (added(outside()), "leaves the folder of the model"),
    "a function that calls itself": (
        model([NODE("F0", ["x"], ["y"], domain="f")], functions=[calls(0, 9), *[calls(i, 99) for i in range(1, 99)]]),
        "call each other 64 deep",
    ),
    "no inputs of a node": (model([NODE("Add", [], ["y"])]), "input 0 is missing"),
    "an If without branches": (model([NODE("If", ["x"], ["y"])]), "needs a condition and two branches"),
    "a loop that never ends": (
        model([NODE("Constant", [], ["t"], value=TRUE), NODE("Loop", ["", "t", "x"], ["y"], body=FOREVER)]),
        "a loop that never ends",
    ),
    "no graph": (onnx.ModelProto(ir_version=8).SerializeToString(), "it has no graph"),
}


@pytest.mark.parametrize("name", NOT_LOADED)
def test_is_not_loaded(name: str) -> None:
    content, message = NOT_LOADED[name]
    with pytest.raises((ValueError, NotImplementedError, FileNotFoundError), match=message):
        tilewright.load(content)


def test_functions_that_double_their_nodes_end_early() -> None:
    """2^40 nodes out of 82: the import stops at a bound that follows from the size of the file."""
    content = model([NODE("F0", ["x"], ["y"], domain="f")], functions=[calls(i, 40) for i in range(41)])
    with pytest.raises(NotImplementedError, match=r"more than 4[0-9]+ nodes"):
        tilewright.load(content)


SHAPE = helper.make_tensor_value_info("s", I64, [2])
ROW = helper.make_tensor_value_info("s", I64, [1])
BOMBS = {
    "a large constant": (
        model([NODE("Constant", [], ["s"], value_ints=[2**40]), NODE("ConstantOfShape", ["s"], ["y"])], []),
        {},
    ),
    "a count that overflows": (
        model([NODE("Constant", [], ["s"], value_ints=[2**40, 2**40]), NODE("ConstantOfShape", ["s"], ["y"])], []),
        {},
    ),
    "a large expansion": (
        model([NODE("Expand", ["x", "s"], ["e"]), NODE("Exp", ["e"], ["y"])], [X, SHAPE]),
        {"x": np.ones(3, np.float32), "s": np.array([2**45, 1])},
    ),
    "many copies": (
        model([NODE("Tile", ["x", "s"], ["y"])], [X, ROW]),
        {"x": np.ones(3, np.float32), "s": np.array([2**62])},
    ),
    "a wide pad": (
        model([NODE("Pad", ["x", "s"], ["y"])], [X, SHAPE]),
        {"x": np.ones(3, np.float32), "s": np.array([2**45, 0])},
    ),
    "sixty doublings": (
        model([NODE("Concat", [f"a{i}", f"a{i}"], [f"a{i + 1}"], axis=0) for i in range(60)],
              [helper.make_tensor_value_info("a0", F32, ["N"])], ["a60"]),
        {"a0": np.ones(1, np.float32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_result_beyond_memory_is_an_error(name: str) -> None:
    content, feeds = BOMBS[name]
    with pytest.raises((MemoryError, ValueError)):
        tilewright.load(content).run(None, feeds)


def test_truncated_files_and_wrong_lengths_are_errors() -> None:
    content = added(weight([64], bytes(256)))
    last = onnx.ModelProto(opset_import=[helper.make_opsetid("f", 1)]).SerializeToString()
    assert content.endswith(last)  # a model without this domain is a model too
    for end in range(len(content) - len(last)):
        with pytest.raises((ValueError, NotImplementedError)):
            tilewright.load(content[:end])
    random = np.random.default_rng(11)
    for _ in range(400):  # any byte may be another one: a model or an error, never more
        damaged = bytearray(content)
        for place in random.integers(0, len(damaged), 3):
            damaged[place] = random.integers(0, 256)
        with contextlib.suppress(
            ValueError, TypeError, NotImplementedError, IndexError, MemoryError, FileNotFoundError
        ):
            tilewright.load(bytes(damaged))
