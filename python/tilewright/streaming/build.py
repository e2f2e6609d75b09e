"""From a recorded segment to a graph, by the lowerings of the torch.compile backend."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from .. import _core
from .._core import Dim
from ..torch_backend.described import DescribedTensor
from ..torch_backend.dims import UnknownExpression
from ..torch_backend.host_calls import HostCalls
from ..torch_backend.lowering import Lowering, NotRepresentable, Value, library_type
from ..torch_backend.registry import CannotLower, find_lowering
from . import decomposed
from .layouts import dense_order
from .metadata import ResultLayout
from .naming import Naming, rebuilt, takes_floats
from .segment import Op, Segment

REFUSALS = (
    CannotLower,
    NotRepresentable,
    UnknownExpression,
    NotImplementedError,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    AssertionError,
    RuntimeError,
)


class NoHostCalls(HostCalls):
    """A segment holds only what the library runs."""

    def append(self, lowering: Lowering, node: Node, reason: str) -> Any:
        raise CannotLower(f"{node.target}: {reason}")


class SegmentBuilder:
    """Lowers one segment; numbers that the naming names become symbols."""

    def __init__(self, segment: Segment, naming: Naming) -> None:
        self.segment = segment
        self.naming = naming
        self.fx = Graph()
        self.nodes: dict[int, Node] = {}
        self.module = GraphModule({}, Graph())
        self.lowering = Lowering(self.module, NoHostCalls(), _core.Graph("segment"))
        self.symbols = [Dim.symbol(f"s{name}") for name in range(len(naming.sizes))]
        self.float_symbols = [Dim.float_symbol(f"f{name}") for name in range(len(naming.floats))]

    def dim(self, named: int) -> Any:
        return Dim(named) if named >= 0 else self.symbols[-1 - named]

    def size_argument(self, named: int) -> Any:
        return named if named >= 0 else self.symbols[-1 - named]

    def described(self, row: ResultLayout) -> DescribedTensor:
        shape = tuple(self.dim(self.naming.size(size)) for size in row.sizes)
        return DescribedTensor(shape, self.strides(row, shape), row.dtype)

    def strides(self, row: ResultLayout, shape: Sequence[Any]) -> tuple[Any, ...]:
        order = dense_order(row.sizes, row.strides)
        if order is None or not self.naming.names_sizes:
            return tuple(Dim(stride) for stride in row.strides)
        steps: list[Any] = [Dim(1)] * len(shape)
        step: Any = Dim(1)
        for axis in reversed(order):
            steps[axis] = step
            step = step * shape[axis]
        return tuple(steps)

    def build(self, keys: Any) -> _core.Segment:
        """The compiled segment. `keys`: what Naming.op made of each op."""
        c = self.lowering
        for number, value in enumerate(self.segment.inputs):
            self.add_input(number, value)
        self.add_symbols()
        for op, op_key in zip(self.segment.ops, keys, strict=True):
            self.add_op(op, op_key)
        outputs = [self.value(value) for value, _ in self.segment.outputs]
        for number, value in self.segment.writes:
            target, source = self.value(self.segment.inputs[number]), self.value(value)
            c.graph.op("assign", [target.id, c.expand(source, target.shape).id], {}, [], "")
        c.graph.set_outputs([value.id for value in outputs])
        c.graph.verify()
        strides = []
        for (_, (_, sizes, steps, dtype)), output in zip(self.segment.outputs, outputs, strict=True):
            strides.append(list(self.strides(ResultLayout(sizes, steps, dtype), output.shape)))
        return _core.Segment(c.graph, strides)

    def value(self, number: int) -> Value:
        value = self.lowering.value_of(self.nodes[number])
        if not isinstance(value, Value):
            raise CannotLower(f"{self.nodes[number]} is not computed")
        return value

    def add_input(self, number: int, value: int) -> None:
        described = self.described(self.segment.values[value])
        dtype, shape = library_type(described)
        node = self.fx.placeholder(f"x{number}")
        node.meta["val"] = described
        c = self.lowering
        c.values[node] = c.wrap(c.graph.add_input(dtype, shape, node.name, False), described.dtype)
        self.nodes[value] = node

    def add_symbols(self) -> None:
        """Named numbers that are no size of an input are scalar inputs."""
        graph = self.lowering.graph
        seen = {size for value in graph.inputs for size in graph.type(value)[1]}
        self.scalar_names = [name for name, symbol in enumerate(self.symbols) if symbol not in seen]
        for name, symbol in enumerate(self.symbols):
            if name in self.scalar_names:
                graph.add_scalar_input(symbol)
            graph.set_range(symbol, 2, 2**31 - 1)
        for symbol in self.float_symbols:
            graph.add_scalar_input(symbol)

    def add_op(self, op: Op, key: Any) -> None:
        _, arg_keys, option_keys, _ = key

        def fill(item: Any, own: Any) -> Any:
            return rebuilt(item, own, self.nodes.__getitem__, self.size_argument, self.float_symbols.__getitem__)

        args = tuple(fill(item, own) for item, own in zip(op.args, arg_keys, strict=True))
        kwargs = {name: fill(op.kwargs[name], own) for name, own in option_keys}
        node = self.fx.call_function(op.overload, args, kwargs)
        rows = [None if value is None else self.described(self.segment.values[value]) for value in op.results]
        single = len(rows) == 1 and not op.as_list
        node.meta["val"] = rows[0] if single else rows
        parts = self.parts(node, op, rows)
        self.lower(node, op)
        for value, part in parts:
            if part is not node:
                self.lowering.lower(part)
            self.nodes[value] = part

    def parts(self, node: Node, op: Op, rows: Any) -> list[tuple[int, Node]]:
        if not isinstance(node.meta["val"], list):
            return [] if op.results[0] is None else [(op.results[0], node)]
        parts = []
        for index, value in enumerate(op.results):
            if value is not None and (op.as_list or value in self.used):
                part = self.fx.call_function(operator.getitem, (node, index))
                part.meta["val"] = rows[index]
                parts.append((value, part))
        return parts

    @functools.cached_property
    def used(self) -> set[int]:
        """Values that something reads."""
        stored = [value for value, _ in self.segment.outputs] + [value for _, value in self.segment.writes]
        return {*stored, *(value for op in self.segment.ops for value in op.reads())}

    def lower(self, node: Node, op: Op) -> None:
        if find_lowering(op.overload) is not None:
            self.lowering.lower(node)
        else:
            self.lower_decomposed(node, op)

    def lower_decomposed(self, node: Node, op: Op) -> None:
        """Takes an op apart as the torch.compile backend does, and lowers the parts."""
        c = self.lowering
        inputs: list[Any] = [c.value_of(self.nodes[value]) for value in op.reads()]
        if self.naming.names_sizes:
            module = decomposed.symbolic(op, self.segment)
            if module is None:
                raise CannotLower(f"{op.overload} is taken apart for given sizes only")
            bare, _ = decomposed.without_sizes(op)
            inputs += decomposed.size_arguments(node.args, bare.args)
            inputs += decomposed.size_arguments(list(node.kwargs.values()), list(bare.kwargs.values()))
        else:
            module = decomposed.given(op, self.segment)
        if self.naming.names_floats and takes_floats(op.overload):
            raise CannotLower(f"{op.overload} is taken apart for given numbers only")
        results = decomposed.lower(c, module, inputs)
        c.values[node] = results if isinstance(results, list) else c.fitted(results, node.meta["val"])
