"""May a call be recorded, and how are its results laid out? Found out once for each kind of call: the op runs on torch on example
tensors, and the library compiles it alone. Where the predicted strides are not those of the real results, the op runs on
examples once per layout instead."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import Any

import torch

from .elementwise_layout import contiguous_strides
from .facts import OpFacts
from .metadata import LIMIT, Metadata, NotRecordable, ResultLayout, describe
from .naming import symint_positions, takes_floats
from .refs import Ref
from .run import NAMINGS, compile_segment
from .segment import Op, Segment

Call = tuple[Any, dict[str, Any], Metadata]


class Verdict(Enum):
    REFUSED = 0
    PREDICTED = 1  # results are laid out as the metadata says
    MEASURED = 2  # they are not: run the op to know


_verdicts: dict[Any, Verdict] = {}
_measured: OrderedDict[Any, Metadata] = OrderedDict()


def checked(facts: OpFacts, args: Any, kwargs: Any, computed: Metadata, call: Call) -> Metadata:
    """The results of a call that may be recorded. `args`, `kwargs`, `computed`: of the functional op; `call`: as it was made,
    with its outputs. Raises NotRecordable."""
    sizes, size_names = symint_positions(facts.functional)
    arithmetic = takes_floats(facts.functional)
    key: tuple[Any, ...] = (
        facts.overload,
        tuple(_coarse(call[1][at] if isinstance(at, str) else call[0][at], True) for at in facts.writes),
        tuple(_coarse(item, at in sizes or arithmetic) for at, item in enumerate(args)),
        tuple((name, _coarse(item, name in size_names or arithmetic)) for name, item in kwargs.items()),
        torch.get_default_dtype(),
    )
    if facts.stores_numbers:
        key = (*key, *(repr(x) for x in (*args, *kwargs.values()) if isinstance(x, (int, float))))
    verdict = _verdicts.get(key)
    if verdict is None:
        verdict = _verdicts[key] = _verdict(facts, args, kwargs, computed, call)
    if verdict is Verdict.REFUSED:
        raise NotRecordable("no lowering for these arguments")
    return computed if verdict is Verdict.PREDICTED else _measure(facts, call)


def _verdict(facts: OpFacts, args: Any, kwargs: Any, computed: Metadata, call: Call) -> Verdict:
    real = _real(facts, call)
    if real is None or not _probe(facts, args, kwargs, computed):
        return Verdict.REFUSED
    if real == call[2].results:
        return Verdict.PREDICTED
    same = [(row and (row.sizes, row.dtype)) for row in real] == [
        (row and (row.sizes, row.dtype)) for row in call[2].results
    ]
    return Verdict.MEASURED if same and not facts.writes else Verdict.REFUSED


def _real(facts: OpFacts, call: Call) -> tuple[ResultLayout | None, ...] | None:
    """Layouts of what torch makes of such arguments; None if it refuses them."""
    args, kwargs, _ = call
    try:
        results = facts.overload(*_example(tuple(args)), **{name: _example(item) for name, item in kwargs.items()})
    except Exception:
        return None
    rows = [results] if isinstance(results, torch.Tensor) else list(results)
    return tuple(None if row is None else ResultLayout(tuple(row.shape), row.stride(), row.dtype) for row in rows)


def _measure(facts: OpFacts, call: Call) -> Metadata:
    args, kwargs, predicted = call
    options = tuple((name, describe(item, True)) for name, item in kwargs.items())
    key = (facts.overload, torch.get_default_dtype(), tuple(describe(item, True) for item in args), options)
    known = _measured.get(key)
    if known is None:
        real = _real(facts, call)
        if real is None:
            raise NotRecordable("torch refuses the arguments")
        known = _measured[key] = Metadata(real, predicted.single, predicted.as_list)
        if len(_measured) > LIMIT:
            _measured.popitem(last=False)
    return known


def _example(item: Any) -> Any:
    """An argument like this one that can be written to."""
    if isinstance(item, torch.Tensor):
        reach = sum((size - 1) * stride for size, stride in zip(item.shape, item.stride(), strict=True))
        number = 1 if item.dtype.is_floating_point else 0
        memory = torch.full((max(reach, 0) + 1,), number, dtype=item.dtype)
        return memory.as_strided(item.shape, item.stride())
    return type(item)(_example(one) for one in item) if isinstance(item, (list, tuple)) else item


def _coarse(argument: Any, any_int: bool) -> Any:
    """What of an argument decides whether an op can run; `any_int`: the value of an int does not."""
    if isinstance(argument, torch.Tensor):
        return (
            argument.dtype,
            tuple(min(size, 2) for size in argument.shape),
            _stride_class(tuple(argument.shape), argument.stride()),
        )
    if isinstance(argument, (list, tuple)):
        return tuple(_coarse(item, any_int) for item in argument)
    if isinstance(argument, float) or (any_int and isinstance(argument, int) and not isinstance(argument, bool)):
        return type(argument)
    return describe(argument, True)


def _stride_class(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, ...]:
    """Each stride as its place among the different ones, 0 and 1 as they are, and whether it is that of row-major memory."""
    places = {stride: place for place, stride in enumerate(sorted({0, 1, *strides}))}
    plain = contiguous_strides(sizes)
    return tuple((places[stride], stride == own) for stride, own in zip(strides, plain, strict=True))


def _as_input(segment: Segment, item: Any) -> Any:
    if isinstance(item, torch.Tensor):
        value = segment.new_value(ResultLayout(tuple(item.shape), item.stride(), item.dtype))
        segment.inputs.append(value)
        return Ref(value)
    return [_as_input(segment, one) for one in item] if isinstance(item, (list, tuple)) else item


def _probe(facts: OpFacts, args: Any, kwargs: Any, metadata: Metadata) -> bool:
    segment = Segment()
    refs = tuple(_as_input(segment, item) for item in args)
    options = {name: _as_input(segment, item) for name, item in kwargs.items()}
    ids = tuple(None if row is None else segment.new_value(row) for row in metadata.results)
    segment.ops.append(Op(facts.functional, refs, options, ids, metadata.as_list))
    stored = [
        (value, (0, row.sizes, row.strides, row.dtype)) for value, row in zip(ids, metadata.results, strict=True) if row
    ]
    for outputs in (stored, stored[:1]) if "attention" in facts.name else (stored,):
        segment.outputs = outputs  # type: ignore[assignment]
        if any(compile_segment(segment, *names)[0].segment is not None for names in NAMINGS):
            return True
    return False
