"""Lowering: an FX graph of ATen ops, functional and with fake values, becomes a graph of the library.

One Lowering per graph or region. Tensors are Values (an id with its torch dtype and shape), symbolic numbers are Dims taken
from the fake values, so equal symbols stay equal. A node without a lowering becomes a host call (host_calls.py).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import (
    free_unbacked_symbols,
    resolve_unbacked_bindings,
    statically_known_true,
)
from torch.utils._pytree import tree_leaves

from .. import _core
from .._core import Dim
from .described import DescribedTensor, is_tensor, tensors_of
from .dims import UnknownExpression, is_symbolic, to_dim, to_number, to_shape
from .dtypes import HALVES, TO_LIBRARY, number_dtype, result_dtype
from .host_calls import HostCalls
from .registry import CannotLower, find_lowering, load_families


class NotRepresentable(Exception):
    """A graph with a value that the library has no type for, outside of what a host call can hide."""


@dataclass(frozen=True)
class Value:
    """A tensor in the graph."""

    id: int
    dtype: torch.dtype
    shape: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def size(self, axis: int) -> Dim:
        return self.shape[axis]


Operand = Value | Dim | int | float | bool


class ArgumentInputs(Protocol):
    """What the border offers to the lowering: inputs that are other views of an argument's storage."""

    def view(
        self, c: Lowering, source: Node, sizes: Any, strides: Any, offset: Any, is_absolute: bool
    ) -> Value | None: ...

    def is_argument(self, node: Any) -> bool: ...


