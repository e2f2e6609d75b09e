"""The border between torch's calls and a lowered graph: which argument feeds which input, how each result is laid out.

Results follow the storages of the fake values. A result whose storage began as an argument is a view of that argument; any
other storage is allocated as its first owner was laid out, written once by the graph, and results are views of it. So strides,
offsets and aliases come out as in eager.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .. import _core
from .._core import Dim
from .dims import is_symbolic, to_dim, to_number, to_shape
from .host_calls import HostCalls
from .lowering import Lowering, NotRepresentable, Value, is_unbacked, library_type
from .registry import CannotLower


def is_dense(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    """True if strides are those of row-major memory without gaps."""
    expected: Any = Dim(1)
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if to_dim(size).constant != 1 and to_dim(stride) != expected:
            return False
        expected = expected * to_dim(size)
    return True


def storage_of(fake: torch.Tensor) -> int:
    return fake.untyped_storage()._cdata


@dataclass
class InputRow:
    """A graph input: an argument, or a view of its storage (sizes, strides, offset, offset is absolute)."""

    argument: int
    dtype: _core.DType
    is_weight: bool = False
    view: tuple[list[Dim], list[Dim], Dim, bool] | None = None


@dataclass
class Arguments:
    """Placeholders of the FX graph and the graph inputs made from them."""

    positions: dict[Node, int] = field(default_factory=dict)
    inputs: list[InputRow] = field(default_factory=list)
    scalars: list[tuple[int, Dim]] = field(default_factory=list)
    owners: dict[int, Node] = field(default_factory=dict)  # storage -> the first node that has it
    known: set[Dim] = field(default_factory=set)  # symbols that a call binds before the run

    def add(self, c: Lowering, node: Node, position: int, is_weight: bool) -> None:
        self.positions[node] = position
        fake = node.meta.get("val")
        if isinstance(fake, torch.Tensor):
            try:
                dtype, shape = library_type(fake)
            except NotRepresentable:
                return  # an error only if something reads it
            c.values[node] = c.wrap(c.graph.add_input(dtype, shape, node.name, is_weight), fake.dtype)
            self.inputs.append(InputRow(position, dtype, is_weight))
            self.known.update(dim for dim in shape if dim.is_symbol)
        elif is_symbolic(fake):
            number = to_number(fake)
            c.values[node] = number
            if isinstance(number, Dim) and number.is_symbol:
                self.scalars.append((position, number))
        else:
            c.values[node] = fake

    def add_scalars(self, c: Lowering) -> None:
        """Numbers that no size gives are scalar inputs of the graph."""
        given = self.scalars
        self.scalars = []
        for position, symbol in given:  # equal numbers may come as one symbol several times
            if symbol not in self.known:
                c.graph.add_scalar_input(symbol)
                self.scalars.append((position, symbol))
            self.known.add(symbol)

    def is_argument(self, node: Any) -> bool:
        return node in self.positions

    def view(self, c: Lowering, source: Node, sizes: Any, strides: Any, offset: Any, is_absolute: bool) -> Value | None:
        owner = self.owners.get(storage_of(source.meta["val"]))
        if owner is None or owner not in self.positions:
            return None
        fake = owner.meta["val"]
        start = to_dim(offset) if is_absolute else to_dim(offset) - to_dim(fake.storage_offset())
        dtype, _ = library_type(fake)
        shape = to_shape(sizes)
        value_id = c.graph.add_input(dtype, shape, f"{owner.name}_view", False)
        self.inputs.append(
            InputRow(self.positions[owner], dtype, False, (shape, to_shape(strides), start, is_absolute))
        )
        return c.wrap(value_id, fake.dtype)


@dataclass
class Outputs:
    """The graph's outputs and the rows that make results of them."""

    values: list[Value] = field(default_factory=list)
    rows: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)  # method of _core.Border, its arguments
    number_of: dict[Node, int] = field(default_factory=dict)  # owner of a storage -> number of the border's value
    dims: list[Dim] = field(default_factory=list)

    def layout(self, sizes: Any, strides: Any, offset: Any) -> tuple[list[Dim], list[Dim], Dim]:
        shape, steps, start = to_shape(sizes), to_shape(strides), to_dim(offset)
        self.dims += [*shape, *steps, start]
        return shape, steps, start


