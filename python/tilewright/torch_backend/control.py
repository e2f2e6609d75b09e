"""Branches, loops, values that become sizes, and run-time checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule

from .._core import Dim
from .dims import UnknownExpression, is_symbolic, to_dim
from .dtypes import TO_LIBRARY
from .registry import CannotLower, lowers

if TYPE_CHECKING:
    from .lowering import Lowering, Value

higher_order = torch.ops.higher_order


def region(
    c: Lowering, module: GraphModule, carried: Sequence[Value], operands: Sequence[Any], counts_trips: bool = False
) -> Lowering:
    """A region whose first placeholders are carried values (inputs) and whose others are operands (captures).

    A loop that counts its trips passes their number first; torch's regions do not ask for it.
    """
    from .lowering import Lowering as LoweringType
    from .lowering import Value as ValueType

    inner = LoweringType(module, c.host_calls, parent=c)
    if counts_trips:
        inner.graph.add_input(TO_LIBRARY[torch.int64], [], "trip")
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for index, (node, operand) in enumerate(zip(placeholders, [*carried, *operands], strict=True)):
        if not isinstance(operand, ValueType):
            inner.values[node] = operand
            continue
        dtype, shape = inner.type_of(node.meta["val"]) if index < len(carried) else c.graph.type(operand.id)
        if index < len(carried):
            value_id = inner.graph.add_input(dtype, shape, node.name)
        else:
            value_id = inner.graph.add_capture(operand.id, dtype, shape, node.name)
        inner.values[node] = inner.wrap(value_id, operand.dtype)
    output = inner.run_nodes()
    results = output.args[0]
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    values = []
    for result in results:
        value = inner.argument(result)
        if not isinstance(value, ValueType):
            raise CannotLower("a region that returns a number")
        values.append(value)
    inner.graph.set_outputs([value.id for value in values])
    inner.results = values
    return inner


@lowers(higher_order.cond)
def _cond(c: Lowering, condition: Any, yes: GraphModule, no: GraphModule, operands: Sequence[Any] = ()) -> list[Value]:
    from .lowering import Value as ValueType

    if not isinstance(condition, ValueType):
        condition = c.cast(c.scalar(condition, torch.int64), torch.bool)
    condition = c.reshape(c.cast(condition, torch.bool), [])
    branches = [region(c, module, (), operands) for module in (yes, no)]
    late = []
    for index, fake in enumerate(c.fake):
        for axis, size in enumerate(fake.shape):
            first, second = (branch.results[index].size(axis) for branch in branches)
            if first != second:
                late.append(c.bind_size(size))
    regions = [branch.graph for branch in branches]
    results = c.graph.op("if", [condition.id], {"late": late}, regions, c.label)
    values = [c.wrap(result, fake.dtype) for result, fake in zip(results, c.fake, strict=True)]
    return [c.reshape(value, fake.shape) for value, fake in zip(values, c.fake, strict=True)]


@lowers(higher_order.while_loop)
def _while_loop(
    c: Lowering, condition: GraphModule, body: GraphModule, carried: Sequence[Any], operands: Sequence[Any] = ()
) -> list[Value]:
    from .lowering import Value as ValueType

    if not all(isinstance(value, ValueType) for value in carried):
        raise CannotLower("a loop that carries numbers")
    test, step = (region(c, module, carried, operands) for module in (condition, body))
    if test.results[0].rank != 0:
        raise CannotLower("a loop condition that is not a rank-0 tensor")
    inputs = [value.id for value in carried]
    results = c.graph.op("while", inputs, {}, [test.graph, step.graph], c.label)
    return [c.wrap(result, value.dtype) for result, value in zip(results, carried, strict=True)]


@lowers(higher_order.scan)
def _scan(
    c: Lowering, body: GraphModule, carried: Sequence[Any], scanned: Sequence[Any], operands: Sequence[Any] = ()
) -> list[Value]:
    """Slices of `scanned` along axis 0 go in, what the body returns behind its carried values is stacked."""
    from .lowering import Value as ValueType

    inputs = [*carried, *scanned]
    if not scanned or not all(isinstance(value, ValueType) for value in inputs):
        raise CannotLower("a scan that carries numbers, or over nothing")
    step = region(c, body, inputs, operands, counts_trips=True)
    attrs = {"carried": len(carried), "trips": scanned[0].size(0)}
    results = c.graph.op("scan", [value.id for value in inputs], attrs, [step.graph], c.label)
    return [c.wrap(result, value.dtype) for result, value in zip(results, step.results, strict=True)]


@lowers(higher_order.with_effects)
def _with_effects(c: Lowering, _: Any, target: Any, *__: Any, **___: Any) -> list[Any]:
    """An op with an effect: it runs on torch, in the order of the graph; its token is None, as torch passes it."""
    from .host_calls import check_functional

    assert c.node is not None
    check_functional(target)
    fakes = list(c.fake[1:])
    arguments = (c.node.args[2:], c.node.kwargs)
    return [None, *c.host_calls.call(c, target, arguments, [] if fakes == [None] else fakes, "it has an effect")]


@lowers("_local_scalar_dense", "item")
def _item(c: Lowering, x: Value) -> Any:
    fake = c.fake
    if not is_symbolic(fake):
        raise CannotLower("a number that the fake value already knows")
    wanted = to_dim(fake)
    symbols = c.late_symbols()
    as_float = isinstance(fake, torch.SymFloat)
    source = c.cast(x, torch.float64 if as_float else torch.int64)
    own = wanted if wanted.is_symbol else (symbols[0] if symbols else wanted)
    if not own.is_symbol or own.name in c.bound:
        own = Dim.float_symbol(f"z{c.fresh_symbol().name}") if as_float else c.fresh_symbol()
        c.graph.op("item", [source.id], {"symbol": own}, [], "")
        c.check(Dim.make("eq", own, wanted), f"item() gave {own}, {wanted} was expected")
        return wanted
    c.bound.add(own.name)
    c.graph.op("item", [source.id], {"symbol": own}, [], "")
    return wanted


@lowers("copy_")
def _assign(c: Lowering, target: Value, source: Value, *_: Any) -> Value:
    """The epilogue that writes a mutated argument; functional graphs have it for nothing else."""
    assert c.node is not None
    if c.arguments is None or not c.arguments.is_argument(c.node.args[0]):
        raise CannotLower("a write to a value that is not an argument")
    value = c.expand(c.cast(source, target.dtype), target.shape)
    c.graph.op("assign", [target.id, value.id], {}, [], "")
    return value


@lowers("_assert_scalar")
def _assert_scalar(c: Lowering, condition: Any, message: str) -> None:
    try:
        c.check(to_dim(condition), message)
    except UnknownExpression:
        return


@lowers("sym_constrain_range_for_size", "sym_constrain_range", "_assert_tensor_metadata")
def _constrained(c: Lowering, *_: Any, **__: Any) -> None:
    """What these state is in the ranges of the symbols, or was checked while tracing."""


@lowers("_assert_async", "_assert_async.msg")
def _assert_async(c: Lowering, condition: Value, message: str = "an assertion on a tensor failed") -> None:
    symbol = c.fresh_symbol()
    c.graph.op("item", [c.cast(condition, torch.int64).id], {"symbol": symbol}, [], "")
    c.check(Dim.make("ne", symbol, 0), message)
