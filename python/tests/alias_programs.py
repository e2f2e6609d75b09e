"""Random eager programs of views, in-place ops, out=, as_strided and mixed dtypes, drawn from a seed.

A program looks only at metadata and at values it reads on the host, so it draws the same steps wherever it runs with equal
results. Values stay small whole numbers, so every op but a few is exact in every dtype.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

DTYPES = (
    torch.float32,
    torch.float32,
    torch.int64,
    torch.int32,
    torch.float64,
    torch.bool,
    torch.uint8,
    torch.bfloat16,
)
Step = Callable[["Program"], Any]


class Program:
    """A pool of tensors and the steps that change it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.pool: list[torch.Tensor] = []
        self.log: list[str] = []
        self.read: list[Any] = []

    def pick(self) -> torch.Tensor:
        return self.draw.choice(self.pool)

    def like(self, other: torch.Tensor) -> torch.Tensor:
        """A tensor that broadcasts with `other`, if the pool has one."""
        fitting = [t for t in self.pool if broadcasts(t.shape, other.shape)]
        return self.draw.choice(fitting)

    def add(self, tensor: torch.Tensor) -> None:
        if tensor.numel() <= 4096:
            self.pool.append(tensor)
        if len(self.pool) > 12:
            self.pool.pop(self.draw.randrange(len(self.pool)))

    def number(self) -> Any:
        return self.draw.choice((0, 1, 2, 3, -1, 2.0, 0.5, -3.0, True))

    def run(self, steps: int) -> None:
        for _ in range(3):
            self.add(make(self))
        for _ in range(steps):
            step = self.draw.choice(STEPS)
            state = self.draw.getstate()
            try:
                step(self)
                self.log.append(step.__name__)
            except (RuntimeError, IndexError, TypeError, ValueError) as error:
                self.draw.setstate(state)
                self.draw.random()
                self.log.append(f"{step.__name__}: {type(error).__name__}")


def broadcasts(a: Any, b: Any) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


def sizes(p: Program) -> list[int]:
    return [
        p.draw.choice((1, 2, 3, 4, 5, 7, 0) if p.draw.random() < 0.1 else (2, 3, 4, 4, 4))
        for _ in range(p.draw.randrange(4))
    ]


def make(p: Program) -> torch.Tensor:
    shape = sizes(p)
    count = 1
    for size in shape:
        count *= size
    dtype = p.draw.choice(DTYPES)
    kind = p.draw.randrange(5)
    if kind == 0:
        return torch.zeros(shape, dtype=dtype)
    if kind == 1:
        return torch.full(shape, p.draw.choice((1, 2, 3)), dtype=dtype)
    if kind == 2 and len(shape) == 4:
        return torch.ones(shape, dtype=dtype).contiguous(memory_format=torch.channels_last)
    base = (torch.arange(count) % 7).to(dtype).reshape(shape)
    return base.t().contiguous().t() if kind == 3 and len(shape) == 2 else base


def new(p: Program) -> None:
    p.add(make(p))


def unary(p: Program) -> None:
    op = p.draw.choice((torch.neg, torch.abs, torch.relu, torch.sign, torch.square, torch.logical_not, torch.clone))
    p.add(op(p.pick()))


BINARY = (torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.eq, torch.lt, torch.logical_and)


def binary(p: Program) -> None:
    x = p.pick()
    p.add(bounded(p.draw.choice(BINARY)(x, p.like(x))))


