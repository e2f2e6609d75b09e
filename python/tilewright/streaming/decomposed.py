"""Ops without a lowering of their own, taken apart by torch's decompositions into ops that have one.

An op is traced with symbols for its sizes: one trace serves all calls whose sizes are equal, and 0 or 1, at the same places.
If torch decides something by a size on the way, the trace holds for the sizes that were given only.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy
import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from .._core import Dim
from ..torch_backend.decompositions import decomposition_table
from ..torch_backend.described import DescribedTensor
from ..torch_backend.dims import from_expression, is_symbolic
from ..torch_backend.lowering import Lowering
from ..torch_backend.registry import CannotLower, load_families
from .layouts import dense_order
from .metadata import ResultLayout
from .naming import Naming, symint_positions
from .refs import Ref
from .segment import Op, Segment

LIMIT = 2048
_cache: OrderedDict[Any, GraphModule | None] = OrderedDict()
_lowering = threading.Lock()  # a trace is lowered by one thread at a time: its nodes are described anew for each use


@dataclass(frozen=True, slots=True)
class Size:
    """A place of a size among the arguments of an op."""


def given(op: Op, segment: Segment) -> GraphModule:
    """The op over its tensors, for the sizes that it has."""
    rows = [segment.values[value] for value in op.reads()]
    key = (op.overload, arguments_key((op.args, op.kwargs)), *rows, torch.get_default_dtype())
    module = _kept(key, lambda: _traced(op, rows, [], "fake"))
    assert module is not None
    return module


def symbolic(op: Op, segment: Segment) -> GraphModule | None:
    """The op over its tensors and then its sizes, for any sizes; None if torch decides something by a size."""
    rows = [segment.values[value] for value in op.reads()]
    bare, sizes = without_sizes(op)
    naming = Naming(True, False)
    layouts = [_pattern(naming, row) for row in rows]
    key = (
        op.overload,
        arguments_key((bare.args, bare.kwargs)),
        tuple(layouts),
        naming.shape(tuple(sizes)),
        torch.get_default_dtype(),
        "symbolic",
    )
    return _kept(key, lambda: _for_any_size(bare, rows, sizes))


def lower(c: Lowering, module: GraphModule, inputs: Sequence[Any]) -> Any:
    """The results of a trace on these values and sizes."""
    load_families()
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    outer, c.module = c.module, module
    with _lowering:
        try:
            symbols = _symbols(placeholders, inputs)
            c.values.update(zip(placeholders, inputs, strict=True))
            for node in module.graph.nodes:
                if node.op == "output":
                    return _results(c, node.args[0])
                if node.op != "placeholder":
                    _lower_node(c, node, symbols)
        finally:
            c.module = outer
    raise AssertionError("an FX graph ends with its output")


def without_sizes(op: Op) -> tuple[Op, list[int]]:
    """The op with a Size in the place of each size, and the sizes; 0 and 1 stay."""
    positions, names = symint_positions(op.overload)
    sizes: list[int] = []

    def taken(item: Any, is_size: bool) -> Any:
        if isinstance(item, (list, tuple)):
            return tuple(taken(one, is_size) for one in item)
        if is_size and isinstance(item, int) and not isinstance(item, bool) and item > 1:
            sizes.append(item)
            return Size()
        return item

    args = tuple(taken(item, at in positions) for at, item in enumerate(op.args))
    kwargs = {name: taken(item, name in names) for name, item in op.kwargs.items()}
    return Op(op.overload, args, kwargs, op.results, op.as_list), sizes


def size_arguments(item: Any, bare: Any) -> Iterator[Any]:
    """What `item` has where `bare` has a Size."""
    if isinstance(bare, Size):
        yield item
    elif isinstance(bare, (list, tuple)):
        for one, own in zip(item, bare, strict=True):
            yield from size_arguments(one, own)


def arguments_key(item: Any) -> Any:
    """Arguments as a key, whatever values they refer to."""
    if isinstance(item, (Ref, Size)):
        return type(item)
    if isinstance(item, (list, tuple)):
        return tuple(arguments_key(one) for one in item)
    if isinstance(item, dict):
        return tuple((name, arguments_key(one)) for name, one in item.items())
    return (type(item), repr(item))


def _kept(key: Any, make: Any) -> GraphModule | None:
    if key in _cache:
        return _cache[key]
    module = _cache[key] = make()
    if len(_cache) > LIMIT:
        _cache.popitem(last=False)
    return module


def _pattern(naming: Naming, row: ResultLayout) -> Any:
    order = dense_order(row.sizes, row.strides)
    return (row.dtype, naming.shape(row.sizes), order if order is not None else (row.sizes, row.strides))


def _for_any_size(bare: Op, rows: Sequence[ResultLayout], sizes: Sequence[int]) -> GraphModule | None:
    try:
        module = _traced(bare, rows, sizes, "symbolic")
    except Exception:
        return None
    environment = module.shape_env
    decided = environment.replacements or environment.deferred_runtime_asserts
    decided = decided or not all(holds_for_sizes(guard.expr) for guard in environment.guards)
    has_tensors = any(node.op == "get_attr" for node in module.graph.nodes)
    return None if decided or has_tensors else module


def holds_for_sizes(condition: Any) -> bool:
    """True if a comparison holds for all numbers from 2 on: as a sum of products of what they have above 2."""
    if not isinstance(condition, sympy.core.relational.Relational):
        return False
    above = {
        symbol: sympy.Symbol(f"t{i}", integer=True, nonnegative=True) + 2
        for i, symbol in enumerate(condition.free_symbols)
    }
    difference = sympy.expand((condition.lhs - condition.rhs).subs(above))
    if isinstance(condition, sympy.GreaterThan):
        return bool(difference.is_nonnegative)
    if isinstance(condition, sympy.StrictGreaterThan):
        return bool(difference.is_positive)
    if isinstance(condition, sympy.LessThan):
        return bool(difference.is_nonpositive)
    if isinstance(condition, sympy.StrictLessThan):
        return bool(difference.is_negative)
    if isinstance(condition, sympy.Ne):
        return bool(difference.is_nonzero)
    return isinstance(condition, sympy.Eq) and bool(difference == 0)


def _traced(op: Op, rows: Sequence[ResultLayout], sizes: Sequence[int], mode: Literal["fake", "symbolic"]) -> Any:
    def call(*inputs: Any) -> Any:
        tensors, numbers = iter(inputs[: len(rows)]), iter(inputs[len(rows) :])

        def filled(item: Any) -> Any:
            if isinstance(item, Ref):
                return next(tensors)
            if isinstance(item, Size):
                return next(numbers)
            return [filled(one) for one in item] if isinstance(item, (list, tuple)) else item

        return op.overload(*map(filled, op.args), **{name: filled(item) for name, item in op.kwargs.items()})

    examples = [torch.empty_strided(row.sizes, row.strides, dtype=row.dtype) for row in rows]
    return make_fx(call, decomposition_table=decomposition_table(), tracing_mode=mode)(*examples, *sizes)


def _symbols(placeholders: Sequence[Node], inputs: Sequence[Any]) -> dict[str, Any]:
    """What each symbol of the trace is in the segment."""
    symbols: dict[str, Any] = {}

    def note(size: Any, given: Any) -> None:
        if is_symbolic(size) and isinstance(size.node.expr, sympy.Symbol):
            symbols[str(size.node.expr)] = given if isinstance(given, Dim) else Dim(given)

    for node, value in zip(placeholders, inputs, strict=True):
        traced = _traced_value(node)
        if isinstance(traced, torch.Tensor):
            for size, given in zip(traced.shape, value.shape, strict=True):
                note(size, given)
        else:
            note(traced, value)
    return symbols


def _traced_value(node: Node) -> Any:
    if "traced" not in node.meta:
        node.meta["traced"] = node.meta.get("val")
    return node.meta["traced"]


def _lower_node(c: Lowering, node: Node, symbols: Mapping[str, Any]) -> None:
    traced = _traced_value(node)
    if is_symbolic(traced):
        number = _number(traced, symbols)
        c.values[node] = number if number.constant is None else number.constant
        return
    node.meta["val"] = _described(traced, symbols)
    c.lower(node)


def _number(value: Any, symbols: Mapping[str, Any]) -> Dim:
    try:
        return from_expression(value.node.expr, symbols)
    except KeyError as error:
        raise CannotLower(f"a size that no input tells: {error}") from None


def _described(traced: Any, symbols: Mapping[str, Any]) -> Any:
    if isinstance(traced, (list, tuple)):
        return [_described(one, symbols) for one in traced]
    if not isinstance(traced, torch.Tensor):
        return traced

    def numbers(items: Any) -> tuple[Any, ...]:
        return tuple(_number(item, symbols) if is_symbolic(item) else item for item in items)

    return DescribedTensor(numbers(traced.shape), numbers(traced.stride()), traced.dtype)


def _results(c: Lowering, results: Any) -> Any:
    if isinstance(results, (list, tuple)):
        return [None if one is None else c.value_of(one) for one in results]
    return c.value_of(results)
