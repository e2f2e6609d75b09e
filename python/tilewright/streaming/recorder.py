"""The recorder: sees every ATen call of its thread below autograd, records it or lets torch run it.

Calls whose like was met before are recorded by _core.Stream; what is here is the slow way: it finds out what a call does, runs
segments where they must run, and teaches the stream. Results are real tensors whose memory is written when the segment runs. One
recorder per thread; a lock lets other threads ask it to run what it holds.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .. import _core
from .facts import OpFacts, facts_of
from .layouts import DTYPES, layout_of, overlap, storage_key, writes_once
from .metadata import Metadata, NotRecordable, ResultLayout, metadata_of
from .naming import takes_floats
from .recordable import checked
from .run import run_segment
from .statistics import STATISTICS
from .templates import movement, read_call

MAX_OPS = 256
ACTIVE: list[Recorder] = []  # replaced, never changed in place: readers take no lock
_active_lock = threading.Lock()
_HAZARD = -1


class Hazard(Exception):
    """What an op needs cannot be said in terms of the recorded values: the segment must run first."""


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
        self.lock = threading.RLock()
        self.max_ops = max_ops
        self.stream = _core.Stream(self.slow, max_ops)
        self.counted = 0
        # On the instance: torch wraps methods of the class in frames of Python. It checks for a method bound to the mode.
        self.__torch_dispatch__ = types.MethodType(self.stream.dispatch, self)  # type: ignore[method-assign]

    @property
    def segment(self) -> _core.StreamSegment:
        return self.stream.segment

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
            self.__dict__.pop("__torch_dispatch__", None)
            self.stream = _core.Stream(None, 1)  # the old one refers to this recorder

    def flush(self, reason: str) -> None:
        """Runs what is recorded. Tensors hold their values afterwards, also if compiling or running it failed."""
        with self.lock:
            if self.stream.segment.is_empty:
                return
            self.stream.busy = True
            try:
                STATISTICS.recorded += self.stream.num_recorded - self.counted
                self.counted = self.stream.num_recorded
                run_segment(self.stream.take(), reason)
            finally:
                self.stream.busy = False

    # ---- dispatch ---------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.slow(func, kinds, args, kwargs)

    @torch._disable_dynamo  # inside of a function given to torch.compile, Dynamo would compile the recorder itself
    def slow(self, func: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        kwargs = kwargs or {}
        facts = known_facts(func)
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
        if not self.segment.is_empty and self.conflicts(facts, args, kwargs):
            self.flush("host read" if facts.is_host_read else f"on torch: {facts.name}" + (f" ({why})" if why else ""))
        return facts.overload(*args, **kwargs)

    def conflicts(self, facts: OpFacts, args: Any, kwargs: Any) -> bool:
        """True if the op reads what is not in memory yet, or writes what recorded ops have still to read."""
        segment = self.segment
        if any(segment.is_pending(key) for key in storage_keys((*args, *kwargs.values()))):
            return True
        if facts.hidden_writes:
            written: Any = (*args, *kwargs.values())
        else:
            written = [kwargs.get(at) if isinstance(at, str) else args[at] for at in facts.writes]
        return any(segment.is_involved(key) for key in storage_keys(written))

    def view(self, facts: OpFacts, args: Any, kwargs: Any) -> Any:
        """Views are made at once: they are metadata. How they were made is kept for reading them later."""
        source = args[0] if args else None
        if not isinstance(source, torch.Tensor) or not self.segment.is_involved(key := storage_key(source)):
            return facts.overload(*args, **kwargs)
        parent = layout_of(source)
        result = facts.overload(*args, **kwargs)
        if "as_strided" in facts.name or not can_lower_view(facts) or parent[3] not in DTYPES:
            return result
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        if any(t.dtype not in DTYPES or t.dim() > 8 for t in results):
            return result
        rows = [ResultLayout(tuple(t.shape), t.stride(), t.dtype) for t in results]
        try:
            call = read_call(facts.overload, args, kwargs, rows, not isinstance(result, torch.Tensor))
        except NotRecordable:
            return result
        layouts = [row.as_layout() for row in rows]
        number, single = call.template.number, isinstance(result, torch.Tensor)
        self.stream.learn(facts.overload, args, kwargs, number, call.ints, layouts, single, isinstance(result, list))
        for index, tensor in enumerate(results):
            if storage_key(tensor) == key:
                self.segment.add_view(key, number, call.ints, layouts, index, layout_of(tensor), parent)
        return result

    # ---- recording --------------------------------------------------------------------------------------------------

    def record(self, facts: OpFacts, args: Any, kwargs: Any) -> Any:
        refuse_failing(facts, args, kwargs)
        metadata = metadata_of(facts, args, kwargs)
        targets = [kwargs[at] if isinstance(at, str) else args[at] for at in facts.writes]
        options = {name: item for name, item in kwargs.items() if name not in facts.writes}
        computed = computed_metadata(facts, metadata, targets, args, options)
        computed = checked(facts, args, options, computed, (args, kwargs, metadata))
        metadata = metadata if targets else computed
        call = read_call(facts.functional, args, options, computed.results, computed.as_list)
        layouts = [None if row is None else row.as_layout() for row in computed.results]
        if facts.is_learnt and (call.template.names_floats or not takes_floats(facts.functional)):
            ints = call.ints
            casts = any(
                r is not None and t.dtype is not r.dtype for t, r in zip(targets, computed.results, strict=False)
            )
            if not casts:
                single, as_list = metadata.single, metadata.as_list
                self.stream.learn(facts.overload, args, kwargs, call.template.number, ints, layouts, single, as_list)
        if targets:
            return self.record_write(metadata, targets, args, options, call, computed)
        first = self.append(call, layouts)
        results: list[torch.Tensor | None] = []
        for number, row in enumerate(metadata.results):
            results.append(None if row is None else self.new_tensor(row, first + number))
        self.bound_size()
        if metadata.single:
            return results[0]
        return results if metadata.as_list else tuple(results)

    def append(self, call: Any, layouts: Any) -> int:
        for _ in range(2):
            try:
                refs = [self.read(tensor) for tensor in call.tensors]
                break
            except Hazard:
                self.flush("alias hazard")
        self.stream.count_recorded()
        return self.segment.add_op(call.template.number, refs, call.ints, call.floats, layouts)

    def read(self, tensor: torch.Tensor) -> int:
        value = self.segment.read(tensor)
        if value < 0:
            raise Hazard if value == _HAZARD else NotRecordable("a tensor of another kind")
        return value

    def record_write(
        self, metadata: Metadata, targets: Any, args: Any, kwargs: Any, call: Any, computed: Metadata
    ) -> Any:
        refuse_overlap(targets, args, kwargs)
        if not all(self.segment.can_write(target) for target in targets):
            self.flush("alias hazard")
        first = self.append(call, [row and row.as_layout() for row in computed.results])
        if not all(self.segment.can_write(target) for target in targets):  # the op reads a part of what it writes
            raise NotRecordable("an output that is part of an input")
        for number, (target, row) in enumerate(zip(targets, computed.results, strict=True)):
            value = first + number
            if row is not None and row.dtype is not target.dtype:
                cast = ResultLayout(row.sizes, row.strides, target.dtype)
                options = {"dtype": target.dtype}
                copy = read_call(torch.ops.aten._to_copy.default, (target,), options, [cast], False)
                value = self.segment.add_op(copy.template.number, [value], [], [], [cast.as_layout()])
            self.segment.write(target, value)
        self.bound_size()
        return targets[0] if metadata.single else tuple(targets)

    def new_tensor(self, row: ResultLayout, value: int) -> torch.Tensor:
        tensor = torch.empty_strided(row.sizes, row.strides, dtype=row.dtype)
        self.segment.add_own(tensor, value)
        return tensor

    def bound_size(self) -> None:
        if len(self.segment) >= self.max_ops:
            self.flush("size limit")


def known_facts(func: Any) -> OpFacts:
    """The facts of an op; the stream is told of each once."""
    facts = facts_of(func)
    if func not in _told:
        _told.add(func)
        kind = {"view": 1, "record": 2}.get(facts.kind, 0)
        if facts.divides and not facts.is_true_division:
            kind = 0  # integer divisions need a look at the numbers
        written = [at for at in facts.writes if isinstance(at, int)]
        names_floats = kind == 2 and takes_floats(facts.functional) and not facts.stores_numbers
        _core.set_stream_op(func, kind, names_floats, written, [at for at in facts.writes if isinstance(at, str)])
    return facts


_told: set[Any] = set()


def computed_metadata(facts: OpFacts, metadata: Metadata, targets: Any, args: Any, kwargs: Any) -> Metadata:
    """The results of the functional op, before they are stored in the targets."""
    if any(row is not None and (row.dtype not in DTYPES or len(row.sizes) > 8) for row in metadata.results):
        raise NotRecordable("a result of another dtype")
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
    """Ops that fail for some values must fail where they are called: a division of integers, by a tensor or 0. Attention
    whose backward pass needs its weights has no lowering."""
    if facts.name.startswith("aten::_scaled_dot") and any(tensor.requires_grad for tensor in tensors_in(args)):
        raise NotRecordable("attention whose backward pass needs its weights")
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
            if item.is_conj() or item.is_neg() or item.dtype not in DTYPES or item.dim() > 8:
                return False
        elif isinstance(item, (list, tuple)) and not is_plain(item):
            return False
    return True


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def storage_keys(items: Any) -> Iterator[int]:
    """Of the tensors that have storage."""
    for tensor in tensors_in(items):
        if tensor.layout is torch.strided:
            try:
                yield storage_key(tensor)
            except (RuntimeError, NotImplementedError):  # a wrapper without storage
                continue


def flush_others(own: Recorder, args: Any, kwargs: Any) -> None:
    """Runs what recorders of other threads hold of these tensors, or waits until it has run."""
    keys = list(storage_keys((*args, *kwargs.values())))
    for recorder in ACTIVE:
        if recorder is not own and (recorder.stream.busy or any(map(recorder.segment.is_involved, keys))):
            recorder.flush("another thread")


def flush_holders(tensor: torch.Tensor) -> None:
    """Runs the segments that are to write the tensor's storage."""
    for recorder in ACTIVE:
        if recorder.stream.busy or any(map(recorder.segment.is_pending, storage_keys((tensor,)))):
            with _disable_current_modes():
                recorder.flush("host read")


def flush_all(reason: str) -> None:
    for recorder in ACTIVE:
        with _disable_current_modes():
            recorder.flush(reason)


def _setup() -> None:
    base = torch._C.TensorBase
    objects = {
        "tensor_type": torch.Tensor,
        "parameter_type": torch.nn.Parameter,
        "device_type": torch.device,
        "cpu": torch.device("cpu"),
        "untyped_storage": base.untyped_storage,
        "stride": base.stride,
        "storage_offset": base.storage_offset,
        "is_neg": base.is_neg,
        "empty_strided": torch.empty_strided,
        "default_dtype": torch.get_default_dtype,
        "new_with_weak_ptr": torch.UntypedStorage._new_with_weak_ptr,
        "free_weak_ref": torch.UntypedStorage._free_weak_ref,
        "movement": movement,
    }
    constants = [
        torch.strided,
        torch.preserve_format,
        torch.contiguous_format,
        torch.channels_last,
        torch.channels_last_3d,
    ]
    floats = [int(dtype.is_floating_point) for dtype in DTYPES]
    _core.setup_streams(objects, DTYPES, [dtype.itemsize for dtype in DTYPES], floats, constants)


_setup()
