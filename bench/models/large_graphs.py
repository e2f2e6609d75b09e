"""Times the making of sessions for ONNX graphs of hundreds of thousands of nodes, by processor time of one thread, with
--ort also onnxruntime's. The size grows by a factor of ten: a pass that is worse than linear shows in the time per node.

    .venv/bin/python bench/models/large_graphs.py [--nodes N] [--shapes NAMES] [--ort]
"""

import argparse
import time

import numpy
from onnx import TensorProto, helper, numpy_helper

import tilewright

UNARY = ("Relu", "Sigmoid", "Tanh", "Abs")


class Writer:
    """Nodes and initializers of a model, with names by number."""

    def __init__(self) -> None:
        self.nodes, self.initializers = [], []
        self.random = numpy.random.default_rng(0)

    def op(self, op_type: str, *inputs: str, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], **attributes))
        return name

    def value(self, array) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape: int) -> str:
        return self.value((0.1 * self.random.standard_normal(shape)).astype("f"))

    def constant(self, array) -> str:
        return self.op("Constant", value=numpy_helper.from_array(array))

    def model(self, result: str, *sizes) -> bytes:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)
        y = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "large", [x], [y], self.initializers)
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def chain(count: int) -> bytes:
    writer, last = Writer(), "x"
    for number in range(count):
        last = writer.op(UNARY[number % 4], last)
    return writer.model(last, "B", 64)


def initializers(count: int) -> bytes:
    writer, last = Writer(), "x"
    for number in range(count):
        last = writer.op("Add" if number % 2 else "Mul", last, writer.weight(64))
    return writer.model(last, "B", 64)


def constants(count: int) -> bytes:
    writer, last = Writer(), "x"
    for number in range(count // 2):
        row = writer.constant(writer.random.standard_normal(64, dtype="f"))
        last = writer.op("Add" if number % 2 else "Mul", last, row)
    return writer.model(last, "B", 64)


def wide(count: int) -> bytes:
    """Many readers of one value, and a tree of sums."""
    writer = Writer()
    row = [writer.op(UNARY[number % 4], "x") for number in range(count // 2)]
    while len(row) > 1:
        pairs = [writer.op("Add", row[at], row[at + 1]) for at in range(0, len(row) - 1, 2)]
        row = pairs + row[2 * len(pairs) :]
    return writer.model(row[0], "B", 64)


def slices(count: int) -> bytes:
    writer, total, axis = Writer(), "x", None
    axis = writer.value(numpy.array([1]))
    for number in range(count // 3):
        begin = writer.value(numpy.array([number % 60]))
        end = writer.value(numpy.array([number % 60 + 1 + number % 3]))
        part = writer.op("ReduceSum", writer.op("Slice", "x", begin, end, axis), axis, keepdims=1)
        total = writer.op("Add" if number % 2 else "Mul", total, part)
    return writer.model(total, "B", 64)


def blocks(count: int, width: int = 16) -> bytes:
    """Transformer blocks as exporters write them: norms and gelu spelled out, shapes computed in the graph."""
    writer = Writer()

    def linear(x: str, inputs: int, outputs: int) -> str:
        return writer.op("Add", writer.op("MatMul", x, writer.weight(inputs, outputs)), writer.weight(outputs))

    def norm(x: str) -> str:
        centred = writer.op("Sub", x, writer.op("ReduceMean", x, axes=[-1], keepdims=1))
        square = writer.op("Pow", centred, writer.value(numpy.float32(2)))
        variance = writer.op("ReduceMean", square, axes=[-1], keepdims=1)
        deviation = writer.op("Sqrt", writer.op("Add", variance, writer.value(numpy.float32(1e-5))))
        scaled = writer.op("Mul", writer.op("Div", centred, deviation), writer.weight(width))
        return writer.op("Add", scaled, writer.weight(width))

    def reshaped(x: str, *rest: int) -> str:
        shape, zero = writer.op("Shape", x), writer.value(numpy.array([0]))
        sizes = [
            writer.op("Unsqueeze", writer.op("Gather", shape, writer.value(numpy.int64(axis))), zero) for axis in (0, 1)
        ]
        sizes += [writer.value(numpy.array([size])) for size in rest]
        return writer.op("Reshape", x, writer.op("Concat", *sizes, axis=0))

    x = "x"
    while len(writer.nodes) < count:
        y = norm(x)
        q, k, v = (
            writer.op("Transpose", reshaped(linear(y, width, width), 2, width // 2), perm=[0, 2, 1, 3])
            for _ in range(3)
        )
        scores = writer.op("MatMul", q, writer.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = writer.op("Softmax", writer.op("Div", scores, writer.value(numpy.float32(2.8))), axis=-1)
        mixed = writer.op("Transpose", writer.op("MatMul", scores, v), perm=[0, 2, 1, 3])
        x = writer.op("Add", x, linear(reshaped(mixed, width), width, width))
        y = linear(norm(x), width, 4 * width)
        error = writer.op("Erf", writer.op("Div", y, writer.value(numpy.float32(1.41421356))))
        y = writer.op("Mul", y, writer.op("Add", error, writer.value(numpy.float32(1))))
        x = writer.op("Add", x, linear(writer.op("Mul", y, writer.value(numpy.float32(0.5))), 4 * width, width))
    return writer.model(x, "B", "T", width)


SHAPES = {function.__name__: function for function in (chain, initializers, constants, wide, slices, blocks)}


def seconds(call) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def load_by_onnxruntime(content: bytes) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=300_000)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--ort", action="store_true", help="onnxruntime too; it takes minutes for some")
    arguments = parser.parse_args()
    for name in arguments.shapes.split(","):
        for count in (arguments.nodes // 10, arguments.nodes):
            content = SHAPES[name](count)
            taken = seconds(lambda content=content: tilewright.load(content))
            line = f"{name:12} {count:7} nodes: {taken:6.2f} s, {1e6 * taken / count:5.1f} us a node"
            if arguments.ort:
                line += f"; onnxruntime {seconds(lambda content=content: load_by_onnxruntime(content)):6.2f} s"
            print(line, flush=True)


if __name__ == "__main__":
    main()
