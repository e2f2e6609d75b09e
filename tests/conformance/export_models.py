"""The real models of tests/real_models, imported, exported, and run by onnxruntime (optimiser off) at all of their shapes
with the results of the models they came from. The wheels lie in the given directory, else in models-cache/."""

import fnmatch
import functools
import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path

import onnx

import tilewright


def load_suite(name: str):
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


models = load_suite("models")
node_tests = load_suite("export")


def run_model(model, directory: Path) -> None:
    content = models.read_model(model, directory)
    session = tilewright.load(content)
    with tempfile.TemporaryDirectory() as folder:
        for opset in (17, 23):
            path = f"{folder}/{opset}.onnx"
            tilewright.export(session, path, opset)
            onnx.checker.check_model(path, full_check=True)
            exported = models.make_reference(path)
            taken = {value.name for value in exported.get_inputs()}
            for shape, calls in models.expected_calls(model, content).items():
                for feeds, wanted in calls:
                    needed = {name: value for name, value in feeds.items() if name in taken}
                    models.check(exported.run(None, needed), wanted, model, shape)


def cases(directory: Path | None) -> dict[str, Callable[[], None]]:
    patterns = node_tests.excluded()
    return {
        name: functools.partial(run_model, model, directory or models.CACHE)
        for name, model in models.MODELS.items()
        if not any(fnmatch.fnmatchcase(f"model/{name}", pattern) for pattern in patterns)
    }
