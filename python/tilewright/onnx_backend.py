"""Tilewright as a backend of the `onnx` package (onnx.backend.base.Backend).

import tilewright.onnx_backend as backend
outputs = backend.prepare(model).run(inputs)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .session import Session, load


class TilewrightRep(BackendRep):
    """A prepared model."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """The outputs, for inputs by name or in the order of the model's inputs."""
        names = [name for name, _, _ in self.session.inputs]
        if not isinstance(inputs, Mapping):
            values = list(inputs) if isinstance(inputs, (Sequence, tuple)) else [inputs]
            if len(values) != len(names):
                raise ValueError(f"{len(values)} inputs, the model takes {names}")
            inputs = dict(zip(names, values, strict=True))
        outputs = [name for name, _, _ in self.session.outputs]
        return namedtupledict("Outputs", outputs)(*self.session.run(None, inputs))


class TilewrightBackend(Backend):
    """Runs models on the CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> TilewrightRep:
        if not cls.supports_device(device):
            raise ValueError(f"no device {device!r}: there is the CPU")
        return TilewrightRep(load(model))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **options: Any
    ) -> tuple[Any, ...]:
        """Runs one operator of the newest opset, or of options["opset_version"]."""
        import numpy

        arrays = [numpy.asarray(value) for value in inputs]
        given = [name for name in node.input if name]
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [
                onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for name, array in zip(given, arrays, strict=True)
            ],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        version = options.get("opset_version", onnx.defs.onnx_opset_version())
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
        return cls.prepare(model, device).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.partition(":")[0] == "CPU"


is_compatible = TilewrightBackend.is_compatible
prepare = TilewrightBackend.prepare
run = TilewrightBackend.run_model
run_model = TilewrightBackend.run_model
run_node = TilewrightBackend.run_node
supports_device = TilewrightBackend.supports_device
