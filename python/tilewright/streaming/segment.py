"""A segment: the recorded ops that have not run yet, and what each storage holds in terms of their values.

Values are numbers. A storage that the segment made ("own") has memory that nothing has written; one from outside has memory
that counts until the segment writes to it. Invariants: no two layouts of one storage that overlap are both read from memory
and written; the content of `current` is what eager would see now at that layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .layouts import Layout, layout_of, overlap, storage_key, storage_of
from .metadata import ResultLayout


class Hazard(Exception):
    """What an op needs cannot be said in terms of the recorded values: the segment must run first."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A value as an argument of a recorded op."""

    value: int


def fill(item: Any, values: Callable[[int], Any]) -> Any:
    """An argument with its Refs replaced."""
    if isinstance(item, Ref):
        return values(item.value)
    return [fill(one, values) for one in item] if isinstance(item, (list, tuple)) else item


def refs_in(item: Any) -> Iterator[int]:
    """The values that an argument refers to, in order."""
    if isinstance(item, Ref):
        yield item.value
    elif isinstance(item, (list, tuple)):
        for one in item:
            yield from refs_in(one)


@dataclass(slots=True)
class Op:
    """One recorded op. `results` are value numbers, None for results that are None."""

    overload: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[int | None, ...]
    as_list: bool = False

    def reads(self) -> Iterator[int]:
        """The values it reads, in order, each place once."""
        yield from refs_in(self.args)
        for item in self.kwargs.values():
            yield from refs_in(item)

    def call(self, values: Callable[[int], Any]) -> Any:
        """The op by torch, on what `values` gives."""
        return self.overload(*fill(self.args, values), **{name: fill(x, values) for name, x in self.kwargs.items()})


@dataclass(slots=True)
class Recipe:
    """How torch made a view: op(parent, *args), result `index` of a list."""

    overload: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    parent: Layout
    index: int | None
    results: tuple[ResultLayout, ...]


@dataclass(slots=True)
class StorageState:
    """What one storage holds."""

    own: bool
    base: Layout | None = None  # of an own storage: all of its memory
    weak: int = 0  # weak pointer of an own storage
    holder: Any = None  # of a storage from outside: keeps it alive
    current: dict[Layout, int] = field(default_factory=dict)
    read: dict[Layout, int] = field(default_factory=dict)  # layout -> input number
    written: dict[Layout, int] = field(default_factory=dict)  # from outside: layout -> value to store
    recipes: dict[Layout, Recipe] = field(default_factory=dict)

    @property
    def is_pending(self) -> bool:
        """True if memory does not hold what eager would see."""
        return self.own or bool(self.written)


