"""What a workload is, and what the files that list them share."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

Shape = tuple[int, ...]
DYNAMIC = torch.export.Dim.DYNAMIC
TWO_FREE = {0: DYNAMIC, 1: DYNAMIC}


@dataclass
class Workload:
    name: str
    make: Callable  # key -> callable on tensors
    inputs: Callable  # shape -> tuple of tensors
    draw: Callable  # random.Random -> shape
    flops: Callable  # shape -> floating-point operations
    bytes: Callable  # shape -> bytes read and written once
    dynamic: tuple  # dynamic_shapes of torch.export, one entry per input
    traced: Shape  # a shape to export with: the free sizes differ and are not 0 or 1
    key: Callable = field(default=lambda shape: None)
    onnx: Callable | None = None  # -> ModelProto; otherwise the callable is exported

    def shapes(self, count: int, seed: int) -> list[Shape]:
        generator = random.Random(seed)
        return [self.draw(generator) for _ in range(count)]


def elements(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
