"""What the recorder must know of an ATen overload, worked out once from its schema: does it view, may it be recorded, as
which functional op, and what does it write to."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch

from ..torch_backend.decompositions import decomposition_table
from ..torch_backend.registry import find_lowering, load_families

aten = torch.ops.aten

# Ops whose schema does not say that results share memory with an argument.
_UNDECLARED_VIEWS = frozenset({"aten::_unsafe_view", "aten::lift_fresh", "aten::_reshape_alias", "aten::_reshape_copy"})
# Ops whose schema does not say that they write to an argument.
_UNDECLARED_WRITES = frozenset({"aten::native_batch_norm", "aten::_batch_norm_impl_index", "aten::batch_norm"})
_DIVISIONS = frozenset(f"aten::{op}" for op in ("floor_divide", "remainder", "fmod", "div", "divide"))
_STORES = frozenset(
    f"aten::{op}"
    for op in (
        "fill",
        "full",
        "full_like",
        "new_full",
        "masked_fill",
        "index_fill",
        "scalar_tensor",
        "constant_pad_nd",
        "scatter",
    )
)
# Elementwise by their tag, but their results are laid out by rules of their own.
_OWN_LAYOUTS = frozenset(f"aten::{op}" for op in ("clone", "_to_copy", "fill", "masked_fill"))
# Composites that may return an argument, or a view of it.
_MAYBE_VIEWS = frozenset({"aten::contiguous", "aten::reshape", "aten::to", "aten::flatten", "aten::type_as"})
# A number at these ops decides sizes, so it takes part in the key of the result's layout.
FACTORIES = frozenset(
    {"aten::arange", "aten::full", "aten::linspace", "aten::scalar_tensor", "aten::zeros", "aten::ones"}
)
_MAKERS = FACTORIES | {"aten::new_full", "aten::new_zeros", "aten::new_ones", "aten::eye"}


@dataclass(frozen=True)
class OpFacts:
    """`kind`: "view" runs at once on metadata, "record" may be recorded, "composite" is taken apart by torch first,
    "torch" runs on torch. `functional` is the overload that computes what this one writes."""

    overload: Any
    name: str
    kind: str
    functional: Any = None
    writes: tuple[int | str, ...] = ()  # argument positions or keyword names, in the order of the results
    is_out: bool = False
    is_pointwise: bool = False
    is_host_read: bool = False
    is_factory: bool = False
    is_whole: bool = False  # its functional op has a lowering of its own
    hidden_writes: bool = False
    divides: bool = False  # by what may be an integer 0
    tensor_positions: tuple[int, ...] = ()
    takes_tensors_plainly: bool = False  # one result, tensors only by position and not in lists
    stores_numbers: bool = False  # a number that does not fit the dtype is an error
    is_learnt: bool = True  # a call of known layouts may be recorded without a look at it
    is_true_division: bool = False  # unless rounded


@functools.cache
def facts_of(overload: Any) -> OpFacts:
    """The facts of an overload."""
    load_families()
    if not isinstance(overload, torch._ops.OpOverload):
        return OpFacts(overload, str(overload), "torch", hidden_writes=True)
    schema = overload._schema
    name = schema.name
    tags = set(overload.tags)
    is_host_read = any(
        result.type.kind() not in ("TensorType", "ListType", "OptionalType") for result in schema.returns
    )
    base = OpFacts(
        overload,
        f"{name}.{schema.overload_name}" if schema.overload_name else name,
        "torch",
        is_host_read=is_host_read and bool(schema.returns),
        is_pointwise=torch.Tag.pointwise in tags,
        is_factory=name in FACTORIES,
        divides=name.rstrip("_") in _DIVISIONS,
        tensor_positions=tuple(at for at, a in enumerate(schema.arguments) if "Tensor" in str(a.type)),
        takes_tensors_plainly=_is_plain(schema),
        stores_numbers=name.rstrip("_") in _STORES,
        is_learnt=not name.startswith("aten::_scaled_dot"),
        is_true_division=name.rstrip("_") in ("aten::div", "aten::divide"),
        hidden_writes=name in _UNDECLARED_WRITES or overload.namespace != "aten",
    )
    return _classified(base, schema, tags)


def _is_plain(schema: Any) -> bool:
    tensors = [a for a in schema.arguments if "Tensor" in str(a.type)]
    lists = any("List" in str(a.type) and "Tensor" in str(a.type) for a in tensors)
    if schema.name in _OWN_LAYOUTS:
        return False
    return len(schema.returns) == 1 and not lists and not any(a.kwarg_only for a in tensors)


def _classified(base: OpFacts, schema: Any, tags: set[Any]) -> OpFacts:
    unsafe = {
        torch.Tag.nondeterministic_seeded,
        torch.Tag.data_dependent_output,
        torch.Tag.dynamic_output_shape,
        torch.Tag.inplace_view,
    }
    written = _written(schema)
    viewed = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    if (viewed and not written) or schema.name in _UNDECLARED_VIEWS:
        return _with(base, kind="view")
    is_composite = base.overload.has_kernel_for_dispatch_key(torch.DispatchKey.CompositeImplicitAutograd)
    is_whole = find_lowering(base.overload) is not None
    is_recorded = is_whole or (base.overload in decomposition_table() and not unsafe & tags)
    if is_composite and not written and not is_recorded and not base.hidden_writes:
        return _with(base, kind="composite")
    is_attention = schema.name.startswith("aten::_scaled_dot_product_flash_attention_for_cpu")
    if (unsafe & tags and not is_attention) or base.hidden_writes or base.is_host_read or not schema.returns:
        return _with(base, writes=written)
    if (
        schema.name.startswith("aten::empty")
        or "::_foreach" in schema.name
        or schema.name in ("aten::set_", "aten::resize_")
    ):
        return _with(base, writes=written)
    functional = base.overload if not written else _functional(base.overload, schema, written)
    if functional is None:
        return _with(base, writes=written)
    whole = find_lowering(functional) is not None
    if whole or functional in decomposition_table():
        is_out = bool(written) and isinstance(written[0], str)
        return _with(base, kind="record", functional=functional, writes=written, is_out=is_out, is_whole=whole)
    return _with(base, writes=written)


def _with(facts: OpFacts, **changes: Any) -> OpFacts:
    return OpFacts(**{**facts.__dict__, **changes})


def _written(schema: Any) -> tuple[int | str, ...]:
    return tuple(
        argument.name if argument.kwarg_only else position
        for position, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def _functional(overload: Any, schema: Any, written: tuple[int | str, ...]) -> Any:
    """The overload with the same arguments that returns what `overload` writes."""
    name = schema.name.partition("::")[2]
    if any(isinstance(position, str) for position in written):
        packet = getattr(aten, name, None)
        wanted = [(a.name, str(a.type)) for a in schema.arguments if a.name not in written]
    else:
        if not name.endswith("_") or written != (0,):
            return None
        packet = getattr(aten, name[:-1], None)
        wanted = [(a.name, str(a.type)) for a in schema.arguments]
    if packet is None:
        return None
    for other in packet.overloads():
        candidate = getattr(packet, other)
        arguments = candidate._schema.arguments
        if candidate._schema.is_mutable or any(r.alias_info is not None for r in candidate._schema.returns):
            continue
        if [(a.name, str(a.type)) for a in arguments] == wanted:
            return candidate
    return None


def may_return_argument(facts: OpFacts) -> bool:
    """True if the result may share memory with an argument although the schema does not say so."""
    return facts.overload._schema.name in _MAYBE_VIEWS


def makes(facts: OpFacts) -> bool:
    """True if the op makes a tensor from numbers."""
    return isinstance(facts.overload, torch._ops.OpOverload) and facts.overload._schema.name in _MAKERS
