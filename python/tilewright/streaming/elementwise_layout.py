"""The layout of an elementwise result, as torch's iterator chooses it: from the shapes and strides of the tensors alone."""

from __future__ import annotations

from collections.abc import Sequence

Sizes = tuple[int, ...]


def broadcast(shapes: Sequence[Sizes]) -> Sizes | None:
    """The common shape, None if there is none."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[axis]:
                continue
            if result[axis] != 1:
                return None
            result[axis] = size
    return tuple(result)


def contiguous_strides(sizes: Sizes) -> Sizes:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_contiguous(sizes: Sizes, strides: Sizes) -> bool:
    if 0 in sizes:
        return True
    step = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def channels_last_strides(sizes: Sizes) -> Sizes | None:
    """Strides of a batch of images, or of volumes, with the channels innermost; None for other ranks."""
    if len(sizes) not in (4, 5):
        return None
    order = (1, *range(len(sizes) - 1, 1, -1), 0)
    strides, step = [0] * len(sizes), 1
    for axis in order:
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return tuple(strides)


def is_channels_last(sizes: Sizes, strides: Sizes) -> bool:
    if len(sizes) != 4:
        return False
    step = 1
    for axis in (1, 3, 2, 0):
        if sizes[axis] != 1:
            if strides[axis] != step:
                return False
            step *= sizes[axis]
    return True


def is_dense(sizes: Sizes, strides: Sizes) -> bool:
    """True if the elements fill a block of memory, each once."""
    step = 1
    for stride, size in sorted(zip(strides, sizes, strict=True), key=lambda row: (row[1] < 2, row[0])):
        if size < 2:
            return True
        if stride != step:
            return False
        step *= size
    return True


def elementwise_strides(sizes: Sizes, operands: Sequence[tuple[Sizes, Sizes]], with_numbers: bool) -> Sizes:
    """Strides of the result. `operands`: (sizes, strides) of the tensors in order; `with_numbers`: Python numbers, which
    count as tensors without axes, are among the operands."""
    same_shape = all(shape == sizes for shape, _ in operands) and not (with_numbers and sizes)
    if same_shape:
        if all(is_contiguous(*operand) for operand in operands):
            return contiguous_strides(sizes)
        if all(is_channels_last(*operand) for operand in operands):
            strides = channels_last_strides(sizes)
            assert strides is not None
            return strides
        first = operands[0][1]
        if all(is_dense(*operand) and operand[1] == first for operand in operands):
            return first
    return _permuted_strides(sizes, operands)


def _permuted_strides(sizes: Sizes, operands: Sequence[tuple[Sizes, Sizes]]) -> Sizes:
    rank = len(sizes)
    steps = []
    for shape, strides in operands:
        lead = rank - len(shape)
        own = [0 if shape[i] == 1 and sizes[lead + i] != 1 else strides[i] for i in range(len(shape))]
        steps.append([0] * lead + own)
    order = list(range(rank - 1, -1, -1))  # innermost first
    for start in range(1, rank):
        at = start
        for before in range(start - 1, -1, -1):
            answer = _compare(sizes, steps, order[before], order[at])
            if answer > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif answer < 0:
                break
    if order == list(range(rank - 1, -1, -1)):
        return contiguous_strides(sizes)
    result, step = [0] * rank, 1
    for axis in order:
        result[axis] = step
        step *= sizes[axis]
    return tuple(result)


def _compare(sizes: Sizes, steps: Sequence[Sequence[int]], inner: int, outer: int) -> int:
    """> 0 if the axes are to change places, < 0 if they lie right; the first operand with an opinion decides."""
    for own in steps:
        if own[inner] == 0 or own[outer] == 0:
            continue
        if own[inner] != own[outer]:
            return 1 if own[inner] > own[outer] else -1
        if sizes[inner] > sizes[outer]:
            return 1
    return 0
