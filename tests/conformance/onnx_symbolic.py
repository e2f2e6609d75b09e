"""The node tests of the installed `onnx` package with every size of every input replaced by a symbol of its own, run at
the sizes of the test. Lists of integers (axes, shapes, pads) keep their length: it is a rank, not a size. Declared sizes
of results are dropped.
"""

import fnmatch
import importlib.util
import warnings
from pathlib import Path

import onnx
from onnx.backend.test.loader import load_model_tests

# The suite of the same tests at fixed sizes has the list of exclusions and the comparison.
spec = importlib.util.spec_from_file_location("conformance_onnx", Path(__file__).with_name("onnx.py"))
fixed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixed)


def with_symbols(model: onnx.ModelProto) -> onnx.ModelProto:
    freed = onnx.ModelProto.FromString(model.SerializeToString())
    for number, value in enumerate(freed.graph.input):
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            continue
        is_list = len(tensor.shape.dim) == 1 and tensor.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32)
        if is_list:
            continue
        for axis, dim in enumerate(tensor.shape.dim):
            dim.dim_param = f"size_{number}_{axis}"
    for value in [*freed.graph.output, *freed.graph.value_info]:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return freed


def cases(directory: Path | None):
    if directory is not None:
        raise SystemExit("this suite has its own cases")
    patterns = fixed.excluded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    return {
        test.name: fixed.make_case(lambda t=test: (with_symbols(t.model), t.data_sets), test.rtol, test.atol)
        for test in tests
        if not any(fnmatch.fnmatchcase(f"node/{test.name}", pattern) for pattern in patterns)
    }