class BorderBuilder:
    """Lowers one FX graph and builds its _core.Border."""

    def __init__(
        self,
        module: GraphModule,
        static_inputs: Sequence[int],
        num_tokens: int,
        use_oracle: bool = False,
        without_kernel: frozenset[str] = frozenset(),
    ) -> None:
        self.num_tokens = num_tokens
        self.use_oracle = use_oracle
        self.module = module
        self.host_calls = HostCalls(without_kernel=without_kernel)
        self.arguments = Arguments()
        self.outputs = Outputs()
        self.lowering = Lowering(module, self.host_calls, _core.Graph("graph"), arguments=self.arguments)
        self.static_inputs = frozenset(static_inputs)

    def build(self) -> _core.Border:
        for node in self.module.graph.nodes:
            fake = node.meta.get("val")
            if isinstance(fake, torch.Tensor) and fake.layout is torch.strided:
                self.arguments.owners.setdefault(storage_of(fake), node)
        placeholders = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        for position, node in enumerate(placeholders):
            if position < self.num_tokens:
                self.lowering.values[node] = None  # orders effects: host calls keep their order anyway
                continue
            self.arguments.add(self.lowering, node, position, position in self.static_inputs)
        self.arguments.add_scalars(self.lowering)
        output = self.lowering.run_nodes()
        results: Any = output.args[0]
        for result in results:
            self.add_result(result)
        late = self.late_outputs()
        graph = self.lowering.graph
        self.state_ranges(graph)
        graph.set_outputs([value.id for value in self.outputs.values])
        graph.verify()
        return self.border(graph, late)

    def add_result(self, result: Any) -> None:
        if not isinstance(result, Node):
            self.outputs.rows.append(("add_constant", (result,)))
            return
        fake = result.meta.get("val")
        if self.lowering.values.get(result, fake) is None:
            self.outputs.rows.append(("add_constant", (None,)))
        elif isinstance(fake, torch.Tensor):
            self.add_tensor(result, fake)
        elif is_symbolic(fake):
            self.add_number(fake)
        else:
            self.outputs.rows.append(("add_constant", (self.lowering.values.get(result, fake),)))

    def add_number(self, fake: Any) -> None:
        number = to_number(fake)
        if not isinstance(number, Dim):
            self.outputs.rows.append(("add_constant", (number,)))
            return
        self.outputs.dims.append(number)
        kind = "f" if isinstance(fake, torch.SymFloat) else "b" if isinstance(fake, torch.SymBool) else "i"
        self.outputs.rows.append(("add_number", (number, kind)))

    def add_tensor(self, node: Node, fake: torch.Tensor) -> None:
        library_type(fake)
        owner = self.arguments.owners[storage_of(fake)]
        base = owner.meta["val"]
        is_argument = owner in self.arguments.positions
        source = self.arguments.positions[owner] if is_argument else self.value_number(owner, base)
        if node is owner or same_layout(fake, base):
            self.outputs.rows.append(("add_result", (is_argument, source)))
            return
        shift = to_dim(fake.storage_offset()) - to_dim(base.storage_offset())
        layout = self.outputs.layout(fake.shape, fake.stride(), shift)
        if fake.dtype is not base.dtype:
            raise NotRepresentable("a result that views memory as another dtype")
        self.outputs.rows.append(("add_view", (is_argument, source, *layout)))

    def value_number(self, owner: Node, base: torch.Tensor) -> int:
        if owner not in self.outputs.number_of:
            try:
                value = self.lowering.value_of(owner)
            except CannotLower as error:
                raise NotRepresentable(str(error)) from error
            self.outputs.number_of[owner] = len(self.outputs.values)
            self.outputs.values.append(value)
            self.outputs.layout(base.shape, base.stride(), 0)
        return self.outputs.number_of[owner]

    def late_outputs(self) -> list[tuple[int, Dim]]:
        """Symbols of result layouts that only the run knows: each becomes one more graph output."""
        late: list[tuple[int, Dim]] = []
        for symbol in dict.fromkeys(symbol for dim in self.outputs.dims for symbol in dim.symbols):
            if symbol in self.arguments.known:
                continue
            if not is_unbacked(symbol):
                raise NotRepresentable(f"no argument gives the symbol {symbol}")
            late.append((len(self.outputs.values), symbol))
            dtype = torch.float64 if symbol.is_float else torch.int64
            self.outputs.values.append(self.lowering.scalar(symbol, dtype))
        return late

    def output_strides(self) -> list[list[Dim] | None]:
        """Per graph output its strides in elements; None for row-major ones that no result shows."""
        strides: list[list[Dim] | None] = [None] * len(self.outputs.values)
        for owner, number in self.outputs.number_of.items():
            strides[number] = to_shape(owner.meta["val"].stride())
        return strides

    def state_ranges(self, graph: _core.Graph) -> None:
        """Tells the graph what the shape environment knows of its symbols."""
        fakes = (node.meta.get("val") for node in self.module.graph.nodes)
        mode = next((fake.fake_mode for fake in fakes if hasattr(fake, "fake_mode")), None)
        if mode is None or mode.shape_env is None:
            return
        for symbol, bounds in mode.shape_env.var_to_range.items():
            if symbol in mode.shape_env.replacements or not bounds.is_int:
                continue
            low, high = bound(bounds.lower, -(2**63)), bound(bounds.upper, 2**63 - 1)
            graph.set_range(Dim.symbol(str(symbol)), low, high)

    def border(self, graph: _core.Graph, late: list[tuple[int, Dim]]) -> _core.Border:
        border = _core.Border(graph, torch.empty_strided, torch.as_strided, torch.utils.dlpack.from_dlpack)
        for row in self.arguments.inputs:
            if row.view is None:
                border.add_input(row.argument, row.dtype, row.is_weight)
            else:
                border.add_view_input(row.argument, row.dtype, *row.view)
        for argument, symbol in self.arguments.scalars:
            border.add_scalar(argument, symbol)
        for output, symbol in late:
            border.add_late(output, symbol)
        for owner, number in self.outputs.number_of.items():
            base = owner.meta["val"]
            layout = (to_shape(base.shape), to_shape(base.stride()))
            border.add_value(number, base.dtype, *layout)
        for method, row_arguments in self.outputs.rows:
            getattr(border, method)(*row_arguments)
        if self.host_calls.functions:
            border.set_host_call(self.host_calls)
        border.finish(self.use_oracle)
        return border


def same_layout(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (
        a.dtype is b.dtype
        and to_shape(a.shape) == to_shape(b.shape)
        and to_shape(a.stride()) == to_shape(b.stride())
        and to_dim(a.storage_offset()) == to_dim(b.storage_offset())
    )


def bound(value: Any, default: int) -> int:
    """A bound of a range; infinite ones become `default`."""
    return int(value) if value.is_Integer and abs(int(value)) < 2**63 else default
