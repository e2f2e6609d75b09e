"""Runs of exported models, for tests: by onnxruntime, and by the reference evaluator where that has no kernel."""

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from tilewright import _core

OPSETS = (13, 17, 20, 23, 26)
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation", "is invalid", "Unsupported type")


def export_graph(
    graph: _core.Graph, path: Path, opset: int, weights: dict[str, np.ndarray] | None = None, simplify: bool = False
) -> onnx.ModelProto:
    """The exported model, checked."""
    tensors = {name: _core.Tensor(array) for name, array in (weights or {}).items()}
    _core.export_graph(graph, tensors, {}, str(path), opset, False, simplify, 1 << 30)
    model = onnx.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx.checker.check_model(model, full_check=True)
    return model


def run_exported(model: onnx.ModelProto | str, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    source = model if isinstance(model, str) else model.SerializeToString()
    try:
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no class of their own
        if not any(reason in str(error) for reason in NO_KERNEL):
            raise
        evaluator = ReferenceEvaluator(model)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return evaluator.run(None, {name: feeds[name] for name in evaluator.input_names})
    return session.run(None, {value.name: np.asarray(feeds[value.name]) for value in session.get_inputs()})


def refused(error: NotImplementedError, opset: int) -> bool:
    """Whether an old opset may answer so; the newest must not."""
    return opset != OPSETS[-1] and "opset" in str(error)


def load_graph(text: str) -> _core.Graph:
    graph = _core.Graph.parse(text)
    graph.verify()
    return graph
