"""What became of a function given to torch.compile(backend="tilewright")."""

from __future__ import annotations

import types
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from .compiler import RECORDS, CompiledGraph, attached, innermost


@dataclass
class Explanation:
    """The compiled graphs of a function. `str()` of it is a report."""

    graphs: list[CompiledGraph] = field(default_factory=list)
    breaks: int = 0

    @property
    def fallbacks(self) -> dict[str, str]:
        """Op that runs on torch -> reason."""
        return {name: reason for graph in self.graphs for name, reason in graph.fallbacks().items()}

    @property
    def refused(self) -> list[tuple[str, str, str]]:
        """(value of a kernel, value of the kernel that reads it, why they are two kernels)."""
        return [row for graph in self.graphs for row in graph.explain().get("refused", [])]

    def details(self) -> str:
        """Every kernel with what it fuses, reads and writes; the passes with their times; the refused merges."""
        return "\n".join(graph.explain().get("text", "") for graph in self.graphs)

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graphs, {self.breaks} graph breaks"]
        for number, graph in enumerate(self.graphs):
            lines.append(f"graph {number}: {graph.kind}, {graph.num_nodes} nodes, {describe(graph)}")
            lines += moved(graph)
            for function in graph.host_calls.functions:
                lines.append(f"  on torch: {function.name}: {function.reason}; {function.calls} calls")
        return "\n".join(lines)


def describe(graph: CompiledGraph) -> str:
    if graph.whole_on_torch:
        return f"runs on torch: {graph.whole_on_torch}"
    ops = Counter(graph.plan_ops())
    fused = ops.pop("fused", 0)
    rest = ", ".join(f"{count} {op}" for op, count in sorted(ops.items()))
    return f"{fused} fused kernels" + (f", {rest}" if rest else "")


def moved(graph: CompiledGraph) -> list[str]:
    """What the last call moved, and what the ops one by one would have."""
    given = graph.explain()
    before, after = given.get("bytes_unfused", -1), given.get("bytes_fused", -1)
    if min(before, after) < 0:
        return []
    refused = len(given["refused"])
    return [f"  bytes moved: {before:,} one by one, {after:,} fused; {refused} merges refused"]


def explain(compiled: Any = None) -> Explanation:
    """Graphs, breaks, kernels and fallbacks of a compiled function or module; of everything alive if None is given."""
    return Explanation(RECORDS.all()) if compiled is None else Explanation(*compiled_graphs(compiled))


def graphs_of(compiled: Any) -> list[CompiledGraph]:
    graphs = explain(compiled).graphs
    if not graphs:
        raise ValueError("not a function compiled by the tilewright backend, or not called yet")
    return graphs


@dataclass(frozen=True)
class Frame:
    """A code object that Dynamo may have compiled. torch shares the code that calls one of its own modules among all of
    them, so there a graph counts only if it reads a parameter of `module`."""

    code: types.CodeType
    scope: dict[str, Any] = field(hash=False, compare=False)
    module: torch.nn.Module | None = None


def frames_of(compiled: Any) -> list[Frame]:
    """Frames of a compiled function, or of a compiled module and its children."""
    module = getattr(compiled, "_orig_mod", None)
    if module is None:
        return frame_of(innermost(compiled))
    frames = [frame for child in module.modules() for frame in frame_of(innermost(child.forward))]
    shared = innermost(compiled.forward)
    return frames + [Frame(frame.code, frame.scope, module) for frame in frame_of(shared)]


def frame_of(function: Any) -> list[Frame]:
    function = getattr(function, "__func__", function)
    return [Frame(function.__code__, function.__globals__)] if isinstance(function, types.FunctionType) else []


def compiled_graphs(compiled: Any) -> tuple[list[CompiledGraph], int]:
    """The graphs that the bytecode of a compiled function calls, and how many graph breaks were met."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    graphs: dict[int, CompiledGraph] = {}
    breaks = 0
    pending = frames_of(compiled)
    seen = set()
    while pending:
        frame = pending.pop()
        if frame.code in seen:
            continue
        seen.add(frame.code)
        for entry in reversed(_debug_get_cache_entry_list(frame.code)):
            for name in entry.code.co_names:
                target = frame.scope.get(name)
                if name.startswith("__compiled_fn") and reads_parameters_of(frame.module, attached(target)):
                    graphs.update((id(graph), graph) for graph in attached(target))
                elif name.startswith("__resume_at") and isinstance(target, types.FunctionType):
                    breaks += target.__code__ not in seen
                    pending += frame_of(target)
    return list(graphs.values()), breaks


def reads_parameters_of(module: torch.nn.Module | None, graphs: list[CompiledGraph]) -> bool:
    """True if a graph reads a parameter or buffer of the module, or none of them reads any."""
    if module is None:
        return True
    read = {address for graph in graphs if graph.border is not None for address in graph.border.weight_addresses}
    own = {tensor.data_ptr() for tensor in (*module.parameters(), *module.buffers())}
    return not read or bool(read & own)


def refresh(compiled: Any) -> None:
    """Counts every parameter of a compiled function as changed. Needed only after writes that torch does not see and that
    leave the few sampled words as they were, such as through numpy into one element."""
    for graph in graphs_of(compiled):
        if graph.border is not None:
            graph.border.refresh()


def fallback_counts() -> dict[str, int]:
    """Op -> calls on torch, over all graphs that are alive; "whole graph" counts graphs that run on torch entirely."""
    counts: Counter[str] = Counter()
    for graph in RECORDS.all():
        for function in graph.host_calls.functions:
            counts[function.name] += function.calls
        if graph.whole_on_torch and graph.kind != "backward":
            counts["whole graph"] += graph.calls
    return dict(counts)


def save_compiled(compiled: Any, path: str) -> None:
    """Stores the graph of a compiled function that takes the most sizes, with the parameters of its last call.

    Dynamo traces sizes of 0 and 1 apart, so a function may have several graphs. A function with graph breaks is several
    functions, and no one file can stand for it.
    """
    _most_free_graph(compiled).save(path)


def export_compiled(compiled: Any, path: str, *options: Any) -> dict[str, Any]:
    """Writes the graph that save_compiled stores as an ONNX model."""
    return _most_free_graph(compiled).export(path, *options)


def _most_free_graph(compiled: Any) -> CompiledGraph:
    explanation = explain(compiled)
    if explanation.breaks:
        raise ValueError(f"the function has {explanation.breaks} graph breaks: a model file holds one graph")
    graphs = [graph for graph in graphs_of(compiled) if graph.border is not None]
    if not graphs:
        raise ValueError("no graph of this function runs without torch")
    return max(graphs, key=lambda graph: graph.free_sizes())


def trim() -> None:
    """Drops the arenas and cached programs of every graph that no call uses now."""
    for graph in RECORDS.all():
        if graph.border is not None:
            graph.border.trim()
