"""Compiles the graphs that AOTAutograd hands over, and keeps a record of each for explain()."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule

from .. import _core, threads
from .border import BorderBuilder
from .dims import UnknownExpression
from .host_calls import HostCalls
from .lowering import NotRepresentable

Call = Callable[[list[Any]], Sequence[Any]]
DEFAULT_ENGINE = "vm"


@dataclass
class Settings:
    """Options of torch.compile(backend="tilewright", options={...})."""

    fallback: str = "torch"  # or "error"
    engine: str = "vm"  # or "oracle": the naive evaluator, for tests

    @staticmethod
    def read(options: dict[str, Any] | None) -> Settings:
        options = dict(options or {})
        settings = Settings(options.pop("fallback", "torch"), options.pop("engine", DEFAULT_ENGINE))
        if settings.fallback not in ("torch", "error"):
            raise ValueError(f"option 'fallback' must be 'torch' or 'error': {settings.fallback!r}")
        if settings.engine not in ("vm", "oracle"):
            raise ValueError(f"option 'engine' must be 'vm' or 'oracle': {settings.engine!r}")
        if options:
            raise ValueError(f"unknown options: {', '.join(map(repr, options))}; known: 'fallback'")
        return settings


@dataclass(eq=False)
class CompiledGraph:
    """One graph given to the backend: how it runs, and what explain() says of it."""

    kind: str  # inference, forward or backward
    num_nodes: int
    text: str = ""
    whole_on_torch: str = ""  # the reason, if torch runs all of it
    host_calls: HostCalls = field(default_factory=HostCalls)
    calls: int = 0  # of a graph that runs on torch
    border: _core.Border | None = None
    builder: BorderBuilder | None = field(default=None, repr=False)
    run: Call = field(default=lambda _: [], repr=False)

    def plan_ops(self) -> list[str]:
        """The ops of the optimised graph; an op with a region ("fused") is one kernel."""
        if self.border is None or not self.border.plan:
            return []
        return [op for op, _ in _core.Graph.parse(self.border.plan).nodes()]

    def explain(self) -> dict[str, Any]:
        """Kernels, refused merges, passes, and bytes moved at the sizes of the last call; empty if torch runs it all."""
        return {} if self.border is None else self.border.explain()

    def free_sizes(self) -> int:
        """How many sizes of the inputs are symbols."""
        if self.builder is None:
            return 0
        graph = self.builder.lowering.graph
        sizes = {str(size) for value in graph.inputs for size in graph.type(value)[1]}
        return sum(not size.isdigit() for size in sizes)

    def parts(self) -> tuple[BorderBuilder, _core.Border]:
        """What a file is made of; ValueError if the graph needs torch to run."""
        if self.border is None or self.builder is None or self.host_calls.functions:
            raise ValueError(f"the graph needs torch to run: {self.whole_on_torch or ', '.join(self.fallbacks())}")
        return self.builder, self.border

    def save(self, path: str) -> None:
        """Stores the graph with the parameters of its last call."""
        builder, border = self.parts()
        strides = builder.output_strides()
        _core.save_model(builder.lowering.graph, border.weights(), strides, {"source": "torch"}, path)

    def export(self, path: str, *options: Any) -> dict[str, Any]:
        """Writes the graph with the parameters of its last call as an ONNX model; options as of _core.export_graph."""
        builder, border = self.parts()
        return _core.export_graph(builder.lowering.graph, border.weights(), {"source": "torch"}, path, *options)

    def fallbacks(self) -> dict[str, str]:
        """Op -> reason, for the ops that run on torch inside this graph."""
        return {function.name: function.reason for function in self.host_calls.functions}


class Records:
    """The compiled graphs that are alive, for explain() and stats()."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graphs: list[weakref.ref[CompiledGraph]] = []

    def add(self, graph: CompiledGraph) -> None:
        with self._lock:
            self._graphs = [ref for ref in self._graphs if ref() is not None]
            self._graphs.append(weakref.ref(graph))

    def all(self) -> list[CompiledGraph]:
        with self._lock:
            found = [ref() for ref in self._graphs]
        return [graph for graph in found if graph is not None]


RECORDS = Records()


def innermost(function: Any) -> Any:
    """The function under Dynamo's wrappers, which do not keep attributes."""
    while hasattr(function, "_torchdynamo_orig_callable"):
        function = function._torchdynamo_orig_callable
    return function


def attach(call: Any, graphs: list[CompiledGraph]) -> None:
    """Notes on a compiled function which graphs it runs; a backward graph joins the list at the first backward pass."""
    innermost(call).tilewright_graphs = graphs


def attached(call: Any) -> list[CompiledGraph]:
    return getattr(innermost(call), "tilewright_graphs", [])


def boxed(graph: CompiledGraph) -> Call:
    """The callable that AOTAutograd gets: one list of arguments, which it empties."""
    run = graph.run

    def call(arguments: list[Any]) -> Sequence[Any]:
        if threads.follow_torch and (count := torch.get_num_threads()) != _core.num_threads():
            _core.set_num_threads(count)
        results = run(arguments)
        arguments.clear()
        return results

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def on_torch(graph: CompiledGraph, module: GraphModule) -> Call:
    """Runs the FX graph by torch."""

    def call(arguments: list[Any]) -> Sequence[Any]:
        graph.calls += 1
        return module(*arguments)

    return call


def compile_module(module: GraphModule, kind: str, settings: Settings, graphs: list[CompiledGraph]) -> Call:
    """Compiles one AOT graph and appends its record to `graphs`.

    What the library cannot express runs on torch, unless settings.fallback is "error".
    """
    graph = CompiledGraph(kind, len(module.graph.nodes))
    RECORDS.add(graph)
    graphs.append(graph)
    if kind == "backward":
        graph.whole_on_torch = "backward graphs run on torch"
        graph.run = on_torch(graph, module)
        return boxed(graph)
    try:
        lower(graph, module, settings)
    except (NotRepresentable, UnknownExpression, NotImplementedError) as error:
        graph.whole_on_torch = str(error)
        graph.run = on_torch(graph, module)
    refuse_fallbacks(graph, settings)
    return boxed(graph)


def lower(graph: CompiledGraph, module: GraphModule, settings: Settings) -> None:
    """Lowers the module. An op that the runtime has no kernel for makes a second round, in which its users run on torch."""
    without_kernel: frozenset[str] = frozenset()
    while True:
        builder = BorderBuilder(module, *static_inputs(), settings.engine == "oracle", without_kernel)
        try:
            border = builder.build()
            break
        except NotImplementedError as error:
            refused = re.search(r"op (\w+) has no kernel", str(error))
            if refused is None or refused[1] in without_kernel:
                raise
            without_kernel |= {refused[1]}
    graph.builder, graph.border, graph.run = builder, border, border
    graph.host_calls = builder.host_calls
    graph.text = str(builder.lowering.graph)


def refuse_fallbacks(graph: CompiledGraph, settings: Settings) -> None:
    if settings.fallback != "error":
        return
    if graph.whole_on_torch:
        raise NotImplementedError(f"the graph cannot run without torch: {graph.whole_on_torch}")
    if graph.host_calls.functions:
        listed = "; ".join(f"{name}: {reason}" for name, reason in graph.fallbacks().items())
        raise NotImplementedError(f"ops without a lowering: {listed}")


def static_inputs() -> tuple[list[int], int]:
    """Positions of the arguments that are parameters or buffers, and how many leading arguments are effect tokens."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    if metadata is None:
        return [], 0
    return list(metadata.static_input_indices), len(metadata.tokens)
