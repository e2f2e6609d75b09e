"""What became of a function given to torch.compile(backend="tilewright")."""

from __future__ import annotations

import types
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from .compiler import RECORDS, CompiledGraph


@dataclass
class Explanation:
    """The compiled graphs of a function. `str()` of it is a report."""

    graphs: list[CompiledGraph] = field(default_factory=list)
    breaks: int = 0

    @property
    def fallbacks(self) -> dict[str, str]:
        """Op that runs on torch -> reason."""
        return {name: reason for graph in self.graphs for name, reason in graph.fallbacks().items()}

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graphs, {self.breaks} graph breaks"]
        for number, graph in enumerate(self.graphs):
            lines.append(f"graph {number}: {graph.kind}, {graph.num_nodes} nodes, {describe(graph)}")
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


def explain(compiled: Any = None) -> Explanation:
    """Graphs, breaks, kernels and fallbacks of a compiled function or module; of everything alive if None is given."""
    records = RECORDS.all()
    if compiled is None:
        return Explanation(records)
    names, breaks = backend_ids(compiled)
    return Explanation([graph for graph in records if graph.backend_id in names], breaks)


def graphs_of(compiled: Any) -> list[CompiledGraph]:
    graphs = explain(compiled).graphs
    if not graphs:
        raise ValueError("not a function compiled by the tilewright backend, or not called yet")
    return graphs


def codes_of(compiled: Any) -> list[tuple[types.CodeType, dict[str, Any]]]:
    """Code objects that Dynamo compiled for a function or a module and its children."""
    original = getattr(compiled, "_orig_mod", None) or getattr(compiled, "_torchdynamo_orig_callable", None) or compiled
    modules = list(original.modules()) if isinstance(original, torch.nn.Module) else []
    functions = [module.forward for module in modules] if modules else [original]
    found = []
    for function in functions:
        function = getattr(function, "_torchdynamo_orig_callable", function)
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType):
            found.append((function.__code__, function.__globals__))
    return found


def backend_ids(compiled: Any) -> tuple[set[str], int]:
    """Names of the compiled graphs that the function's bytecode calls, and how many graph breaks were met."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    names: set[str] = set()
    breaks = 0
    pending = codes_of(compiled)
    seen = set()
    while pending:
        code, scope = pending.pop()
        if code in seen:
            continue
        seen.add(code)
        for entry in _debug_get_cache_entry_list(code):
            for name in entry.code.co_names:
                if name.startswith("__compiled_fn"):
                    names.add(name)
                target = scope.get(name)
                if name.startswith("__resume_at") and isinstance(target, types.FunctionType):
                    breaks += target.__code__ not in seen
                    pending.append((target.__code__, target.__globals__))
    return names, breaks


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
    """Stores the one graph of a compiled function, with the parameters of its last call, as a model file."""
    graphs = [graph for graph in graphs_of(compiled) if graph.border is not None]
    if not graphs:
        raise ValueError("no graph of this function runs without torch")
    graphs[-1].save(path)


def trim() -> None:
    """Drops the arenas and cached programs of every graph that no call uses now."""
    for graph in RECORDS.all():
        if graph.border is not None:
            graph.border.trim()
