"""The backend tests of the installed `onnx` package: its node tests, and the models that come with it (pytorch-operator,
pytorch-converted, simple, light). With a directory: its folders NAME/{model.onnx, test_data_set_*/{input,output}_*.pb}.

onnx_exclusions.txt lists what is left out, each with its reason. Results of 16-bit floats may lie two units in the last
place from those of the package, which rounds after every operator: kernels here keep 32 bits inside. Operators that draw
random numbers are checked by what holds for every draw (RANDOM).
"""

import fnmatch
import warnings
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import tilewright

EXCLUSIONS = Path(__file__).with_name("onnx_exclusions.txt")
KINDS = ("node", "pytorch-operator", "pytorch-converted", "simple")
RTOL, ATOL = 1e-3, 1e-7
WIDE_RTOL = {"bfloat16": 2 * 2.0**-7, "float16": 2 * 2.0**-10}  # two units in the last place


def excluded() -> list[str]:
    """Patterns of names: lines of "pattern: reason"."""
    lines = [line.partition("#")[0].strip() for line in EXCLUSIONS.read_text().splitlines()]
    return [line.partition(":")[0].strip() for line in lines if line]


def compare(got, expected, rtol: float, atol: float) -> None:
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected), f"{len(got)} items, {len(expected)} expected"
        for mine, wanted in zip(got, expected, strict=True):
            compare(mine, wanted, rtol, atol)
        return
    if expected is None:
        assert got is None, "nothing expected"
        return
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    assert got.dtype == expected.dtype, f"dtype {got.dtype}, {expected.dtype} expected"
    assert got.shape == expected.shape, f"shape {got.shape}, {expected.shape} expected"
    if expected.dtype.kind in "OSU":
        assert got.tolist() == expected.tolist(), "strings differ"
        return
    rtol = max(rtol, WIDE_RTOL.get(str(expected.dtype), 0))
    if expected.dtype.kind not in "fiubc":  # of ml_dtypes
        got, expected = got.astype(numpy.float32), expected.astype(numpy.float32)
    numpy.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def check_same_kind(inputs, got, expected) -> None:
    """What holds for every draw: dtypes and shapes."""
    assert len(got) == len(expected)
    for mine, wanted in zip(got, expected, strict=True):
        assert mine.dtype == wanted.dtype and mine.shape == wanted.shape


def check_bernoulli(inputs, got, expected) -> None:
    check_same_kind(inputs, got, expected)
    drawn, odds = got[0].astype(float), inputs[0]
    assert set(numpy.unique(drawn)) <= {0, 1}
    assert (drawn[odds == 0] == 0).all() and (drawn[odds == 1] == 1).all()
    deviation = numpy.sqrt((odds * (1 - odds)).sum())
    assert abs(drawn.sum() - odds.sum()) <= 6 * deviation + 1e-9, "the mean is not that of the odds"


def check_dropout(inputs, got, expected) -> None:
    check_same_kind(inputs, got, expected)
    x, ratio = inputs[0], float(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else 0.5
    kept = got[1] if len(got) > 1 else (got[0] != 0) | (x == 0)
    numpy.testing.assert_allclose(got[0], numpy.where(kept, x / (1 - ratio), 0), rtol=1e-5)
    deviation = numpy.sqrt(x.size * ratio * (1 - ratio))
    assert abs(kept.sum() - x.size * (1 - ratio)) <= 6 * deviation, "the share of dropped elements is not the ratio"


RANDOM = {
    "node/test_bernoulli*": check_bernoulli,
    "node/test_training_dropout": check_dropout,
    "node/test_training_dropout_mask": check_dropout,
    "node/test_training_dropout_default": check_dropout,
    "node/test_training_dropout_default_mask": check_dropout,
}


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def make_case(load, rtol: float, atol: float, name: str = ""):
    """`load()` gives the model, and pairs of inputs and outputs in their order."""
    checks = [check for pattern, check in RANDOM.items() if fnmatch.fnmatchcase(name, pattern)]

    def case() -> None:
        model, data_sets = load()
        session = tilewright.load(model)
        names = [name for name, _, _ in session.inputs]
        for inputs, outputs in data_sets:
            inputs, outputs = ([as_array(value) for value in side] for side in (inputs, outputs))
            results = session.run(None, dict(zip(names, inputs, strict=False)))
            if checks:
                checks[0](inputs, results, outputs)
                continue
            assert len(results) == len(outputs), f"{len(results)} outputs, {len(outputs)} expected"
            for got, expected in zip(results, outputs, strict=True):
                compare(got, expected, rtol, max(atol, sum_error(name, expected)))

    return case


def sum_error(name: str, expected) -> float:
    """Every result of a Fourier transform is a sum of all elements: it is rounded at the size of the largest."""
    return 1e-7 * float(numpy.abs(expected).max()) if fnmatch.fnmatchcase(name, "node/test_dft*") else 0


def read_value(path: Path, value_type: onnx.TypeProto):
    content = path.read_bytes()
    kind = value_type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def read_folder(folder: Path):
    path = folder / "model.onnx"
    model = onnx.load(path)
    initialised = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initialised]
    data_sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        sides = []
        for side, values in (("input", inputs), ("output", model.graph.output)):
            files = [data / f"{side}_{number}.pb" for number in range(len(values))]
            sides.append([read_value(f, v.type) for f, v in zip(files, values, strict=True) if f.exists()])
        data_sets.append(tuple(sides))
    return str(path), data_sets


def light_input(value: onnx.ValueInfoProto) -> numpy.ndarray:
    """What the package feeds to its light models: ascending numbers in (0, 1)."""
    shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
    count = int(numpy.prod(shape))
    return (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)


def read_light(path: Path):
    model = onnx.load(path)
    initialised = {tensor.name for tensor in model.graph.initializer}
    inputs = [light_input(value) for value in model.graph.input if value.name not in initialised]
    expected = numpy_helper.to_array(onnx.load_tensor(path.with_name(f"{path.stem}_output_0.pb")))
    return str(path), [(inputs, [expected])]


def package_cases():
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            for test in load_model_tests(kind=kind):
                load = (
                    (lambda t=test: (t.model, t.data_sets))
                    if kind == "node"
                    else (lambda t=test: read_folder(Path(t.model_dir)))
                )
                name = f"{kind}/{test.name}"
                found[name] = make_case(load, test.rtol, test.atol, name)
    data = Path(onnx.__file__).parent / "backend/test/data/light"
    for path in sorted(data.glob("*.onnx")):
        found[f"light/{path.stem}"] = make_case(lambda p=path: read_light(p), RTOL, ATOL)
    return found


def cases(directory: Path | None):
    if directory is not None:
        folders = sorted(path.parent for path in directory.rglob("model.onnx"))
        return {
            str(folder.relative_to(directory)): make_case(lambda f=folder: read_folder(f), RTOL, ATOL)
            for folder in folders
        }
    patterns = excluded()
    return {
        name: case
        for name, case in package_cases().items()
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }
