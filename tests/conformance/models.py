"""The real models of tests/real_models at several shapes in mixed order and smallest first, compared with onnxruntime
(optimiser off, one thread). The wheels lie in the given directory, else in models-cache/.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import onnxruntime

import tilewright

sys.path.append(str(Path(__file__).resolve().parents[1]))
from real_models import CACHE, MODELS, Model, read_model
from real_models.inputs import Feeds


def make_reference(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def expected_calls(model: Model, content: bytes) -> dict[tuple[int, ...], list[tuple[Feeds, list]]]:
    """For each shape one call, or two where the second takes the state that the first gave."""
    reference = make_reference(content)
    names = [output.name for output in reference.get_outputs()]
    calls = {}
    for shape in model.shapes:
        feeds = model.make(*shape)
        calls[shape] = [(feeds, reference.run(None, feeds))]
        if model.state:
            results = dict(zip(names, calls[shape][0][1], strict=True))
            second = feeds | {taken: results[given] for given, taken in model.state}
            calls[shape].append((second, reference.run(None, second)))
    return calls


def check(got: list, wanted: list, model: Model, shape: tuple[int, ...]) -> None:
    for number, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        where = f"output {number} at {shape}"
        assert mine.dtype == theirs.dtype, f"{where}: {mine.dtype}, {theirs.dtype} expected"
        assert mine.shape == theirs.shape, f"{where}: {mine.shape}, {theirs.shape} expected"
        worst = numpy.abs(mine.astype(float) - theirs).max(initial=0)
        close = numpy.isclose(mine, theirs, atol=model.atol, rtol=model.rtol, equal_nan=True)
        off = close.size - close.sum()
        assert off <= model.misses * close.size, (
            f"{where}: {off} differ, by up to {worst:.2e}, {model.atol:.0e} allowed"
        )


def run_model(model: Model, directory: Path) -> None:
    content = read_model(model, directory)
    calls = expected_calls(model, content)
    mixed = list(numpy.random.default_rng(5).permutation(len(model.shapes))) * 2
    for order in (mixed, range(len(model.shapes))):
        session = tilewright.load(content)
        kept = []
        for index in order:
            shape = model.shapes[index]
            for feeds, wanted in calls[shape]:
                kept.append((shape, session.run(None, feeds), wanted))
                check(*kept[-1][1:], model, shape)
        for shape, got, wanted in kept:  # later calls left the answers as they were
            check(got, wanted, model, shape)


def cases(directory: Path | None) -> dict[str, Callable[[], None]]:
    directory = directory or CACHE
    return {name: functools.partial(run_model, model, directory) for name, model in MODELS.items()}
