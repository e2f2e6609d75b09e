"""Ops without a lowering: they run on torch, in the middle of a run of the compiled graph.

A host call gets its tensors as views of memory that is valid for the call, numbers as rank-0 tensors, and returns tensors that
torch owns. A result that shares memory with an input is copied. Counted per op, listed by explain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_flatten, tree_unflatten

from .. import _core
from .._core import Dim

if TYPE_CHECKING:
    from .lowering import Lowering


@dataclass(frozen=True)
class Slot:
    """The place of a host call's input in the arguments of the op. `kind`: tensor, int, float or bool."""

    index: int
    kind: str


@dataclass
class HostFunction:
    """One op with its arguments; called with the run's tensors."""

    name: str
    target: Callable[..., Any]
    arguments: list[Any]  # flat, with Slots in place of tensors and symbolic numbers
    structure: Any
    reason: str
    calls: int = 0

    def __call__(self, inputs: list[_core.Tensor]) -> list[_core.Tensor]:
        self.calls += 1
        tensors = [torch.from_dlpack(tensor) for tensor in inputs]
        flat = [fill(item, tensors) if isinstance(item, Slot) else item for item in self.arguments]
        args, kwargs = tree_unflatten(flat, self.structure)
        with torch.no_grad():
            results = self.target(*args, **kwargs)
        results = results if isinstance(results, (list, tuple)) else [results]
        borrowed = {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}
        return [_core.Tensor(owned(result, borrowed)) for result in results if isinstance(result, torch.Tensor)]


def fill(slot: Slot, tensors: list[torch.Tensor]) -> Any:
    tensor = tensors[slot.index]
    if slot.kind == "tensor":
        return tensor
    number = tensor.item()
    return bool(number) if slot.kind == "bool" else number


def owned(result: torch.Tensor, borrowed: set[int]) -> torch.Tensor:
    """`result` in contiguous memory that outlives the call."""
    result = result.detach().contiguous()
    shares = result.numel() > 0 and result.untyped_storage().data_ptr() in borrowed
    return result.clone() if shares else result


@dataclass
class HostCalls:
    """The host functions of one compiled graph and of its regions."""

    functions: list[HostFunction] = field(default_factory=list)
    without_kernel: frozenset[str] = frozenset()  # graph ops that the runtime refused: what needs one runs on torch

    def __call__(self, target: int, inputs: list[_core.Tensor]) -> list[_core.Tensor]:
        return self.functions[target](inputs)

    def append(self, lowering: Lowering, node: Node, reason: str) -> Any:
        """Appends a host call for the node and returns its results."""
        check_functional(node.target)
        fake = node.meta.get("val")
        fakes = list(fake) if isinstance(fake, (list, tuple)) else [fake]
        values = self.call(lowering, node.target, (node.args, node.kwargs), fakes, reason)
        return values if isinstance(fake, (list, tuple)) else values[0]

    def call(self, lowering: Lowering, target: Any, arguments: Any, fakes: list[Any], reason: str) -> list[Any]:
        """Appends a host call of `target` with the FX arguments (args, kwargs) and results like `fakes`."""
        from .lowering import NotRepresentable, Value, library_type

        inputs: list[Value] = []

        def slot_of(argument: Any) -> Any:
            if not isinstance(argument, Node):
                return lowering.argument(argument)
            value = lowering.value_of(argument)
            if isinstance(value, Dim):
                inputs.append(lowering.scalar(value, torch.float64 if value.is_float else torch.int64))
                is_bool = isinstance(argument.meta.get("val"), torch.SymBool)
                return Slot(len(inputs) - 1, "bool" if is_bool else "number")
            if not isinstance(value, Value):
                return value
            inputs.append(value)
            return Slot(len(inputs) - 1, "tensor")

        flat, structure = tree_flatten(arguments, is_leaf=lambda x: isinstance(x, (Node, GraphModule)))
        slots = [slot_of(item) for item in flat]
        tensors = [item for item in fakes if item is not None]
        if any(not isinstance(item, torch.Tensor) for item in tensors):
            raise NotRepresentable(f"{target} returns a number ({reason})")
        types = [library_type(item) for item in tensors]
        lowering.bound.update(symbol.name for symbol in lowering.late_symbols() if symbol.is_symbol)
        self.functions.append(HostFunction(str(target), target, slots, structure, reason))
        results = lowering.graph.host_call(len(self.functions) - 1, [x.id for x in inputs], types, lowering.label)
        wrapped = iter([lowering.wrap(result, item.dtype) for result, item in zip(results, tensors, strict=True)])
        return [None if item is None else next(wrapped) for item in fakes]


def check_functional(target: Any) -> None:
    """A host call must not write to its inputs."""
    from .lowering import NotRepresentable

    schema = getattr(target, "_schema", None)
    if schema is not None and schema.is_mutable:
        raise NotRepresentable(f"{target} writes to its arguments")
