"""The node tests of the installed `onnx` package with every size of every input replaced by a symbol of its own:
`conformance onnx --symbolic`. Lists of integers (axes, shapes, pads) keep their length: it is a rank, not a size.

One session runs a case at the sizes of the test, against the package's results, and then at other sizes, against the
reference evaluator. Sizes that the evaluator refuses are not legal for the model and are passed over; a case without
other legal sizes counts by its own. A session compiles when it is loaded and never again, so one session for all sizes is
no recompile.
"""

import fnmatch
import importlib.util
import warnings
from pathlib import Path

import numpy
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

import tilewright

_spec = importlib.util.spec_from_file_location("conformance_onnx", Path(__file__).with_name("onnx.py"))
static = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(static)

CHANGES = (lambda size: size + 1, lambda size: 2 * size, lambda size: max(1, size - 1))


def is_list(value: onnx.ValueInfoProto) -> bool:
    """Whether an input is a row of integers: axes, a shape, pads. Its length is a rank, not a size."""
    tensor = value.type.tensor_type
    return len(tensor.shape.dim) == 1 and tensor.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32)


def with_symbols(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose inputs have a symbol of its own for each size, and whose results say nothing about sizes."""
    freed = onnx.ModelProto.FromString(model.SerializeToString())
    for number, value in enumerate(freed.graph.input):
        if not value.type.tensor_type.HasField("shape") or is_list(value):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"size_{number}_{axis}"
    for value in [*freed.graph.output, *freed.graph.value_info]:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return freed


def resized(array: numpy.ndarray, change) -> numpy.ndarray:
    """The same elements over and over, in another shape. Sizes 0 and 1 stay: 1 may be a broadcast."""
    return numpy.resize(array, [size if size < 2 else change(size) for size in array.shape]).astype(array.dtype)


def expected_at(evaluator: ReferenceEvaluator, feeds: dict) -> list | None:
    """What the evaluator gives; None where the sizes are not legal."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return evaluator.run(None, feeds)
        except Exception:  # it has no kind of error of its own
            return None


def make_case(test):
    def case() -> None:
        model = with_symbols(test.model)
        session = tilewright.load(model)
        names = [name for name, _, _ in session.inputs]
        lists = {value.name for value in model.graph.input if is_list(value)}
        for inputs, outputs in test.data_sets:
            inputs, outputs = ([static.as_array(value) for value in side] for side in (inputs, outputs))
            feeds = dict(zip(names, inputs, strict=False))
            for got, wanted in zip(session.run(None, feeds), outputs, strict=True):
                static.compare(got, wanted, test.rtol, test.atol)
            if not all(isinstance(value, numpy.ndarray) for value in inputs):
                continue
            evaluator = ReferenceEvaluator(model)
            own = expected_at(evaluator, feeds)
            if own is None or not agrees(own, outputs, test):
                continue  # the evaluator does not give the package's results: no witness
            for change in CHANGES:
                at = {name: value if name in lists else resized(value, change) for name, value in feeds.items()}
                wanted = expected_at(evaluator, at)
                if wanted is None:
                    continue
                for got, expected in zip(session.run(None, at), wanted, strict=True):
                    static.compare(got, expected, test.rtol, test.atol)

    return case


def agrees(got: list, expected: list, test) -> bool:
    try:
        for mine, wanted in zip(got, expected, strict=True):
            static.compare(mine, wanted, test.rtol, test.atol)
    except (AssertionError, ValueError, TypeError):
        return False
    return True


def cases(directory: Path | None):
    if directory is not None:
        raise SystemExit("the suite onnx_symbolic comes with the onnx package and reads no directory")
    patterns = static.excluded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    return {
        f"node/{test.name}": make_case(test)
        for test in tests
        if not any(fnmatch.fnmatchcase(f"node/{test.name}", pattern) for pattern in patterns)
    }
