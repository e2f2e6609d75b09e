"""Sessions: models that run on numpy arrays or on anything with DLPack. The calls of onnxruntime are in onnxruntime.py."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
    """An input or output as onnxruntime describes it: a size is a number, or the text of its expression. The type of a
    sequence is "seq(tensor(float))", that of an optional value "optional(tensor(float))"."""

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
        self._kinds = dict(zip(self._input_names, model.input_kinds, strict=True))
        self._elements = Elements(model.metadata)
        self._scalars = [symbol.name for symbol in model.scalars]
        self._of_rank_0 = [name for name, _, shape in self._inputs if shape == [] and self._kinds[name] == "tensor"]
        self._is_plain = (
            not self._elements and set(model.input_kinds) <= {"tensor"} and set(model.output_kinds) <= {"tensor"}
        )
        optional = [name for name in self._input_names if self._kinds[name].startswith("optional")]
        self._required = {*self._input_names, *self._scalars}.difference(optional)
        self._takes = [*self._input_names, *self._scalars]

    @property
    def inputs(self) -> list[tuple[str, _core.DType, list[_core.Dim] | None]]:
        """(name, dtype, shape) of each input; a shape of None has no fixed rank. Of an ONNX element type without a dtype:
        that of its carrier; get_inputs() names the type itself."""
        return self._inputs

    @property
    def outputs(self) -> list[tuple[str, _core.DType | None, list[_core.Dim] | None]]:
        """(name, dtype, shape) of each output; None for what only a call decides."""
        return self._outputs

    @property
    def metadata(self) -> dict[str, str]:
        """Texts that whoever made the model put beside it."""
        return {key: text for key, text in self._model.metadata.items() if not key.startswith("tilewright.")}

    def run(self, inputs: Any, feeds: Mapping[str, Any] | None = None, run_options: Any = None) -> Any:
        """Runs the model: `run({name: array}) -> {name: array}`, or `run(output_names, {name: array}) -> [array]`, where
        output_names may be None for all of them.

        Values are arrays (numpy, or DLPack as torch tensors are), for scalar inputs numbers, for sequences lists of
        arrays, and None for an optional input without a value. The results are of the kind of the inputs: numpy arrays,
        or what the inputs' library makes of DLPack. Raises ValueError or TypeError, which name the input, for what is
        missing, unknown or of the wrong type.
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
        if inputs.keys() != self._required:
            takes = self._takes
            missing = [name for name in takes if name in self._required and name not in inputs]
            unknown = [name for name in inputs if name not in takes]
            if missing or unknown:
                problem = f"missing inputs: {missing}" if missing else f"unknown inputs: {unknown}"
                raise ValueError(f"{problem}; the model takes {takes}")
        if self._of_rank_0:
            inputs = {**inputs, **{name: _without_axes(inputs[name]) for name in self._of_rank_0}}
        scalars = [inputs[name] for name in self._scalars]
        convert = _converter(next((inputs[name] for name in self._input_names if name in inputs), None))
        if self._is_plain:
            results = self._model.run([_to_input(name, inputs[name]) for name in self._input_names], scalars)
            return {
                # An output whose type the model does not give may still be a sequence.
                name: convert(result) if type(result) is _core.Tensor else self._from_core(name, result, convert, None)
                for name, result in zip(self._output_names, results, strict=True)
            }
        texts = _core.CallTexts(self._model)
        values = [self._to_core(name, inputs.get(name), texts) for name in self._input_names]
        results = self._model.run(values, scalars, texts)
        return {
            name: self._from_core(name, result, convert, texts)
            for name, result in zip(self._output_names, results, strict=True)
        }

    def _to_core(self, name: str, value: Any, texts: _core.CallTexts) -> Any:
        """A tensor, a list of them, or None."""
        kind = self._kinds[name]
        if value is None and kind.startswith("optional"):
            return None
        element = self._elements.inputs.get(name)

        def to_tensor(item: Any) -> _core.Tensor:
            return _to_input(name, item if element is None else to_carrier(item, element, texts, name))

        if not kind.endswith("sequence"):
            return to_tensor(value)
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"input '{name}' is a sequence: expected a list of arrays, got {type(value).__name__}")
        return [to_tensor(item) for item in value]

    def _from_core(self, name: str, result: Any, convert: Any, texts: _core.CallTexts | None) -> Any:
        if result is None:
            return None
        if isinstance(result, list):
            return [self._from_core(name, item, convert, texts) for item in result]
        element = self._elements.outputs.get(name)
        return convert(result) if element is None or texts is None else from_carrier(result.numpy(), element, texts)

    def get_inputs(self) -> list[TensorArgument]:
        return [
            _describe(name, dtype, shape, kind, self._elements.inputs.get(name))
            for (name, dtype, shape), kind in zip(self._inputs, self._model.input_kinds, strict=True)
        ]

    def get_outputs(self) -> list[TensorArgument]:
        return [
            _describe(name, dtype, shape, kind, self._elements.outputs.get(name))
            for (name, dtype, shape), kind in zip(self._outputs, self._model.output_kinds, strict=True)
        ]

    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def weight_names(self) -> list[str]:
        """Of the weights that set_weights can replace."""
        return self._model.weight_names()

    def weight(self, name: str) -> Any:
        """The value of a weight now, a numpy array."""
        return _to_numpy(self._model.weight(name))

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Replaces weights, all at once, for the calls that begin later. The content is copied. Raises ValueError for an
        unknown name or another type or shape than the weight's."""
        self._model.set_weights({name: _to_tensor(value) for name, value in weights.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Stores the model as one file, with the weights of now. An ONNX model that needs more than one graph, or works
        on strings, is stored as an ONNX model without external data; load() reads both."""
        self._model.save(os.fspath(path))

    def trim(self) -> None:
        """Returns memory that no call uses now to the system."""
        self._model.trim()


def _describe(
    name: str, dtype: _core.DType | None, shape: list[_core.Dim] | None, kind: str, element: str | None
) -> TensorArgument:
    sizes = [str(dim) if dim.constant is None else dim.constant for dim in shape or []]
    text = element or ("" if dtype is None else _TYPE_NAMES[_dtype_name(dtype)])
    if text:
        text = f"tensor({text})"
        if kind.endswith("sequence"):
            text = f"seq({text})"
        if kind.startswith("optional"):
            text = f"optional({text})"
    return TensorArgument(name, sizes, text)


def _dtype_name(dtype: _core.DType) -> str:
    return str(dtype).rpartition(".")[2]


def _without_axes(value: Any) -> Any:
    """An array of one element and one axis stands for a scalar too."""
    return value.reshape(()) if getattr(value, "shape", ()) == (1,) else value


def _to_tensor(value: Any) -> _core.Tensor:
    is_numpy = type(value).__module__ == "numpy"
    if hasattr(value, "__dlpack__") and (not is_numpy or _is_native(value)):
        return _core.Tensor(value)
    import numpy

    array = numpy.asarray(value)
    if str(array.dtype) == "bfloat16":  # numpy knows the type by an extension, which DLPack does not
        shape = list(array.shape)  # of a scalar, ascontiguousarray makes a row
        array = numpy.ascontiguousarray(array)
        return _core.Tensor.from_pointer("bf16", shape, array.ctypes.data, None, array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return _core.Tensor(array)


def _to_input(name: str, value: Any) -> _core.Tensor:
    try:
        return _to_tensor(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"input '{name}': {error}") from None


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
