"""`conformance export --symbolic`: the node tests with a symbol for every size of every input, exported once and run by
onnxruntime at the sizes of the test and at others, where the reference evaluator is the witness. A case whose structure
depends on a size is no one graph then, and is passed over: the suite `export` has it with its own sizes."""

import fnmatch
import importlib.util
import tempfile
import warnings
from pathlib import Path

import numpy
from onnx.backend.test.loader import load_model_tests

_spec = importlib.util.spec_from_file_location("conformance_export", Path(__file__).with_name("export.py"))
export = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(export)
symbolic = export.symbolic
OPSETS = (17, 23)
OWN_SIZES = {"test_convtranspose_pads"}  # onnxruntime refuses results without elements, which others have


def other_calls(name: str, model, evaluator, feeds: dict):
    """(feeds, results) at other legal sizes."""
    kept = symbolic.kept_inputs(name, model)
    for change in symbolic.CHANGES if name not in OWN_SIZES else ():
        at = {name: value if name in kept else symbolic.resized(value, change) for name, value in feeds.items()}
        if (wanted := symbolic.expected_at(evaluator, at)) is not None:
            yield at, wanted


def make_case(test):
    def case() -> None:
        model = symbolic.with_symbols(test.model)
        session = export.load(model)
        if session is None:
            return
        names = [name for name, _, _ in session.inputs]
        evaluator = symbolic.evaluator_of(model)
        with tempfile.TemporaryDirectory() as folder:
            for opset in OPSETS:
                try:
                    runner = export.export_checked(session, f"{folder}/{opset}.onnx", opset)
                except NotImplementedError as error:
                    if "no one graph" in str(error):
                        return
                    raise
                if runner is None:
                    continue
                for inputs, outputs in test.data_sets:
                    inputs, outputs = ([export.static.as_array(value) for value in side] for side in (inputs, outputs))
                    feeds = dict(zip(names, inputs, strict=False))
                    export.check_results(runner, feeds, outputs, test)
                    if not all(isinstance(value, numpy.ndarray) for value in inputs):
                        continue
                    own = symbolic.expected_at(evaluator, feeds)
                    if own is None or not symbolic.agrees(own, outputs, test):
                        continue
                    for at, wanted in other_calls(test.name, model, evaluator, feeds):
                        export.check_results(runner, at, wanted, test)

    return case


def cases(directory: Path | None):
    if directory is not None:
        raise SystemExit("the suite export_symbolic comes with the onnx package and reads no directory")
    patterns = export.static.excluded() + [pattern for pattern in export.excluded() if "@" not in pattern]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    return {
        f"node/{test.name}": make_case(test)
        for test in tests
        if not any(fnmatch.fnmatchcase(f"symbolic/{test.name}", pattern) for pattern in patterns)
        and not any(fnmatch.fnmatchcase(f"node/{test.name}", pattern) for pattern in patterns)
    }
