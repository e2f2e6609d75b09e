"""Which ATen ops are taken apart before lowering: torch's core table, less the ops that the library has whole."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions

KEPT = frozenset(
    """
    silu hardswish hardsigmoid mish softplus logsumexp roll _scaled_dot_product_flash_attention_for_cpu _fused_rms_norm
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    select_scatter baddbmm unbind log_sigmoid_forward new_zeros new_ones zeros ones zeros_like ones_like avg_pool1d
    mv dot
    """.split()
)


@functools.cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """Overload -> decomposition."""

    def is_kept(overload: Any) -> bool:
        name = overload.name() if isinstance(overload, torch._ops.OpOverload) else str(overload)
        namespace, _, rest = name.partition("::")
        return namespace == "aten" and rest.split(".")[0] in KEPT

    return {overload: rule for overload, rule in core_aten_decompositions().items() if not is_kept(overload)}
