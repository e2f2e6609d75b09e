"""The torch.compile backend: torch.compile(model, backend="tilewright", options={"fallback": "torch" | "error"})."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

from .compiler import CompiledGraph, Settings, attach, compile_module
from .decompositions import decomposition_table

__all__ = ["compile_graph"]


def compile_graph(
    module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Entry point of the backend. `options`: {"fallback": "torch" (default) or "error"}; `mode` must be None or "default"."""
    if mode not in (None, "default"):
        raise ValueError(f"the tilewright backend has no mode {mode!r}")
    settings = Settings.read(options)
    graphs: list[CompiledGraph] = []

    def compiler(kind: str) -> Callable[[GraphModule, Sequence[Any]], Any]:
        return lambda graph, _: compile_module(graph, kind, settings, graphs)

    backend = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )
    call = backend(module, example_inputs)
    attach(call, graphs)
    return call
