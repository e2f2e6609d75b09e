"""A tenth of the node tests of the `onnx` package, always the same: in, out, and through onnxruntime. All of them:
./dev conformance export."""

import importlib.util
import random
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[1] / "conformance/export.py"
_spec = importlib.util.spec_from_file_location("conformance_export", PATH)
suite = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(suite)
CASES = suite.cases(None)
SAMPLE = random.Random(1).sample(sorted(CASES), len(CASES) // 10)


@pytest.mark.parametrize("name", SAMPLE)
def test_exported(name):
    CASES[name]()


def test_the_list_of_exclusions_only_shrinks():
    assert len(suite.excluded()) <= 99
