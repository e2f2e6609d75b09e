"""Layouts of results, as eager would lay them out: the op runs once on meta tensors for each combination of dtypes, sizes,
strides and options; later calls look it up."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .elementwise_layout import broadcast, elementwise_strides
from .facts import OpFacts, makes

LIMIT = 20_000


class NotRecordable(Exception):
    """The op must run on torch; the text says why."""


@dataclass(frozen=True)
class ResultLayout:
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    def as_layout(self) -> tuple[int, tuple[int, ...], tuple[int, ...], torch.dtype]:
        return (0, self.sizes, self.strides, self.dtype)


@dataclass(frozen=True)
class Metadata:
    """Results of one op; `as_list`: they come as one list, `single`: as one tensor."""

    results: tuple[ResultLayout | None, ...]
    single: bool
    as_list: bool


_dtypes: dict[Any, torch.dtype | None] = {}
_cache: OrderedDict[Any, Metadata | str] = OrderedDict()


def describe(argument: Any, is_factory: bool) -> Any:
    """What of an argument decides the layout of results."""
    if isinstance(argument, torch.Tensor):
        return (argument.dtype, argument.shape, argument.stride())
    if isinstance(argument, (list, tuple)):
        return tuple(describe(item, True) for item in argument)
    if isinstance(argument, float) and not is_factory:
        return float
    return (type(argument), argument)


def metadata_of(facts: OpFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Metadata:
    """The results of overload(*args, **kwargs). Raises NotRecordable if torch has no answer, or an error of its own."""
    if facts.is_pointwise and not facts.writes and facts.takes_tensors_plainly:
        return _elementwise(facts, args, kwargs)
    return _looked_up(facts, args, kwargs)


def _elementwise(facts: OpFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Metadata:
    """The layout by the rule of elementwise ops; the dtype does not depend on sizes."""
    tensors = [item for item in args if isinstance(item, torch.Tensor)]
    operands = [(tuple(item.shape), item.stride()) for item in tensors]
    sizes = broadcast([shape for shape, _ in operands])
    if sizes is None or not tensors:
        raise NotRecordable("shapes that do not broadcast")
    key = (facts.overload, torch.get_default_dtype(), *map(_kind, args), *((n, _kind(x)) for n, x in kwargs.items()))
    try:
        dtype = _dtypes.get(key)
    except TypeError:
        raise NotRecordable("an argument that has no key") from None
    if dtype is None:
        (row,) = _looked_up(facts, args, kwargs).results
        dtype = _dtypes[key] = row.dtype if row is not None else None
    if dtype is None:
        raise NotRecordable("an elementwise op without a result")
    has_numbers = any(at < len(args) and not isinstance(args[at], torch.Tensor) for at in facts.tensor_positions)
    strides = elementwise_strides(sizes, operands, has_numbers)
    return Metadata((ResultLayout(sizes, strides, dtype),), True, False)


def _kind(item: Any) -> Any:
    if isinstance(item, torch.Tensor):
        return (item.dtype, item.dim() == 0)
    return type(item) if isinstance(item, (bool, int, float)) else item


def _looked_up(facts: OpFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Metadata:
    is_factory = makes(facts)
    key = (
        facts.overload,
        torch.get_default_dtype(),
        tuple(describe(item, is_factory) for item in args),
        tuple((name, describe(item, is_factory)) for name, item in kwargs.items()),
    )
    try:
        known = _cache.get(key)
    except TypeError:
        raise NotRecordable("an argument that has no key") from None
    if known is None:
        known = _cache[key] = _computed(facts, args, kwargs)
        if len(_cache) > LIMIT:
            _cache.popitem(last=False)
    if isinstance(known, str):
        raise NotRecordable(known)
    return known


def _computed(facts: OpFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Metadata | str:
    options = {name: to_meta(item) for name, item in kwargs.items()}
    device = options.get("device")
    if device is not None:
        if torch.device(device).type != "cpu":
            return "another device"
        options["device"] = torch.device("meta")
    elif makes(facts) and not any(isinstance(item, torch.Tensor) for item in args):
        options["device"] = torch.device("meta")
    try:
        results = facts.overload(*[to_meta(item) for item in args], **options)
    except Exception as error:
        return f"torch raises {type(error).__name__}"  # not its text, which has sizes: reasons are counted by name
    return _read(results)


def _read(results: Any) -> Metadata | str:
    single = isinstance(results, torch.Tensor)
    rows: list[ResultLayout | None] = []
    for result in [results] if single else results:
        if result is None:
            rows.append(None)
        elif not isinstance(result, torch.Tensor):
            return "a result that is not a tensor"
        elif result.device.type != "meta" or result.layout is not torch.strided:
            return "a result in another layout or on another device"
        else:
            rows.append(ResultLayout(tuple(result.shape), result.stride(), result.dtype))
    return Metadata(tuple(rows), single, isinstance(results, list))


def to_meta(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return torch.empty_strided(argument.shape, argument.stride(), dtype=argument.dtype, device="meta")
    if isinstance(argument, (list, tuple)):
        return type(argument)(to_meta(item) for item in argument)
    return argument
