"""The node tests of the installed `onnx` package with every size of every input replaced by a symbol of its own:
`conformance onnx --symbolic`. Lists of integers (axes, shapes, pads) keep their length: it is a rank, not a size.

One session runs a case at the sizes of the test, against the package's results, and then at other sizes, against the
reference evaluator. A session compiles when it is loaded and never again, so one session for all sizes is no recompile.

Other sizes must be legal for the model: sizes that are equal in a test stay equal, sizes of 1 stay (they may broadcast),
and what an operator's definition fixes stays (FIXED: corners of a box, sizes that values of the case are bound to).
Sizes that the evaluator refuses are passed over; a case without other legal sizes counts by its own.
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

CHANGES = (lambda size: size + 1, lambda size: 2 * size, lambda size: max(2, size - 1))
# Patterns of cases with inputs that keep their sizes, by their number, or all of them (None), and why.
FIXED: dict[str, tuple[int, ...] | None] = {
    "test_resize_*": (1, 2),  # regions and scales: one for each axis
    "test_upsample_*": (1,),
    "test_split_equal_parts_*": None,  # sizes that the number of results divides
    "test_split_variable_parts_*": None,  # the parts add up to the size
    "test_nonmaxsuppression_*": None,  # the corners of a box are four
    "test_roialign_*": None,  # so are those of a region
    "test_reversesequence_*": None,  # lengths that are sizes
    "test_affine_grid_*": None,  # the size of the image is an input, the matrices are of two or three rows
    "test_split_to_sequence_*": None,  # the parts add up to the size
    "test_gru_seq_length": None,
    "test_lstm_with_peepholes": None,  # three and four times the hidden size
    "test_tensorscatter*": None,  # positions below a size
    "test_gather_elements_1": None,  # indices below a size
    "test_nllloss_*_expanded": None,  # classes below a size
    "test_maxpool_with_argmax_2d_precomputed_pads": None,  # equal elements: the place of the largest is not one
    "test_logsoftmax_large_number": None,  # the evaluator takes the logarithm of an underflow
    "test_qlinearmatmul_*_float16": None,  # the evaluator rounds the product of scales to 16 bits, where it is subnormal
    "test_averagepool_3d_dilations_large_*_ceil_mode_is_True": None,  # the evaluator counts cells beyond the padding
}


def is_list(value: onnx.ValueInfoProto) -> bool:
    """Whether an input is a row of integers: axes, a shape, pads. Its length is a rank, not a size."""
    tensor = value.type.tensor_type
    return len(tensor.shape.dim) == 1 and tensor.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32)


def with_symbols(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose inputs have a symbol of its own for each size, and whose results say nothing about sizes."""
    freed = onnx.ModelProto.FromString(model.SerializeToString())
    for number, value in enumerate(freed.graph.input):
        inner = value.type.optional_type.elem_type if value.type.HasField("optional_type") else value.type
        if not inner.HasField("tensor_type") or not inner.tensor_type.HasField("shape") or is_list(value):
            continue
        for axis, dim in enumerate(inner.tensor_type.shape.dim):
            dim.dim_param = f"size_{number}_{axis}"
    for value in [*freed.graph.output, *freed.graph.value_info]:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return freed


def resized(array: numpy.ndarray, change) -> numpy.ndarray:
    """The same elements over and over, in another shape. Sizes 0 and 1 stay: 1 may be a broadcast."""
    return numpy.resize(array, [size if size < 2 else change(size) for size in array.shape]).astype(array.dtype)


def kept_inputs(name: str, model: onnx.ModelProto) -> set[str]:
    """Inputs that keep their sizes in the case."""
    inputs = [value.name for value in model.graph.input]
    kept = {value.name for value in model.graph.input if is_list(value)}
    for pattern, numbers in FIXED.items():
        if fnmatch.fnmatchcase(name, pattern):
            kept.update(inputs if numbers is None else [inputs[i] for i in numbers if i < len(inputs)])
    return kept


def evaluator_of(model: onnx.ModelProto) -> ReferenceEvaluator | None:
    """None where the evaluator lacks an operator."""
    try:
        return ReferenceEvaluator(model)
    except Exception:  # it has no kind of error of its own
        return None


def expected_at(evaluator: ReferenceEvaluator | None, feeds: dict) -> list | None:
    """What the evaluator gives; None where the sizes are not legal."""
    if evaluator is None:
        return None
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
        kept = kept_inputs(test.name, model)
        for inputs, outputs in test.data_sets:
            inputs, outputs = ([static.as_array(value) for value in side] for side in (inputs, outputs))
            feeds = dict(zip(names, inputs, strict=False))
            checks = [c for pattern, c in static.RANDOM.items() if fnmatch.fnmatchcase(f"node/{test.name}", pattern)]
            if checks:
                checks[0](inputs, session.run(None, feeds), outputs)
                continue
            for got, wanted in zip(session.run(None, feeds), outputs, strict=True):
                static.compare(got, wanted, test.rtol, max(test.atol, static.sum_error(f"node/{test.name}", wanted)))
            if not all(isinstance(value, numpy.ndarray) for value in inputs):
                continue
            evaluator = evaluator_of(model)
            own = expected_at(evaluator, feeds)
            if own is None or not agrees(own, outputs, test):
                continue  # the evaluator does not give the package's results: no witness
            for change in CHANGES:
                at = {name: value if name in kept else resized(value, change) for name, value in feeds.items()}
                wanted = expected_at(evaluator, at)
                if wanted is None:
                    continue
                for got, expected in zip(session.run(None, at), wanted, strict=True):
                    atol = max(test.atol, static.sum_error(f"node/{test.name}", expected))
                    static.compare(got, expected, test.rtol, atol)

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
