"""A tensor described by dtype, sizes and strides alone, which may be Dims: what a lowering may ask of a fake value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class DescribedTensor:
    """Stands for a CPU tensor that was never made."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    dtype: torch.dtype
    layout = torch.strided
    device = torch.device("cpu")
    is_nested = False
    is_quantized = False

    def size(self, axis: int) -> Any:
        return self.shape[axis]

    def stride(self, axis: int | None = None) -> Any:
        return self.strides if axis is None else self.strides[axis]

    def storage_offset(self) -> int:
        return 0

    def dim(self) -> int:
        return len(self.shape)


def is_tensor(fake: Any) -> bool:
    return isinstance(fake, (torch.Tensor, DescribedTensor))


def tensors_of(fake: Any) -> Sequence[Any]:
    """The tensors of a node's fake value."""
    return [one for one in (fake if isinstance(fake, (list, tuple)) else (fake,)) if is_tensor(one)]