class Segment:
    """Recorded ops and storages. Not thread-safe: its recorder holds a lock."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.values: list[ResultLayout] = []
        self.inputs: list[tuple[torch.Tensor, int]] = []  # a tensor that keeps the layout, its value
        self.storages: dict[int, StorageState] = {}

    def __len__(self) -> int:
        return len(self.ops)

    def new_value(self, layout: ResultLayout) -> int:
        self.values.append(layout)
        return len(self.values) - 1

    def add_op(
        self, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any, as_list: bool
    ) -> tuple[int | None, ...]:
        ids = tuple(None if result is None else self.new_value(result) for result in results)
        self.ops.append(Op(overload, args, kwargs, ids, as_list))
        return ids

    # ---- reading ----------------------------------------------------------------------------------------------------

    def read(self, tensor: torch.Tensor) -> Ref:
        """The value that the tensor holds now."""
        key = storage_key(tensor)
        layout = layout_of(tensor)
        state = self.storages.get(key)
        if state is None:
            state = self.storages[key] = StorageState(own=False, holder=storage_of(tensor))
        value = state.current.get(layout)
        if value is None:
            value = self._derived(state, layout)
        if value is None:
            if state.own or any(overlap(layout, other) for other in state.written):
                raise Hazard
            value = self._add_input(state, layout, tensor)
        return Ref(value)

    def _add_input(self, state: StorageState, layout: Layout, tensor: torch.Tensor) -> int:
        value = self.new_value(ResultLayout(layout[1], layout[2], layout[3]))
        state.current[layout] = value
        state.read[layout] = len(self.inputs)
        self.inputs.append((tensor.detach(), value))
        return value

    def _derived(self, state: StorageState, layout: Layout) -> int | None:
        """The value of a view, by the op that made it, from what the viewed tensor holds now."""
        recipe = state.recipes.get(layout)
        if recipe is None:
            return None
        parent = state.current.get(recipe.parent)
        if parent is None:
            parent = self._derived(state, recipe.parent)
        if parent is None:
            return None
        args = (Ref(parent), *recipe.args)
        ids = self.add_op(recipe.overload, args, recipe.kwargs, recipe.results, recipe.index is not None)
        value = ids[recipe.index or 0]
        assert value is not None
        state.current[layout] = value
        return value

    # ---- writing ----------------------------------------------------------------------------------------------------

    def add_own(self, tensor: torch.Tensor, value: int) -> None:
        """A new tensor that will hold a value."""
        storage = storage_of(tensor)
        layout = layout_of(tensor)
        self.storages[storage._cdata] = StorageState(
            own=True, base=layout, weak=storage._weak_ref(), current={layout: value}
        )

    def check_write(self, tensor: torch.Tensor) -> None:
        """Raises Hazard if a write to the tensor cannot be recorded now."""
        state = self.storages.get(storage_key(tensor))
        if state is None:
            return
        layout = layout_of(tensor)
        if state.own:
            if layout != state.base:
                raise Hazard
            return
        for others in (state.read, state.written):
            if any(other != layout and overlap(other, layout) for other in others):
                raise Hazard

    def write(self, tensor: torch.Tensor, value: int) -> None:
        """The tensor holds `value` from now on. check_write has passed."""
        key = storage_key(tensor)
        layout = layout_of(tensor)
        state = self.storages.get(key)
        if state is None:
            state = self.storages[key] = StorageState(own=False, holder=storage_of(tensor))
        if state.own:
            state.current = {layout: value}
            return
        if layout not in state.read:
            self._add_input(state, layout, tensor)
        state.current = {other: old for other, old in state.current.items() if not overlap(other, layout)}
        state.current[layout] = value
        state.written[layout] = value

    def add_view(self, tensor: torch.Tensor, key: int, recipe: Recipe) -> None:
        state = self.storages.get(key)
        if state is None:
            return
        layout = layout_of(tensor)
        source: Layout | None = recipe.parent
        while source is not None:  # a view of a view that is the tensor itself tells nothing
            if source == layout:
                return
            known = state.recipes.get(source)
            source = known.parent if known is not None else None
        if not (state.own and layout == state.base):
            state.recipes.setdefault(layout, recipe)

    # ---- ending -----------------------------------------------------------------------------------------------------

    def is_pending(self, key: int) -> bool:
        state = self.storages.get(key)
        return state is not None and state.is_pending

    def is_involved(self, key: int) -> bool:
        return key in self.storages

    def live_storages(self) -> list[tuple[Any, int, Layout]]:
        """(storage, value, layout) of own storages that something still holds. The weak pointers are given up."""
        live = []
        for state in self.storages.values():
            if not state.own:
                continue
            storage = torch.UntypedStorage._new_with_weak_ptr(state.weak)
            torch.UntypedStorage._free_weak_ref(state.weak)
            if storage is not None:
                assert state.base is not None
                live.append((storage, state.current[state.base], state.base))
        return live

    def writes(self) -> list[tuple[int, int]]:
        """(input number, value) of what goes to memory from outside."""
        return [
            (state.read[layout], value) for state in self.storages.values() for layout, value in state.written.items()
        ]
