"""The recorder: sees every ATen call of its thread below autograd, records it or lets torch run it.

Results are real tensors whose memory is written when the segment runs, so views, autograd, storage identity and whatever
outlives the context are torch's own. One recorder per thread; a lock lets other threads ask it to run what it holds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .facts import OpFacts, facts_of
from .layouts import layout_of, overlap, storage_key, writes_once
from .metadata import Metadata, NotRecordable, ResultLayout, metadata_of
from .run import can_lower, run_segment
from .segment import Hazard, Recipe, Ref, Segment
from .statistics import STATISTICS

MAX_OPS = 256
ACTIVE: list[Recorder] = []  # replaced, never changed in place: readers take no lock
_active_lock = threading.Lock()


def tensors_in(items: Any) -> Iterator[torch.Tensor]:
    for item in items:
        if isinstance(item, torch.Tensor):
            yield item
        elif isinstance(item, (list, tuple)):
            yield from tensors_in(item)


class Recorder(TorchDispatchMode):
    """Records the calls of the thread that entered it."""

    def __init__(self, max_ops: int = MAX_OPS) -> None:
        super().__init__()
        self.segment = Segment()
        self.lock = threading.RLock()
        self.max_ops = max_ops

    def __enter__(self) -> Recorder:
        global ACTIVE
        with _active_lock:
            ACTIVE = [*ACTIVE, self]
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        global ACTIVE
        super().__exit__(*exception)
        try:
            self.flush("exit")
        finally:
            with _active_lock:
                ACTIVE = [recorder for recorder in ACTIVE if recorder is not self]

    def flush(self, reason: str) -> None:
        """Runs what is recorded. Tensors hold their values afterwards, also if compiling or running it failed."""
        with self.lock:
            segment, self.segment = self.segment, Segment()
            if segment.storages:
                run_segment(segment, reason)

    # ---- dispatch ---------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        facts = facts_of(func)
        if len(ACTIVE) > 1:
            flush_others(self, args, kwargs)
        with self.lock:
            if not is_plain(args) or not is_plain(kwargs.values()):
                return self.on_torch(facts, args, kwargs, "tensors of another kind")
            if facts.kind == "view":
                return self.view(facts, args, kwargs)
            if facts.kind == "composite":
                TorchDispatchMode.__enter__(self)  # the parts come here again
                try:
                    result = func.decompose(*args, **kwargs)
                finally:
                    TorchDispatchMode.__exit__(self, None, None, None)
                if result is not NotImplemented:
                    return result
            if facts.kind == "record":
                try:
                    return self.record(facts, args, kwargs)
                except NotRecordable as error:
                    return self.on_torch(facts, args, kwargs, str(error))
            return self.on_torch(facts, args, kwargs, "")

    def on_torch(self, facts: OpFacts, args: Any, kwargs: Any, why: str) -> Any:
        """Runs the op on torch, after what it depends on."""
        STATISTICS.on_torch[facts.name] += 1
        if self.segment.storages and self.conflicts(facts, args, kwargs):
            self.flush("host read" if facts.is_host_read else f"on torch: {facts.name}" + (f" ({why})" if why else ""))
        return facts.overload(*args, **kwargs)

    def conflicts(self, facts: OpFacts, args: Any, kwargs: Any) -> bool:
        """True if the op reads what is not in memory yet, or writes what recorded ops have still to read."""
        segment = self.segment
        if any(segment.is_pending(storage_key(t)) for t in tensors_in((*args, *kwargs.values()))):
            return True
        if facts.hidden_writes:
            written: Any = (*args, *kwargs.values())
        else:
            written = [kwargs.get(at) if isinstance(at, str) else args[at] for at in facts.writes]
        return any(segment.is_involved(storage_key(t)) for t in tensors_in(written))

    def view(self, facts: OpFacts, args: Any, kwargs: Any) -> Any:
        """Views are made at once: they are metadata. How they were made is kept for reading them later."""
        source = args[0] if args else None
        if not isinstance(source, torch.Tensor) or not self.segment.is_involved(key := storage_key(source)):
            return facts.overload(*args, **kwargs)
        parent = layout_of(source)
        result = facts.overload(*args, **kwargs)
        if "as_strided" in facts.name or not can_lower_view(facts):
            return result
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        rows = tuple(ResultLayout(tuple(t.shape), t.stride(), t.dtype) for t in results)
        for index, tensor in enumerate(results):
            if storage_key(tensor) == key:
                at = None if isinstance(result, torch.Tensor) else index
                self.segment.add_view(tensor, key, Recipe(facts.overload, tuple(args[1:]), kwargs, parent, at, rows))
        return result

    # ---- recording --------------------------------------------------------------------------------------------------

    def record(self, facts: OpFacts, args: Any, kwargs: Any) -> Any:
        refuse_failing(facts, args, kwargs)
        metadata = metadata_of(facts, args, kwargs)
        targets = [kwargs[at] if isinstance(at, str) else args[at] for at in facts.writes]
        inputs = args
        options = {name: item for name, item in kwargs.items() if name not in facts.writes}
        computed = self.computed(facts, metadata, targets, inputs, options)
        if not can_lower(facts, inputs, options, computed, (args, kwargs, metadata)):
            raise NotRecordable("no lowering for these arguments")
        if any(isinstance(t, torch.Tensor) and t.layout is not torch.strided for t in tensors_in(args)):
            raise NotRecordable("another layout")
        if targets:
            return self.record_write(facts, metadata, targets, inputs, options, computed)
        ids = self.append(facts, inputs, options, computed)
        results: list[torch.Tensor | None] = []
        for row, value in zip(metadata.results, ids, strict=True):
            results.append(None if row is None else self.new_tensor(row, value))
        self.bound_size()
        if metadata.single:
            return results[0]
        return results if metadata.as_list else tuple(results)

    def computed(self, facts: OpFacts, metadata: Metadata, targets: Any, args: Any, kwargs: Any) -> Metadata:
        """The results of the functional op, before they are stored in the targets."""
        if not targets:
            return metadata
        for target, row in zip(targets, metadata.results, strict=True):
            if row is None or tuple(target.shape) != row.sizes:
                raise NotRecordable("an output that changes its size")
            if not writes_once(layout_of(target)):
                raise NotRecordable("an output that overlaps itself")
        computed = metadata_of(facts_of(facts.functional), args, kwargs)
        for target, row in zip(targets, computed.results, strict=True):
            if row is None or row.sizes != tuple(target.shape):
                raise NotRecordable("an output of another shape")
            if row.dtype is not target.dtype and not facts.is_pointwise:
                raise NotRecordable("an output of another dtype")
        return computed

    def append(self, facts: OpFacts, args: Any, kwargs: Any, metadata: Metadata) -> tuple[int | None, ...]:
        for _ in range(2):
            try:
                refs = tuple(self.to_refs(item) for item in args)
                options = {name: self.to_refs(item) for name, item in kwargs.items()}
                break
            except Hazard:
                self.flush("alias hazard")
        STATISTICS.recorded += 1
        return self.segment.add_op(facts.functional, refs, options, metadata.results, metadata.as_list)

    def to_refs(self, item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            return self.segment.read(item)
        if isinstance(item, (list, tuple)):
            return [self.to_refs(one) for one in item]
        return item

    def record_write(
        self, facts: OpFacts, metadata: Metadata, targets: Any, args: Any, kwargs: Any, computed: Metadata
    ) -> Any:
        refuse_overlap(targets, args, kwargs)
        try:
            for target in targets:
                self.segment.check_write(target)
        except Hazard:
            self.flush("alias hazard")
        ids = self.append(facts, args, kwargs, computed)
        try:
            for target in targets:
                self.segment.check_write(target)
        except Hazard:  # the op reads a part of what it writes
            raise NotRecordable("an output that is part of an input") from None
        for target, row, value in zip(targets, computed.results, ids, strict=True):
            assert row is not None and value is not None
            if row.dtype is not target.dtype:
                cast = ResultLayout(row.sizes, row.strides, target.dtype)
                options = {"dtype": target.dtype}
                (value,) = self.segment.add_op(torch.ops.aten._to_copy.default, (Ref(value),), options, [cast], False)
            assert value is not None
            self.segment.write(target, value)
        self.bound_size()
        return targets[0] if metadata.single else tuple(targets)

    def new_tensor(self, row: ResultLayout, value: int | None) -> torch.Tensor:
        assert value is not None
        tensor = torch.empty_strided(row.sizes, row.strides, dtype=row.dtype)
        self.segment.add_own(tensor, value)
        return tensor

    def bound_size(self) -> None:
        if len(self.segment) >= self.max_ops:
            self.flush("size limit")


def can_lower_view(facts: OpFacts) -> bool:
    from ..torch_backend.registry import find_lowering

    return find_lowering(facts.overload) is not None


def refuse_overlap(targets: Sequence[torch.Tensor], args: Any, kwargs: Any) -> None:
    """Eager reads and writes in its own order where an output overlaps another argument in part."""
    for number, target in enumerate(targets):
        key, layout = storage_key(target), layout_of(target)
        for other in (*tensors_in((*args, *kwargs.values())), *targets[number + 1 :]):
            if other is target or storage_key(other) != key:
                continue
            if layout_of(other) != layout and overlap(layout_of(other), layout):
                raise NotRecordable("an output that overlaps an input")


def refuse_failing(facts: OpFacts, args: Any, kwargs: Any) -> None:
    """Ops that fail for some values must fail where they are called: a division of integers, by a tensor or 0."""
    if not facts.divides or (facts.is_true_division and kwargs.get("rounding_mode") is None):
        return
    is_float = any(
        item.dtype.is_floating_point if isinstance(item, torch.Tensor) else isinstance(item, float) for item in args
    )
    if not is_float and (isinstance(args[1], torch.Tensor) or args[1] == 0):
        raise NotRecordable("a division of integers may fail")


def is_plain(items: Any) -> bool:
    """True if all tensors are ordinary CPU tensors in memory."""
    for item in items:
        if isinstance(item, torch.Tensor):
            if type(item) not in _PLAIN or item.layout is not torch.strided or item.device.type != "cpu":
                return False
            if item.is_conj() or item.is_neg():
                return False
        elif isinstance(item, (list, tuple)) and not is_plain(item):
            return False
    return True


_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.parameter.Buffer)


def flush_others(own: Recorder, args: Any, kwargs: Any) -> None:
    """Runs what recorders of other threads hold of these tensors."""
    for tensor in tensors_in((*args, *kwargs.values())):
        if tensor.layout is not torch.strided or type(tensor) not in _PLAIN:
            continue
        key = storage_key(tensor)
        for recorder in ACTIVE:
            if recorder is not own and recorder.segment.is_involved(key):
                recorder.flush("another thread")


def flush_holders(tensor: torch.Tensor) -> None:
    """Runs the segments that are to write the tensor's storage."""
    for recorder in ACTIVE:
        if recorder.segment.is_pending(storage_key(tensor)):
            with _disable_current_modes():
                recorder.flush("host read")


def flush_all(reason: str) -> None:
    for recorder in ACTIVE:
        if recorder.segment.storages:
            with _disable_current_modes():
                recorder.flush(reason)
