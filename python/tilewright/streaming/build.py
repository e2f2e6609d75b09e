"""From a recorded segment to a graph, by the lowerings of the torch.compile backend."""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from .. import _core
from .._core import Dim
from ..torch_backend.decompositions import decomposition_table
from ..torch_backend.described import DescribedTensor
from ..torch_backend.dims import UnknownExpression
from ..torch_backend.host_calls import HostCalls
from ..torch_backend.lowering import Lowering, NotRepresentable, Value, library_type
from ..torch_backend.registry import CannotLower, find_lowering
from .layouts import dense_order
from .metadata import ResultLayout
from .naming import Naming, rebuilt, symint_positions
from .refs import Ref
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
        module = decomposed(op, self.segment)
        if self.naming.names_sizes and not is_size_free(module, op):
            raise CannotLower(f"{op.overload} is taken apart for given sizes only")
        c = self.lowering
        sources = [self.nodes[value] for value in op.reads()]
        placeholders = [inner for inner in module.graph.nodes if inner.op == "placeholder"]
        outer, c.module = c.module, module
        for inner, source in zip(placeholders, sources, strict=True):
            c.values[inner] = c.value_of(source)
        output = c.run_nodes()
        c.module = outer
        results: Any = output.args[0]
        if isinstance(results, (list, tuple)):
            c.values[node] = [None if one is None else c.value_of(one) for one in results]
        else:
            c.values[node] = c.fitted(c.value_of(results), node.meta["val"])


_decomposed: OrderedDict[Any, GraphModule] = OrderedDict()
MAX_DECOMPOSED = 2048


def decomposed(op: Op, segment: Segment) -> GraphModule:
    """The op as an FX graph over its tensors, by torch's decompositions; made once for each kind of arguments."""
    rows = [segment.values[value] for value in op.reads()]
    key = (op.overload, arguments_key((op.args, op.kwargs)), *rows, torch.get_default_dtype())
    module = _decomposed.get(key)
    if module is None:
        module = _decomposed[key] = _traced(op, rows)
        if len(_decomposed) > MAX_DECOMPOSED:
            _decomposed.popitem(last=False)
    return module


def _traced(op: Op, rows: Sequence[ResultLayout]) -> GraphModule:
    def call(*tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        return op.call(lambda _: next(given))

    examples = [torch.empty_strided(row.sizes, row.strides, dtype=row.dtype) for row in rows]
    return make_fx(call, decomposition_table=decomposition_table(), tracing_mode="fake")(*examples)


def arguments_key(item: Any) -> Any:
    """Arguments as a key, whatever values they refer to."""
    if isinstance(item, Ref):
        return Ref
    if isinstance(item, (list, tuple)):
        return tuple(arguments_key(one) for one in item)
    if isinstance(item, dict):
        return tuple((name, arguments_key(one)) for name, one in item.items())
    return (type(item), repr(item))


def is_size_free(module: GraphModule, op: Op) -> bool:
    """True if no size was written into the graph, so that it holds for every size."""
    if torch.Tag.pointwise not in op.overload.tags:
        return False
    for node in module.graph.nodes:
        if node.op == "get_attr":
            return False
        if node.op != "call_function":
            continue
        positions, names = symint_positions(node.target)
        if any(at in positions for at in range(len(node.args))) or any(name in names for name in node.kwargs):
            return False
    return True
