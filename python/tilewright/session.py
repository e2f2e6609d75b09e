"""Sessions: stored models that run on numpy arrays or on anything with DLPack."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _core


class Session:
    """A compiled model with its weights. Thread-safe; every call may have other sizes."""

    def __init__(self, model: _core.Model) -> None:
        self._model = model

    @property
    def inputs(self) -> list[tuple[str, _core.DType, list[_core.Dim]]]:
        """(name, dtype, shape) of each input."""
        return self._model.inputs

    @property
    def outputs(self) -> list[tuple[str, _core.DType, list[_core.Dim]]]:
        """(name, dtype, shape) of each output."""
        return self._model.outputs

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model. Values are arrays (numpy, or DLPack as torch tensors are) and, for scalar inputs, numbers.

        The results are of the kind of the inputs: numpy arrays, or what the inputs' library makes of DLPack.
        Raises ValueError or TypeError, which name the input, for what is missing, unknown or of the wrong type.
        """
        names = [name for name, _, _ in self.inputs]
        scalars = [symbol.name for symbol in self._model.scalars]
        missing = [name for name in [*names, *scalars] if name not in inputs]
        unknown = [name for name in inputs if name not in names and name not in scalars]
        if missing or unknown:
            problem = f"missing inputs: {missing}" if missing else f"unknown inputs: {unknown}"
            raise ValueError(f"{problem}; the model takes {[*names, *scalars]}")
        tensors = [_core.Tensor(inputs[name]) for name in names]
        results = self._model.run(tensors, [inputs[name] for name in scalars])
        convert = _converter(next((inputs[name] for name in names), None))
        return {name: convert(result) for (name, _, _), result in zip(self.outputs, results, strict=True)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Stores the model as one file."""
        self._model.save(os.fspath(path))

    def trim(self) -> None:
        """Returns memory that no call uses now to the system."""
        self._model.trim()


def _converter(example: Any) -> Any:
    if type(example).__module__.partition(".")[0] == "torch":
        import torch

        return torch.from_dlpack
    return lambda tensor: tensor.numpy()


def load(source: str | os.PathLike[str] | bytes) -> Session:
    """The model in a file, or in the bytes of one."""
    return Session(_core.Model.load(source if isinstance(source, bytes) else os.fspath(source)))