def bounded(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype in (torch.bool, torch.uint8) else x.clamp(-50, 50)


def scalar(p: Program) -> None:
    x, number = p.pick(), p.number()
    op = p.draw.choice((torch.add, torch.sub, torch.mul, torch.eq, torch.gt, torch.remainder, torch.floor_divide))
    p.add(op(x, number))


def divide(p: Program) -> None:
    p.add(p.pick() / 2)


def in_place(p: Program) -> None:
    x = p.pick()
    other = p.like(x) if p.draw.random() < 0.6 else p.number()
    getattr(
        x, p.draw.choice(("add_", "sub_", "mul_", "copy_") if isinstance(other, torch.Tensor) else ("add_", "mul_"))
    )(other)
    if x.dtype not in (torch.bool, torch.uint8):
        x.clamp_(-50, 50)


def in_place_unary(p: Program) -> None:
    getattr(p.pick(), p.draw.choice(("neg_", "abs_", "relu_", "zero_", "square_", "logical_not_")))()


def fill(p: Program) -> None:
    p.pick().fill_(p.number())


def masked(p: Program) -> None:
    x = p.pick()
    x.masked_fill_(p.like(x) > 1, 2)


def out(p: Program) -> None:
    x = p.pick()
    op = p.draw.choice((torch.add, torch.mul, torch.maximum))
    y = p.like(x)
    shape = torch.broadcast_shapes(x.shape, y.shape)
    fitting = [t for t in p.pool if t.shape == shape]
    target = p.draw.choice(fitting) if fitting else torch.empty(shape, dtype=torch.promote_types(x.dtype, y.dtype))
    op(x, y, out=target)
    p.add(target)


def view(p: Program) -> None:
    x = p.pick()
    if x.dim() == 0:
        p.add(p.draw.choice((lambda: x[None], lambda: x.view(-1), lambda: x.expand(3)))())
        return
    axis = p.draw.randrange(x.dim())
    size = x.size(axis)
    start = p.draw.randrange(size + 1)
    p.add(
        p.draw.choice(
            (
                lambda: x.select(axis, start if start < size else -1),
                lambda: x.narrow(axis, start, p.draw.randrange(size - start + 1)),
                lambda: x.transpose(0, axis),
                lambda: x.view(-1),
                lambda: x.unsqueeze(axis),
                lambda: x.squeeze(),
                lambda: x[::2],
                lambda: x.T if x.dim() == 2 else x.permute(*reversed(range(x.dim()))),
                lambda: x.expand(2, *x.shape),
                lambda: x.diagonal() if x.dim() > 1 else x[1:],
                lambda: x.reshape(-1, 2),
                lambda: x.unfold(axis, 2, 1),
                lambda: p.draw.choice(x.split(2, axis)),
                lambda: x.detach(),
                lambda: p.draw.choice(x.unbind(axis)),
                lambda: x.view(torch.int32) if x.dtype is torch.float32 else x[..., :1],
            )
        )()
    )


def strided(p: Program) -> None:
    x = p.pick()
    limit = x.untyped_storage().nbytes() // x.dtype.itemsize
    shape = [p.draw.randrange(1, 4) for _ in range(p.draw.randrange(1, 3))]
    stride = [p.draw.randrange(0, 4) for _ in shape]
    reach = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if reach < limit:
        p.add(x.as_strided(shape, stride, p.draw.randrange(limit - reach)))


def assign(p: Program) -> None:
    x = p.pick()
    if x.dim() == 0:
        return
    index = p.draw.randrange(x.size(0))
    if p.draw.random() < 0.5:
        x[index] = p.number()
    else:
        x[index:] = p.like(x[index:])


def part_of(p: Program, x: torch.Tensor) -> torch.Tensor:
    """A part of a tensor: some of its axes sliced, with steps, or picked, perhaps turned or flattened before."""
    if p.draw.random() < 0.3:
        x = p.draw.choice((lambda: x.view(-1), lambda: x.permute(*reversed(range(x.dim()))), lambda: x.unsqueeze(0)))()
    taken: list[Any] = []
    for size in x.shape:
        kind = p.draw.randrange(4)
        start = p.draw.randrange(size + 1)
        if kind == 0:
            taken.append(slice(None))
        elif kind == 1 and start < size:
            taken.append(start)
        else:
            taken.append(slice(start // 2, size - start // 3, p.draw.choice((1, 1, 2, 3))))
    return x[tuple(taken)]


def write_part(p: Program) -> None:
    """Several writes to parts of one tensor, in place, by copies and by out=, with reads between."""
    x = p.pick()
    for _ in range(p.draw.randrange(1, 4)):
        part = part_of(p, x)
        kind = p.draw.randrange(5)
        if kind == 0:
            part.fill_(p.number())
        elif kind == 1:
            part.mul_(2)
        elif kind == 2:
            part.copy_(p.like(part))
        elif kind == 3:
            torch.maximum(part, part.clone(), out=part)
        else:
            part.sub_(part_of(p, x).sum() if x.dtype is not torch.bool else 1)
        if x.dtype not in (torch.bool, torch.uint8):
            x.clamp_(-50, 50) if p.draw.random() < 0.5 else part.clamp_(-50, 50)
    if p.draw.random() < 0.5:
        p.add(part)


def rows(p: Program) -> None:
    """A new tensor filled row by row, then read as a whole."""
    x = p.pick()
    made = torch.empty(3, *x.shape, dtype=x.dtype) if p.draw.random() < 0.5 else torch.zeros(3, *x.shape, dtype=x.dtype)
    for row in range(3):
        made[row] = x if row != 1 else x.logical_not()
    p.add(made)


def swap(p: Program) -> None:
    x = p.pick()
    y = p.draw.choice([t for t in p.pool if t.shape == x.shape])
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


def reduce(p: Program) -> None:
    x = p.pick()
    axis = p.draw.randrange(x.dim()) if x.dim() else 0
    keep = p.draw.random() < 0.5
    p.add(
        p.draw.choice(
            (
                lambda: bounded(x.sum()),
                lambda: bounded(x.sum(axis, keepdim=keep)),
                lambda: x.amax(axis, keepdim=keep),
                lambda: x.any(),
                lambda: x.argmax(),
                lambda: bounded(x.cumsum(axis)),
                lambda: x.max(axis, keepdim=keep)[p.draw.randrange(2)] if x.dim() else x.max(),
                lambda: (x > 1).sum(),
            )
        )()
    )


def join(p: Program) -> None:
    x = p.pick()
    y = p.draw.choice([t for t in p.pool if t.shape == x.shape])
    p.add(p.draw.choice((torch.cat, torch.stack))((x, y)))


def where(p: Program) -> None:
    x = p.pick()
    y = p.like(x)
    p.add(torch.where(x > 0, x, y))


def cast(p: Program) -> None:
    x, dtype = p.pick(), p.draw.choice(DTYPES)
    if x.dtype.is_floating_point and not dtype.is_floating_point:
        x = torch.nan_to_num(x, 0.0, 0.0, 0.0)  # C++ does not say what integer an infinity becomes
    p.add(x.to(dtype))


def index(p: Program) -> None:
    x = p.pick()
    if x.dim() == 0 or x.size(0) == 0:
        return
    rows = torch.arange(p.draw.randrange(1, 4)) % x.size(0)
    kind = p.draw.randrange(4)
    if kind == 0:
        p.add(x[rows])
    elif kind == 1:
        x[rows] = 1
    elif kind == 2:
        p.add(x[x > 0])
    else:
        p.add(x.index_select(0, rows))


def product(p: Program) -> None:
    found = [t for t in p.pool if t.dim() == 2 and t.dtype is torch.float32]
    if found:
        x = p.draw.choice(found)
        p.add(bounded(x @ x.t()))


def chance(p: Program) -> None:
    x = p.pick()
    p.add(torch.randint(0, 5, x.shape) + x)
    if x.dtype is torch.float32:
        x.bernoulli_(0.5)


def host(p: Program) -> None:
    x = p.pick()
    kind = p.draw.randrange(4)
    if kind == 0 and x.numel():
        total = x.sum().item()
        p.read.append(repr(total))
        if total > 0:
            p.add(x + 1)
    elif kind == 1:
        p.read.append(x.tolist())
    elif kind == 2 and x.dtype is not torch.bfloat16:
        p.read.append(x.numpy().copy().tolist())
    else:
        p.read.append(bool((x > 0).all()))


def reshape_in_place(p: Program) -> None:
    x = p.pick()
    if x.dim() == 2 and p.draw.random() < 0.5:
        x.t_()
    else:
        x.unsqueeze_(0) if x.dim() < 3 else x.squeeze_()


def drop(p: Program) -> None:
    if len(p.pool) > 3:
        p.pool.pop(p.draw.randrange(len(p.pool)))


def loop(p: Program) -> None:
    x = p.pick()
    for _ in range(p.draw.randrange(1, 4)):
        x = torch.clamp(x + x, -40, 40) if x.dtype is not torch.bool else ~x
    p.add(x)


STEPS: tuple[Step, ...] = (
    new, unary, unary, binary, binary, binary, scalar, scalar, divide, in_place, in_place, in_place, in_place_unary, fill,
    masked, out, out, view, view, view, view, view, strided, assign, assign, assign, write_part, write_part, write_part,
    rows, swap, reduce, reduce, join, where, cast,
    index, product, chance, host, reshape_in_place, drop, loop,
)  # fmt: skip


def storage_classes(pool: list[torch.Tensor]) -> list[int]:
    """For each tensor the first tensor of the pool with the same storage."""
    keys = [torch._C.TensorBase.untyped_storage(t)._cdata for t in pool]
    return [keys.index(key) for key in keys]


def outcome(seed: int, steps: int) -> dict[str, Any]:
    """What the program of this seed leaves: metadata at its end, values to be read later."""
    torch.manual_seed(seed)
    program = Program(seed)
    with torch.no_grad():
        program.run(steps)
    pool = program.pool
    return {
        "log": program.log,
        "read": program.read,
        "layouts": [(t.dtype, tuple(t.shape), t.stride(), t.storage_offset()) for t in pool],
        "storages": storage_classes(pool),
        "pool": pool,
    }


def text_of(values: Any) -> str:
    """For comparison. Which zero is the larger one, and the sign of a sum of zeros, is not laid down."""
    return repr(values).replace("-0.0", "0.0")


def differences(eager: dict[str, Any], other: dict[str, Any]) -> list[str]:
    found = [name for name in ("log", "read", "layouts", "storages") if text_of(eager[name]) != text_of(other[name])]
    if found:
        return found
    for number, (a, b) in enumerate(zip(eager["pool"], other["pool"], strict=True)):
        if not torch.equal(torch.nan_to_num(a.double()), torch.nan_to_num(b.double())):
            found.append(f"values of {number}: {a} and {b}")
    return found
