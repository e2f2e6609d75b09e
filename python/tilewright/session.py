"""Sessions: models that run on numpy arrays or on anything with DLPack.

A session also takes the calls of onnxruntime.InferenceSession, so that a program may switch by one import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from .elements import Elements, from_carrier, to_carrier

# ONNX's names of element types, as onnxruntime spells them.
_TYPE_NAMES = {
    "f32": "float",
    "f64": "double",
    "f16": "float16",
    "bf16": "bfloat16",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "bool": "bool",
}


@dataclass(frozen=True)
class TensorArgument:
    """An input or output as onnxruntime describes it: a size is a number, or the text of its expression."""

    name: str
    shape: list[int | str]
    type: str


class Session:
    """A compiled model with its weights. Thread-safe; every call may have other sizes."""

    def __init__(self, model: _core.Model) -> None:
        self._model = model
        self._inputs = model.inputs
        self._outputs = model.outputs
        self._input_names = [name for name, _, _ in self._inputs]
        self._output_names = [name for name, _, _ in self._outputs]
        self._elements = Elements(model.metadata)
        self._scalars = [symbol.name for symbol in model.scalars]
        self._takes = {*self._input_names, *self._scalars}

    @property
    def inputs(self) -> list[tuple[str, _core.DType, list[_core.Dim]]]:
        """(name, dtype, shape) of each input. Of an ONNX element type without a dtype: that of its carrier; get_inputs()
        names the type itself."""
        return self._inputs

    @property
    def outputs(self) -> list[tuple[str, _core.DType | None, list[_core.Dim] | None]]:
        """(name, dtype, shape) of each output; None for what only a call decides."""
        return self._outputs

    def run(self, inputs: Any, feeds: Mapping[str, Any] | None = None, run_options: Any = None) -> Any:
        """Runs the model: `run({name: array}) -> {name: array}`, or `run(output_names, {name: array}) -> [array]`, where
        output_names may be None for all of them.

        Values are arrays (numpy, or DLPack as torch tensors are) and, for scalar inputs, numbers. The results are of the
        kind of the inputs: numpy arrays, or what the inputs' library makes of DLPack. Raises ValueError or TypeError,
        which name the input, for what is missing, unknown or of the wrong type.
        """
        if feeds is None:
            return self._call(inputs)
        if inputs is None:
            return list(self._call(feeds).values())
        unknown = [name for name in inputs if name not in self._output_names]
        if unknown:
            raise ValueError(f"unknown outputs: {unknown}; the model gives {self._output_names}")
        results = self._call(feeds)
        return [results[name] for name in inputs]

    def _call(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if inputs.keys() != self._takes:
            takes = [*self._input_names, *self._scalars]
            missing = [name for name in takes if name not in inputs]
            problem = (
                f"missing inputs: {missing}" if missing else f"unknown inputs: {list(inputs.keys() - self._takes)}"
            )
            raise ValueError(f"{problem}; the model takes {takes}")
        if self._elements:
            return self._call_carried(inputs)
        tensors = [_to_tensor(inputs[name]) for name in self._input_names]
        results = self._model.run(tensors, [inputs[name] for name in self._scalars])
        convert = _converter(next((inputs[name] for name in self._input_names), None))
        return {name: convert(result) for name, result in zip(self._output_names, results, strict=True)}

    def _call_carried(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A call of a model with element types that dtypes only carry. Their arrays are numpy's."""
        elements = self._elements
        strings = elements.strings()
        tensors = []
        for name in self._input_names:
            element = elements.inputs.get(name)
            value = inputs[name] if element is None else to_carrier(inputs[name], element, strings, name)
            tensors.append(_to_tensor(value))
        results = self._model.run(tensors, [inputs[name] for name in self._scalars])
        plain = [inputs[name] for name in self._input_names if name not in elements.inputs]
        convert = _converter(plain[0] if plain else None)
        out = {}
        for name, result in zip(self._output_names, results, strict=True):
            element = elements.outputs.get(name)
            out[name] = convert(result) if element is None else from_carrier(result.numpy(), element, strings)
        return out

    def get_inputs(self) -> list[TensorArgument]:
        return [_describe(*row, self._elements.inputs.get(row[0])) for row in self._inputs]

    def get_outputs(self) -> list[TensorArgument]:
        return [_describe(*row, self._elements.outputs.get(row[0])) for row in self._outputs]

    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Stores the model as one file."""
        self._model.save(os.fspath(path))

    def trim(self) -> None:
        """Returns memory that no call uses now to the system."""
        self._model.trim()


class InferenceSession(Session):
    """A Session made as onnxruntime makes its own. Options and providers of onnxruntime have no meaning here."""

    def __init__(
        self, path_or_bytes: Any, sess_options: Any = None, providers: Sequence[Any] | None = None, **_: Any
    ) -> None:
        super().__init__(_load_model(path_or_bytes))


def _describe(
    name: str, dtype: _core.DType | None, shape: list[_core.Dim] | None, element: str | None
) -> TensorArgument:
    sizes = [str(dim) if dim.constant is None else dim.constant for dim in shape or []]
    kind = element or ("" if dtype is None else _TYPE_NAMES[_dtype_name(dtype)])
    return TensorArgument(name, sizes, f"tensor({kind})" if kind else "")


def _dtype_name(dtype: _core.DType) -> str:
    return str(dtype).rpartition(".")[2]


def _to_tensor(value: Any) -> _core.Tensor:
    is_numpy = type(value).__module__ == "numpy"
    if hasattr(value, "__dlpack__") and (not is_numpy or _is_native(value)):
        return _core.Tensor(value)
    import numpy

    array = numpy.asarray(value)
    if str(array.dtype) == "bfloat16":  # numpy knows the type by an extension, which DLPack does not
        array = numpy.ascontiguousarray(array)
        return _core.Tensor.from_pointer("bf16", list(array.shape), array.ctypes.data, None, array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return _core.Tensor(array)


def _is_native(array: Any) -> bool:
    """Whether the elements of a numpy array are numbers or truth values in the machine's byte order."""
    dtype = array.dtype
    return dtype.kind in "fiub" and dtype.isnative


def _to_numpy(tensor: _core.Tensor) -> Any:
    if tensor.dtype != _core.DType.bf16:
        return tensor.numpy()
    import ml_dtypes

    bits = _core.Tensor.from_pointer("i16", tensor.shape, tensor.address, tensor.strides, tensor)
    return bits.numpy().view(ml_dtypes.bfloat16)


def _converter(example: Any) -> Any:
    if type(example).__module__.partition(".")[0] == "torch":
        import torch

        return torch.from_dlpack
    return _to_numpy


def _load_model(source: Any) -> _core.Model:
    if hasattr(source, "SerializeToString"):  # onnx.ModelProto
        source = source.SerializeToString()
    return _core.Model.load(bytes(source) if isinstance(source, (bytes, bytearray, memoryview)) else os.fspath(source))


def load(source: Any) -> Session:
    """The model in a file, in the bytes of one, or in an onnx.ModelProto. A file is a stored model, an ONNX model (with
    its external data beside it), or a graph in text form."""
    return Session(_load_model(source))
