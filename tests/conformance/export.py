"""Export to ONNX: every node test of the installed `onnx` package is imported, exported at several opsets, accepted by
onnx.checker, and run by onnxruntime with the results that the package expects. Where onnxruntime has no kernel for a
dtype, the reference evaluator of the package runs the model. With --symbolic: the sizes of the inputs are symbols, and
the one model runs at the sizes of the test and at others.

An old opset may refuse an operator with an error that names an opset; the newest may not.
export_exclusions.txt lists what is left out, each with its reason.
"""

import fnmatch
import importlib.util
import tempfile
import warnings
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import helper
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

import tilewright

HERE = Path(__file__).parent
OPSETS = (13, 17, 20, 23, 26)
# Reasons that onnxruntime gives where it has no kernel: NOT_IMPLEMENTED, and types it registers for no operator.
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation", "is invalid", "Unsupported type", "not supported")


def load_suite(name: str):
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


static = load_suite("onnx")
symbolic = load_suite("onnx_symbolic")


def excluded() -> list[str]:
    lines = [line.partition("#")[0].strip() for line in (HERE / "export_exclusions.txt").read_text().splitlines()]
    return [line.partition(":")[0].strip() for line in lines if line]


def with_plain_border(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with f32 inputs and outputs in the place of types that numpy has only by an extension."""
    for value in list(model.graph.input):
        if is_odd_type(value):
            name, value.name = value.name, f"{value.name}__f32"
            cast = helper.make_node("Cast", [value.name], [name], to=value.type.tensor_type.elem_type)
            model.graph.node.insert(0, cast)
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for value in list(model.graph.output):
        if is_odd_type(value):
            name, value.name = value.name, f"{value.name}__f32"
            model.graph.node.append(helper.make_node("Cast", [name], [value.name], to=onnx.TensorProto.FLOAT))
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model


def is_odd_type(value: onnx.ValueInfoProto) -> bool:
    elem_type = value.type.tensor_type.elem_type
    return elem_type not in (0, onnx.TensorProto.STRING) and is_odd(helper.tensor_dtype_to_np_dtype(elem_type))


def is_odd(dtype: numpy.dtype) -> bool:
    return dtype.kind not in "fiubcO" or dtype.type.__module__ != "numpy"


def with_default_kernels(path: str):
    """Calls of the model by onnxruntime; by the reference evaluator where that has no kernel."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    model = with_plain_border(onnx.load(path))
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no class of their own
        if not any(reason in str(error) for reason in NO_KERNEL):
            raise
        return ReferenceEvaluator(model)


def export_checked(session, path: str, opset: int):
    """A runner of the exported model; None where the opset refuses it."""
    try:
        tilewright.export(session, path, opset)
    except NotImplementedError as error:
        if opset == OPSETS[-1] or "opset" not in str(error):
            raise
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx.checker.check_model(path, full_check=True)
        return with_default_kernels(path)


def input_names(runner) -> list[str]:
    return list(runner.input_names) if isinstance(runner, ReferenceEvaluator) else [x.name for x in runner.get_inputs()]


def check_results(runner, feeds: dict, expected: list, test) -> None:
    needed = {}
    for name in input_names(runner):
        array = numpy.asarray(feeds[name.removesuffix("__f32")])
        needed[name] = array.astype(numpy.float32) if is_odd(array.dtype) else array
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = runner.run(None, needed)
    for got, wanted in zip(results, expected, strict=True):
        plain = numpy.asarray(wanted)
        last_bit = {"bfloat16": 2**-7, "float16": 2**-9}.get(str(plain.dtype), 0)  # which may round the other way
        plain = plain.astype(numpy.float32) if is_odd(plain.dtype) else plain
        static.compare(got, plain, max(test.rtol, last_bit, 1e-4), max(test.atol, last_bit, 1e-6))


def load(model):
    """A session; None for a model that the importer does not take: that is what the suite onnx counts."""
    try:
        return tilewright.load(model)
    except NotImplementedError:
        return None


def opsets_of(name: str) -> tuple[int, ...]:
    """All, but those that a line "name@opset" leaves out."""
    left_out = {pattern for pattern in excluded() if fnmatch.fnmatchcase(name, pattern.partition("@")[0])}
    return tuple(opset for opset in OPSETS if not any(pattern.endswith(f"@{opset}") for pattern in left_out))


def make_case(test, opsets):
    def case() -> None:
        session = load(test.model)
        if session is None:
            return
        names = [name for name, _, _ in session.inputs]
        with tempfile.TemporaryDirectory() as folder:
            for opset in opsets:
                runner = export_checked(session, f"{folder}/{opset}.onnx", opset)
                if runner is None:
                    continue
                for inputs, outputs in test.data_sets:
                    inputs, outputs = ([static.as_array(value) for value in side] for side in (inputs, outputs))
                    try:
                        check_results(runner, dict(zip(names, inputs, strict=False)), outputs, test)
                    except Exception as error:
                        raise AssertionError(f"opset {opset}: {type(error).__name__}: {error}") from error

    return case


def cases(directory: Path | None):
    if directory is not None:
        raise SystemExit("the suite export comes with the onnx package and reads no directory")
    patterns = static.excluded() + excluded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    return {
        f"node/{test.name}": make_case(test, opsets_of(f"node/{test.name}"))
        for test in tests
        if not any(fnmatch.fnmatchcase(f"node/{test.name}", pattern) for pattern in patterns)
    }
