"""Times ONNX loops with a small state in Tilewright and ONNX Runtime, one thread each, in turns: `trip` is a call's
processor time over its trips. `counter` has next to no body, so its trip is what a trip costs beside the body.

    .venv/bin/python bench/models/loops.py [--trips N] [--rounds N] [--json FILE]
"""

import argparse
import json
import time
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tilewright

SIZE = 8


def tensor(name: str, shape, elem_type: int = TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem_type, shape)


def model_of(nodes, inputs, outputs, initializers=()) -> bytes:
    graph = helper.make_graph(nodes, "loop", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def weights(*names: str):
    generator = numpy.random.default_rng(0)
    return [numpy_helper.from_array(generator.normal(0, 0.3, (SIZE, SIZE)).astype("f"), name) for name in names]


def loop(body_nodes, results, carried, initializers=(), scanned=()) -> bytes:
    """`results` of the body: the next states, then what is stacked."""
    head = [tensor("trip", [], TensorProto.INT64), tensor("go", [], TensorProto.BOOL)]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["again"]), *body_nodes],
        "body",
        [*head, *(tensor(name, shape) for name, shape in carried)],
        [tensor("again", [], TensorProto.BOOL), *(tensor(name, shape) for name, shape in results)],
    )
    initial = [f"{name}_0" for name, _ in carried]
    node = helper.make_node("Loop", ["trips", "", *initial], [f"out_{name}" for name, _ in results], body=body)
    inputs = [tensor("trips", [], TensorProto.INT64)]
    inputs += [tensor(name, shape) for name, (_, shape) in zip(initial, carried, strict=True)]
    outputs = [tensor(f"out_{name}", None) for name, _ in results]
    return model_of([node], [*inputs, *scanned], outputs, initializers)


def counter() -> bytes:
    constant = helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(numpy.ones(1, "f")))
    return loop([constant, helper.make_node("Add", ["s", "one"], ["next"])], [("next", [1])], [("s", [1])])


def cell() -> bytes:
    """A state through a matmul and tanh, each state kept."""
    nodes = [
        helper.make_node("Gather", ["xs", "trip"], ["x"], axis=0),
        helper.make_node("MatMul", ["s", "w"], ["product"]),
        helper.make_node("Add", ["product", "x"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next"]),
        helper.make_node("Identity", ["next"], ["kept"]),
    ]
    shape = [1, SIZE]
    return loop(nodes, [("next", shape), ("kept", shape)], [("s", shape)], weights("w"), [tensor("xs", ["N", 1, SIZE])])


def gated() -> bytes:
    """A Scan: a gated unit over the steps of a sequence, from two products."""
    nodes = [
        helper.make_node("MatMul", ["s", "w"], ["a"]),
        helper.make_node("MatMul", ["x", "u"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Sigmoid", ["c"], ["gate"]),
        helper.make_node("Tanh", ["b"], ["new"]),
        helper.make_node("Sub", ["new", "s"], ["change"]),
        helper.make_node("Mul", ["gate", "change"], ["step"]),
        helper.make_node("Add", ["s", "step"], ["next"]),
        helper.make_node("Identity", ["next"], ["kept"]),
    ]
    shape = [1, SIZE]
    body = helper.make_graph(
        nodes, "body", [tensor("s", shape), tensor("x", shape)], [tensor("next", shape), tensor("kept", shape)]
    )
    node = helper.make_node("Scan", ["s_0", "xs"], ["last", "all"], num_scan_inputs=1, body=body)
    inputs = [tensor("s_0", shape), tensor("xs", ["N", 1, SIZE])]
    return model_of([node], inputs, [tensor("last", None), tensor("all", None)], weights("w", "u"))


MODELS = {"counter": counter, "cell": cell, "gated": gated}


def feeds_of(content: bytes, trips: int) -> dict:
    generator = numpy.random.default_rng(1)
    feeds = {}
    for value in onnx.load_from_string(content).graph.input:
        shape = [dim.dim_value or trips for dim in value.type.tensor_type.shape.dim]
        is_count = value.type.tensor_type.elem_type == TensorProto.INT64
        feeds[value.name] = numpy.int64(trips) if is_count else generator.normal(0, 1, shape).astype("f")
    return {name: numpy.asarray(value) for name, value in feeds.items()}


def runners(content: bytes) -> dict:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    peer = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    session = tilewright.load(content)
    return {"tilewright": lambda feeds: session.run(None, feeds), "ort": lambda feeds: peer.run(None, feeds)}


def measure(content: bytes, trips: int, rounds: int) -> dict:
    """Microseconds of a trip, by peer."""
    feeds, calls = feeds_of(content, trips), runners(content)
    results = [call(feeds) for call in calls.values()]
    for mine, wanted in zip(*results, strict=True):
        numpy.testing.assert_allclose(mine, wanted, rtol=1e-3, atol=1e-4)
    times: dict = {peer: [] for peer in calls}
    for _ in range(rounds):
        for peer, call in calls.items():
            start = time.thread_time()
            call(feeds)
            times[peer].append(time.thread_time() - start)
    return {peer: 1e6 * sorted(column)[len(column) // 10] / trips for peer, column in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    tilewright.set_num_threads(1)
    rows = {name: measure(make(), arguments.trips, arguments.rounds) for name, make in MODELS.items()}
    for name, row in rows.items():
        ratio = row["ort"] / row["tilewright"]
        print(f"{name:8} tilewright {row['tilewright']:.2f} us a trip, onnxruntime {row['ort']:.2f}: {ratio:.1f} times")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
