"""Exports models to ONNX: sessions, compiled functions, and files in any form that load() reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from . import _core
from .session import Session


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    path: str
    opset: int
    bytes: int  # of the model and of the file beside it
    has_external_file: bool  # large constants lie in PATH.data
    operators: dict[str, int]  # how many nodes of each
    notes: list[str]  # what ONNX has no way to say: checks that are left out, state that became an output


def export(
    model: Any,
    path: str | os.PathLike[str],
    opset: int | None = None,
    *,
    standard_only: bool = False,
    simplify: bool = True,
    external_from: int = 1 << 30,
) -> Exported:
    """Writes `model` as an ONNX file: a Session, a compiled function (after a call), or the path of a file that load()
    reads. Sizes stay free under their names.

    opset: 13 to what the `onnx` package of the build knows, 20 if none is given. standard_only: no operators of
    com.microsoft (4-bit matrix products). simplify: let the optimiser's passes find larger operators first, else the
    graph is written as it was read. external_from: bytes of constants from which they lie in PATH.data.

    Raises NotImplementedError, which names the op, the value and the opset, for what the opset cannot express.
    """
    target = os.fspath(path)
    options = (opset or _core.DEFAULT_EXPORT_OPSET, standard_only, simplify, external_from)
    if isinstance(model, Session):
        report = _core.export_model(model._model, target, *options)
    elif isinstance(model, (str, os.PathLike)):
        report = _core.export_file(os.fspath(model), target, *options)
    else:
        from .torch_backend.explain import export_compiled

        report = export_compiled(model, target, *options)
    return Exported(path=target, opset=options[0], **report)
