"""Element types of ONNX that the library has no dtype for, at the border of a session.

A model says in its metadata which of its inputs and outputs have one. Arrays go in as the dtype that carries their
elements (uint16 as i32, an 8-bit float as f32, a string as its number) and come out again as what they are. numpy knows
the small floats and integers by the package ml_dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core

_INPUT = "tilewright.element.input."
_OUTPUT = "tilewright.element.output."

# The name of the element type, numpy's or ml_dtypes' name of it, and numpy's name of the carrier.
_ROWS = {
    "uint16": ("uint16", "int32"),
    "uint32": ("uint32", "int64"),
    "uint64": ("uint64", "int64"),
    "uint4": ("uint4", "uint8"),
    "int4": ("int4", "int8"),
    "uint2": ("uint2", "uint8"),
    "int2": ("int2", "int8"),
    "float8e4m3fn": ("float8_e4m3fn", "float32"),
    "float8e4m3fnuz": ("float8_e4m3fnuz", "float32"),
    "float8e5m2": ("float8_e5m2", "float32"),
    "float8e5m2fnuz": ("float8_e5m2fnuz", "float32"),
    "float8e8m0": ("float8_e8m0fnu", "float32"),
    "float4e2m1": ("float4_e2m1fn", "float32"),
}


class Elements:
    """What the metadata of a model says about element types."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self.inputs = _with_prefix(metadata, _INPUT)
        self.outputs = _with_prefix(metadata, _OUTPUT)

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


def _to_numbers(array: Any, texts: _core.CallTexts) -> Any:
    import numpy

    flat = [text.decode() if isinstance(text, bytes) else str(text) for text in array.flat]
    return numpy.array(texts.numbers(flat), numpy.int64).reshape(array.shape)


def _to_texts(numbers: Any, texts: _core.CallTexts) -> Any:
    import numpy

    out = numpy.empty(numbers.size, object)
    out[:] = texts.texts(numbers.ravel().tolist())
    return out.reshape(numbers.shape)


def to_carrier(value: Any, element: str, texts: _core.CallTexts, name: str) -> Any:
    """The array of the carrier. Raises TypeError for another element type than the model's."""
    import numpy

    array = numpy.asarray(value)
    if element == "string":
        if array.dtype.kind not in "OSUT":
            raise TypeError(f"input '{name}' must be of strings, its dtype is {array.dtype}")
        return _to_numbers(array, texts)
    if array.dtype != _dtype(element):
        raise TypeError(f"input '{name}' must be {element}, its dtype is {array.dtype}")
    carrier = _ROWS[element][1]
    native = array.astype(array.dtype.newbyteorder("="))
    return native.astype(numpy.int64, casting="unsafe") if element == "uint64" else native.astype(carrier)


def from_carrier(array: Any, element: str, texts: _core.CallTexts) -> Any:
    return _to_texts(array, texts) if element == "string" else array.astype(_dtype(element))


def _dtype(element: str) -> Any:
    import numpy

    name = _ROWS[element][0]
    if element in ("uint16", "uint32", "uint64"):
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(f"arrays of {element} need the package ml_dtypes") from error
    return numpy.dtype(getattr(ml_dtypes, name))


def _with_prefix(metadata: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: text for key, text in metadata.items() if key.startswith(prefix)}