@dataclass
class Lowering:
    """State of one graph being lowered. `parent` is set for a region."""

    module: GraphModule
    host_calls: HostCalls
    graph: _core.Graph = field(default_factory=_core.Graph)
    parent: Lowering | None = None
    values: dict[Node, Any] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)  # late symbols that a node already binds
    nonzeros: dict[int, Value] = field(default_factory=dict)
    scalars: dict[tuple[torch.dtype, Any], Value] = field(default_factory=dict)
    results: list[Value] = field(default_factory=list)  # of a region
    arguments: ArgumentInputs | None = None  # set for the graph that torch calls
    node: Node | None = None

    # ---- values -----------------------------------------------------------------------------------------------------

    def type_of(self, fake: torch.Tensor) -> tuple[_core.DType, list[Dim]]:
        return library_type(fake)

    def wrap(self, value_id: int, dtype: torch.dtype) -> Value:
        _, shape = self.graph.type(value_id)
        return Value(value_id, dtype, tuple(shape))

    def op(self, name: str, *inputs: Value, dtype: torch.dtype | None = None, **attrs: Any) -> Value:
        """Appends an op with one result, of the dtype of the first input unless given."""
        self.check_kernel(name)
        (result,) = self.graph.op(name, [value.id for value in inputs], attrs, [], self.label)
        return self.wrap(result, dtype or inputs[0].dtype)

    def check_kernel(self, name: str) -> None:
        if name in self.host_calls.without_kernel:
            raise CannotLower(f"the runtime has no kernel for {name}")

    def ops(self, name: str, *inputs: Value, dtypes: Sequence[torch.dtype], **attrs: Any) -> list[Value]:
        """Appends an op with several results."""
        self.check_kernel(name)
        results = self.graph.op(name, [value.id for value in inputs], attrs, [], self.label)
        return [self.wrap(result, dtype) for result, dtype in zip(results, dtypes, strict=True)]

    @property
    def label(self) -> str:
        return self.node.name if self.node is not None else ""

    @property
    def fake(self) -> Any:
        """The fake value of the node being lowered."""
        assert self.node is not None
        return self.node.meta["val"]

    def scalar(self, number: Any, dtype: torch.dtype) -> Value:
        """A rank-0 tensor with the value of a host number."""
        known = number if isinstance(number, (bool, int, float)) else number.constant
        key = (dtype, repr(float(known)) if isinstance(known, float) else number)
        if key not in self.scalars:
            self.scalars[key] = self._new_scalar(number, known, dtype)
        return self.scalars[key]

    def _new_scalar(self, number: Any, known: Any, dtype: torch.dtype) -> Value:
        if dtype is torch.bool:
            number = number if known is None else int(bool(known))
            return self.cast(self.scalar(number, torch.int64), torch.bool)
        if known is not None and not dtype.is_floating_point:
            known = wrap_integer(int(known), dtype)
        if known is not None:
            number = Dim(float(known)) if dtype.is_floating_point else Dim(known)
        return self._scalar_op(to_dim(number), dtype)

    def _scalar_op(self, number: Dim, dtype: torch.dtype) -> Value:
        (result,) = self.graph.op("scalar", [], {"dtype": TO_LIBRARY[dtype], "value": number}, [], "")
        return self.wrap(result, dtype)

    def constant(self, tensor: torch.Tensor) -> Value:
        """A tensor known now."""
        if tensor.dtype not in TO_LIBRARY:
            raise NotRepresentable(f"a constant of dtype {tensor.dtype}")
        with unset_fake_temporarily():
            tensor = tensor.detach().contiguous()
            data = _core.Tensor.from_pointer(TO_LIBRARY[tensor.dtype], list(tensor.shape), tensor.data_ptr()).copy()
        (result,) = self.graph.op("constant", [], {"value": data}, [], "")
        return self.wrap(result, tensor.dtype)

    def cast(self, operand: Operand, dtype: torch.dtype) -> Value:
        if not isinstance(operand, Value):
            return self.scalar(operand, dtype)
        if operand.dtype is dtype:
            return operand
        (result,) = self.graph.op("cast", [operand.id], {"dtype": TO_LIBRARY[dtype]}, [], "")
        return self.wrap(result, dtype)

    def expand(self, value: Value, shape: Sequence[Any]) -> Value:
        dims = tuple(to_dim(size) for size in shape)
        return value if dims == value.shape else self.op("expand", value, shape=list(dims))

    def reshape(self, value: Value, shape: Sequence[Any]) -> Value:
        dims = tuple(to_dim(size) for size in shape)
        return value if dims == value.shape else self.op("reshape", value, shape=list(dims))

    def transpose(self, value: Value, perm: Sequence[int]) -> Value:
        return value if list(perm) == list(range(value.rank)) else self.op("transpose", value, perm=list(perm))

    def full(self, shape: Sequence[Any], number: Any, dtype: torch.dtype) -> Value:
        return self.expand(self.scalar(number, dtype), shape)

    def iota(self, length: Any, dtype: torch.dtype = torch.int64, start: Any = 0, step: Any = 1) -> Value:
        attrs = {"dtype": TO_LIBRARY[dtype], "shape": [length], "axis": 0, "start": start, "step": step}
        (result,) = self.graph.op("iota", [], attrs, [], self.label)
        return self.wrap(result, dtype)

    # ---- promotion --------------------------------------------------------------------------------------------------

    def promoted_dtype(self, operands: Sequence[Operand], integers_to_float: bool = False) -> torch.dtype:
        dims = [x.dtype for x in operands if isinstance(x, Value) and x.rank > 0]
        zeros = [x.dtype for x in operands if isinstance(x, Value) and x.rank == 0]
        numbers = [number_dtype(x) for x in operands if not isinstance(x, Value)]
        dtype = result_dtype(dims, zeros, numbers)
        return torch.get_default_dtype() if integers_to_float and not dtype.is_floating_point else dtype

    def promote(self, operands: Sequence[Operand], integers_to_float: bool = False) -> tuple[list[Value], torch.dtype]:
        """The operands in the dtype to compute in, and the dtype of the result.

        A half-precision operand beside a number computes in f32, so that the number is not rounded first.
        """
        dtype = self.promoted_dtype(operands, integers_to_float)
        compute = dtype
        if dtype in HALVES and any(
            not isinstance(x, Value) or (x.rank == 0 and x.dtype is not dtype) for x in operands
        ):
            compute = torch.float32
        return [self.cast(x, compute) for x in operands], dtype

    # ---- late symbols -----------------------------------------------------------------------------------------------

    def fresh_symbol(self) -> Dim:
        root = self
        while root.parent is not None:
            root = root.parent
        name = f"n{len(root.bound)}_"
        root.bound.add(name)
        return Dim.symbol(name)

    def late_symbols(self) -> list[Dim]:
        """The symbols that the node being lowered binds, as its fake value spells them."""
        assert self.node is not None
        bindings = self.node.meta.get("unbacked_bindings") or {}
        fake_mode = torch._guards.detect_fake_mode(self.fake)
        resolved = resolve_unbacked_bindings(getattr(fake_mode, "shape_env", None), bindings) or {}
        return [to_dim(symbol) for symbol in resolved]

    def bind_size(self, size: Any) -> Dim:
        """The symbol by which a late op announces a size: that of the fake value, or a new one if it is bound already."""
        dim = to_dim(size)
        if dim.is_symbol and dim.name not in self.bound and is_unbacked(dim):
            self.bound.add(dim.name)
            return dim
        symbol = self.fresh_symbol()
        if dim.constant is not None or not is_unbacked(dim) or dim.name in self.bound:
            self.check(Dim.make("eq", symbol, dim), f"a size is {symbol}, {dim} was expected")
        return symbol

    def check(self, condition: Dim, message: str) -> None:
        if condition.constant != 1:
            self.graph.op("assert", [], {"condition": condition, "message": message}, [], "")

    # ---- symbolic arguments -----------------------------------------------------------------------------------------

    def symbolic(self, dim: Dim) -> Any:
        """torch's own form of a symbolic argument of the node being lowered, on which guards can be made; None if there
        is none or only a call can tell its value."""
        value = self.symbolic_argument(dim)
        return None if value is None or free_unbacked_symbols(value) else value

    def symbolic_argument(self, dim: Dim) -> Any:
        assert self.node is not None
        for leaf in tree_leaves((self.node.args, self.node.kwargs)):
            value = leaf.meta.get("val") if isinstance(leaf, Node) else leaf
            if is_symbolic(value) and to_dim(value) == dim:
                return value
        return None

    def known_if_negative(self, number: Any) -> Any:
        """A position, as a number where it counts from the end: where the library proves that slices fit, symbols are
        sizes. torch has a guard on the sign."""
        if not isinstance(number, Dim) or number.constant is not None:
            return number
        symbolic = self.symbolic(number)
        return self.known(number) if symbolic is not None and symbolic < 0 else number

    def is_natural(self, dim: Dim) -> bool:
        """True if an argument of the node is known not to be negative."""
        value = self.symbolic_argument(dim)
        return value is not None and statically_known_true(value >= 0)

    def extent(self, axis: int) -> Any:
        """torch's form of the size of the first argument along an axis."""
        assert self.node is not None and isinstance(self.node.args[0], Node)
        return self.node.args[0].meta["val"].shape[axis]

    def known(self, number: Any) -> int:
        """A number that an op needs to know: a symbolic one gets a guard, so another value compiles again."""
        if isinstance(number, int):
            return number
        if number.constant is not None:
            return int(number.constant)
        value = self.symbolic(number)
        if value is None:
            raise CannotLower(f"{number} is known at run time only")
        known = int(value)
        self.values.update(
            {node: known for node, value in self.values.items() if isinstance(value, Dim) and value == number}
        )
        return known

    # ---- nodes ------------------------------------------------------------------------------------------------------

    def argument(self, argument: Any) -> Any:
        """An argument of a node: tensors as Value, symbolic numbers as Dim or, if known, as the number."""
        if isinstance(argument, Node):
            return self.value_of(argument)
        if isinstance(argument, (list, tuple)):
            return [self.argument(item) for item in argument]
        if is_symbolic(argument):
            return to_number(argument)
        return argument

    def value_of(self, node: Node) -> Any:
        if node not in self.values and is_symbolic(node.meta.get("val")):
            self.values[node] = to_number(node.meta["val"])
        if node not in self.values:
            raise CannotLower(f"{node}: {self.why_missing(node)}")
        return self.values[node]

    def why_missing(self, node: Node) -> str:
        try:
            check_representable(node)
        except NotRepresentable as reason:
            return str(reason)
        return "it has no value in the graph"

    def lower(self, node: Node) -> None:
        """Lowers one node; its value is then in `values`."""
        self.node = node
        fake = node.meta.get("val")
        if is_symbolic(fake) and not node.meta.get("unbacked_bindings"):
            return  # value_of converts its expression when it is read
        if node.op == "get_attr":
            self.values[node] = self.attribute(node)
        elif node.target is operator.getitem and isinstance(results := self.results_of(node.args[0]), (list, tuple)):
            number: Any = node.args[1]
            self.values[node] = results[number]
        else:
            self.values[node] = self.lowered_or_hosted(node)

    def results_of(self, node: Any) -> Any:
        return self.values.get(node)

    def attribute(self, node: Node) -> Any:
        owner: Any = self.module
        for name in str(node.target).split("."):
            owner = getattr(owner, name)
        return self.constant(owner) if isinstance(owner, torch.Tensor) else owner

    def lowered_or_hosted(self, node: Node) -> Any:
        function = find_lowering(node.target)
        reason = "no lowering"
        if function is not None:
            try:
                check_representable(node)
                result = function(
                    self,
                    *map(self.argument, node.args),
                    **{name: self.argument(value) for name, value in node.kwargs.items()},
                )
                return self.fitted(result, node.meta.get("val"))
            except (CannotLower, UnknownExpression, NotRepresentable) as error:
                reason = str(error)
            except (ValueError, TypeError, IndexError, NotImplementedError) as error:
                reason = f"{type(error).__name__}: {error}"
        try:
            return self.host_calls.append(self, node, reason)
        except (CannotLower, UnknownExpression) as error:
            raise NotRepresentable(f"{node.target}: {error}") from error

    def view_of_argument(self, source: Node, sizes: Any, strides: Any, offset: Any, is_absolute: bool) -> Value | None:
        """A view of the storage of an argument that `source` is a view of; None if it is not one."""
        if self.arguments is None:
            return None
        return self.arguments.view(self, source, sizes, strides, offset, is_absolute)

    def fitted(self, result: Any, fake: Any) -> Any:
        """The results in the dtypes of the fake values."""
        if isinstance(result, Value) and is_tensor(fake):
            return self.cast(result, fake.dtype)
        if isinstance(result, (list, tuple)) and isinstance(fake, (list, tuple)):
            return [self.fitted(one, other) for one, other in zip(result, fake, strict=False)]
        return result

    def run_nodes(self) -> Node:
        """Lowers every node that is not a placeholder; returns the output node."""
        load_families()
        for node in self.module.graph.nodes:
            if node.op == "output":
                return node
            if node.op != "placeholder":
                self.lower(node)
        raise AssertionError("an FX graph ends with its output")


def is_unbacked(dim: Dim) -> bool:
    return dim.is_symbol and dim.name.lstrip("z").startswith("u")


def wrap_integer(number: int, dtype: torch.dtype) -> int:
    """`number` modulo the range of an integer dtype."""
    bits = torch.iinfo(dtype).bits
    number &= (1 << bits) - 1
    return number - (1 << bits) if dtype.is_signed and number >> (bits - 1) else number


def library_type(fake: torch.Tensor | DescribedTensor) -> tuple[_core.DType, list[Dim]]:
    """(dtype, shape) of a fake tensor."""
    if fake.dtype not in TO_LIBRARY:
        raise NotRepresentable(f"dtype {fake.dtype}")
    if fake.layout is not torch.strided or fake.is_nested or fake.is_quantized:
        raise NotRepresentable(f"layout {fake.layout}")
    if fake.device.type != "cpu":
        raise NotRepresentable(f"expected memory of device cpu, got {fake.device}")
    return TO_LIBRARY[fake.dtype], to_shape(fake.shape)


def check_representable(node: Node) -> None:
    for fake in tensors_of(node.meta.get("val")):
        library_type(fake)
