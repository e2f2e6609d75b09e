"""Streaming mode: eager programs inside tilewright.lazy() give what eager gives, and segments run when they must."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from lazy_calls import flushes, leaves_nothing_active, reasons_of, same  # noqa: F401 (a fixture)
from tilewright.streaming import run
from torch.nn import functional as F

import tilewright

# ---- why segments run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y.sum().item(),
        lambda y: bool((y > 0).any()),
        lambda y: y.tolist(),
        lambda y: y.numpy(),
        lambda y: np.asarray(y),
        lambda y: y.data_ptr(),
        lambda y: torch.from_dlpack(y),
        lambda y: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(y)),
        lambda y: pickle.dumps(y),
        lambda y: repr(y),
        lambda y: copy.deepcopy(y),
        lambda y: torch.equal(y, y),
    ],
)
def test_host_read(read: Callable[[torch.Tensor], Any]) -> None:
    x = torch.randn(4, 5)

    def program() -> None:
        with tilewright.lazy():
            y = x * 2 + 1
            read(y)
            assert "host read" in flushes()

    reasons = reasons_of(program)
    assert reasons.get("host read", 0) >= 1


def test_values_of_host_reads() -> None:
    same(lambda x: (x * 2).tolist(), torch.arange(4))
    same(lambda x: (x + 1).numpy().copy().tolist(), torch.arange(4))
    same(lambda x: repr(x + 1), torch.randn(3))


def test_unsupported_op() -> None:
    x = torch.randn(4, 4)

    def program() -> None:
        with tilewright.lazy():
            torch.linalg.inv(x + 4 * torch.eye(4))

    assert any("linalg_inv" in reason for reason in reasons_of(program))
    same(lambda x: torch.linalg.inv(x + 4 * torch.eye(4)) * 2, x)


def test_op_without_pending_arguments_does_not_end_the_segment() -> None:
    def program() -> None:
        with tilewright.lazy():
            y = torch.randn(4) + 1
            z = torch.rand(4)  # the generator's; y is still pending
            del y, z

    assert reasons_of(program) == {"exit": 1}


def test_alias_hazard() -> None:
    x = torch.zeros(4, 4)

    def program() -> None:
        with tilewright.lazy():
            x.diagonal().add_(1)  # no slice of x
            x.mul_(2)

    assert reasons_of(program).get("alias hazard") == 1
    assert x[0].tolist() == [2, 0, 0, 0]


def test_size_limit() -> None:
    def program() -> None:
        with tilewright.lazy(max_ops=10):
            x = torch.ones(3)
            for _ in range(35):
                x = x + 1

    assert reasons_of(program)["size limit"] == 3


def test_explicit_flush() -> None:
    def program() -> None:
        with tilewright.lazy():
            x = torch.ones(3) + 1
            tilewright.flush()
            del x

    assert reasons_of(program).get("flush") == 1


def test_dead_values_are_never_stored() -> None:
    before = tilewright.stats()["lazy"]
    x = torch.randn(64)
    with tilewright.lazy():
        y = x
        for _ in range(20):
            y = y * 0.5 + 1
    after = tilewright.stats()["lazy"]
    assert after["values_stored"] - before["values_stored"] == 1
    assert after["values_never_stored"] - before["values_never_stored"] == 39


def test_segments_of_one_structure_compile_once() -> None:
    def program(rows: int, columns: int, factor: float) -> torch.Tensor:
        with tilewright.lazy():
            x = torch.ones(rows, columns)
            return torch.softmax(x * factor + x.sum(0), -1)

    program(3, 5, 0.3)
    before = tilewright.stats()["lazy"]
    for rows in range(6, 12):
        got = program(rows, rows + 7, rows / 7.1)
        torch.testing.assert_close(got, torch.full((rows, rows + 7), 1 / (rows + 7)))
    after = tilewright.stats()["lazy"]
    assert after["compiled"] == before["compiled"]
    assert after["cache_hits"] == before["cache_hits"] + 6


def test_cache_is_bounded() -> None:
    old, run.CACHE.limit = run.CACHE.limit, 4
    try:
        for count in range(1, 12):
            with tilewright.lazy():
                x = torch.ones(3)
                for _ in range(count):
                    x = x * 3
            assert x[0] == 3**count
        assert len(run.CACHE.all()) <= 4
    finally:
        run.CACHE.limit = old


# ---- as in eager ----------------------------------------------------------------------------------------------------


def test_views_and_in_place() -> None:
    def program(x: torch.Tensor) -> Any:
        y = x * 2
        v = y.view(-1)
        y.add_(1)
        y[1] = 7
        w = v[2:] + y.t().reshape(-1)[2:]
        y.t().mul_(3)
        return y, v, w, y.data_ptr() == v.data_ptr()

    same(program, torch.randn(3, 4))


def test_write_to_a_tensor_from_outside() -> None:
    x = torch.zeros(4)
    view = x[1:3]
    with tilewright.lazy():
        x += 1
        x *= 3
        x.sub_(x)
        x.fill_(2)
    assert view.tolist() == [2, 2]


def test_out_argument() -> None:
    def program(x: torch.Tensor, out: torch.Tensor) -> Any:
        result = torch.add(x, 1, out=out)
        assert result is out
        torch.mul(out, out, out=out)
        empty = torch.empty(0)
        torch.add(x, 1, out=empty)
        return out, empty

    same(program, torch.randn(3), torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("a", [torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool])
@pytest.mark.parametrize("b", [torch.float64, torch.float16, torch.int16, torch.bool])
def test_promotion(a: torch.dtype, b: torch.dtype) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> Any:
        zero = x.sum()
        return x + y, x * 2.5, x + zero, torch.where(x > 1, x, y), x / 3, y * zero.to(b)

    same(program, torch.arange(4).to(a), torch.arange(4).to(b))


def test_strides_are_those_of_eager() -> None:
    def program(x: torch.Tensor, m: torch.Tensor) -> Any:
        y = x.to(memory_format=torch.channels_last)
        return [
            *(z.stride() for z in (y * 2, y + x, m.t() + 1, m.t() + m[0].sum(), m.t().clone(), m.expand(2, 3, 5) * 1)),
            y.relu(),
            torch.nn.functional.conv2d(y, torch.ones(4, 3, 2, 2)),
        ]

    same(program, torch.randn(2, 3, 4, 5), torch.randn(3, 5))


def test_random_numbers_are_torchs() -> None:
    def program(x: torch.Tensor) -> Any:
        a = torch.rand(4) + x
        b = torch.nn.functional.dropout(a, 0.5)
        return a, b, torch.randn_like(b) * x, torch.empty(4).uniform_() + b, torch.randperm(4)

    same(program, torch.randn(4))
    with torch.inference_mode():
        same(program, torch.randn(4))


def test_attention_with_one_query() -> None:
    def program(q: torch.Tensor, k: torch.Tensor) -> Any:
        return F.scaled_dot_product_attention(q + 1, k, k) * 2, F.scaled_dot_product_attention(k, k, k, is_causal=True)

    before = tilewright.stats()["lazy"]["ops_on_torch"]
    same(program, torch.randn(1, 1, 4, 8).transpose(1, 2), torch.randn(1, 4, 11, 8))
    after = tilewright.stats()["lazy"]["ops_on_torch"]
    assert {name for name in after if "scaled_dot" in name and after[name] > before.get(name, 0)} == set()


def test_python_control_flow() -> None:
    def program(x: torch.Tensor) -> Any:
        steps = 0
        while x.norm() > 1:
            x = x / 2
            steps += 1
            if steps > 3 and x.sum() > 0:
                return x, steps, "early"
        for row in x:
            if row.sum() > 0:
                x = x + row
        return x, steps, "late"

    for seed in range(4):
        torch.manual_seed(seed)
        same(program, torch.randn(3, 4) * 10)


class Adaptive(torch.nn.Module):
    """A model whose depth depends on what it computes, as adaptive-depth transformers do."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True) for _ in range(4)
        )
        self.halt = torch.nn.Linear(16, 1)

    def forward(self, ids: torch.Tensor) -> dict[str, Any]:
        x = self.embed(ids)
        mask = ids != 0
        taken = 0
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=None if bool(mask.all()) else ~mask)
            taken += 1
            if torch.sigmoid(self.halt(x)).mean() > 0.55:
                break
        pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        return {"pooled": pooled, "layers": taken, "best": pooled.argmax(-1).tolist()}


@pytest.mark.parametrize("gradients", [False, True])
def test_model_with_data_dependent_depth(gradients: bool) -> None:
    model = Adaptive().eval()
    for batch, length in ((2, 5), (3, 7), (1, 4)):
        ids = torch.randint(0, 50, (batch, length))
        with torch.set_grad_enabled(gradients):
            want = model(ids)
            with tilewright.lazy():
                got = model(ids)
        assert got["layers"] == want["layers"] and got["best"] == want["best"]
        torch.testing.assert_close(got["pooled"], want["pooled"], rtol=1e-4, atol=1e-5)


# ---- threads, exceptions, lifetimes ---------------------------------------------------------------------------------


def test_threads_record_apart() -> None:
    x = torch.randn(32, 16)
    want = [torch.softmax(x * i + 1, -1).sum(0) for i in range(4)]
    got: list[Any] = [None] * 4

    def work(i: int) -> None:
        with torch.no_grad():
            for _ in range(20):
                with tilewright.lazy():
                    got[i] = torch.softmax(x * i + 1, -1).sum(0)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)


def test_a_new_thread_sees_what_was_recorded() -> None:
    found: list[Any] = []
    with tilewright.lazy():
        x = torch.ones(4) + 1
        thread = threading.Thread(target=lambda: found.append(x.sum().item()))
        thread.start()
        thread.join()
    assert found == [8.0]


def test_a_recording_thread_sees_what_another_recorded() -> None:
    ready, done = threading.Event(), threading.Event()
    found: list[Any] = []
    shared: list[torch.Tensor] = []

    def reader() -> None:
        with torch.no_grad(), tilewright.lazy():
            ready.wait()
            found.append((shared[0] * 2).sum().item())
            done.set()

    thread = threading.Thread(target=reader)
    thread.start()
    with tilewright.lazy():
        shared.append(torch.ones(4) + 1)
        ready.set()
        done.wait()
    thread.join()
    assert found == [16.0]


def test_exception_in_the_middle() -> None:
    x = torch.ones(3)
    with pytest.raises(KeyError), tilewright.lazy():
        y = x + 1
        x.mul_(5)
        raise KeyError
    assert y.tolist() == [2, 2, 2] and x.tolist() == [5, 5, 5]


def test_errors_are_those_of_eager() -> None:
    with tilewright.lazy():
        x = torch.ones(3) + 1
        with pytest.raises(RuntimeError, match="must match the size"):
            x + torch.ones(4)
        with pytest.raises(RuntimeError, match="result type Float can't be cast"):
            torch.ones(3, dtype=torch.int64).add_(x)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            torch.arange(3) // torch.zeros(3, dtype=torch.int64)
    assert x.tolist() == [2, 2, 2]


def test_out_of_memory_leaves_tensors_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any) -> None:
        raise MemoryError("no memory for an arena")

    monkeypatch.setattr(run, "execute", no_memory)
    x = torch.arange(6.0)
    with tilewright.lazy():
        y = x * 2
        z = y.view(2, 3)
        y.add_(1)
        x.mul_(z.sum())
    assert y.tolist() == [1, 3, 5, 7, 9, 11] and z.tolist() == [[1, 3, 5], [7, 9, 11]]
    assert x.tolist() == [36.0 * i for i in range(6)]


def test_a_failing_op_in_a_segment_leaves_the_rest_valid() -> None:
    table = torch.randn(4, 3)
    with pytest.raises(IndexError), tilewright.lazy():
        good = table * 2
        torch.nn.functional.embedding(torch.tensor([9]), table).sum().item()
    assert torch.equal(good, table * 2)


def test_tensors_outlive_the_context() -> None:
    with tilewright.lazy():
        x = torch.arange(5) * 2
        view = x[1:3]
    x.add_(1)
    assert view.tolist() == [3, 5]


def test_contexts_nest() -> None:
    with tilewright.lazy():
        x = torch.ones(2) + 1
        with tilewright.lazy():
            y = x * 3
        assert flushes()["exit"] >= 1
        z = y + x
    assert z.tolist() == [8, 8]


def test_decorator_forms() -> None:
    @tilewright.lazy()
    def one(x: torch.Tensor) -> torch.Tensor:
        """Its text."""
        return x * 2 + 1

    @tilewright.lazy
    def other(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    class Holder:
        @tilewright.lazy
        def method(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 + 1

    assert one.__doc__ == "Its text."
    for function in (one, other, Holder().method):
        assert function(torch.ones(2)).tolist() == [3, 3]


def test_process_wide() -> None:
    found: list[Any] = []

    def work() -> None:
        with torch.no_grad():
            found.append((torch.ones(3) * 4).sum().item())

    before = tilewright.stats()["lazy"]["ops_recorded"]
    tilewright.enable()
    try:
        x = torch.ones(3) + 1
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        tilewright.disable()
    assert x.tolist() == [2, 2, 2] and found == [12.0]
    assert tilewright.stats()["lazy"]["ops_recorded"] - before >= 5


def test_explain_and_trim() -> None:
    run.CACHE.clear()
    with tilewright.lazy():
        y = torch.relu(torch.ones(40, 3) * 2.5).sum(1)
    assert y[0] == 7.5
    explanation = tilewright.explain(tilewright.lazy)
    assert "ran because of: exit" in str(explanation)
    assert "segment 0: 4 ops" in str(explanation)
    assert "reduce_sum" in explanation.details()
    tilewright.trim()
    with tilewright.lazy():
        y = torch.relu(torch.ones(50, 3) * 2.5).sum(1)
    assert y[49] == 7.5


def test_a_flush_in_another_thread_while_this_one_records() -> None:
    stop = threading.Event()
    shared = [torch.ones(64)]
    wrong: list[float] = []

    def reader() -> None:
        while not stop.is_set():
            values = shared[0].numpy()
            if not (values == values[0]).all():
                wrong.append(float(values[0]))

    with tilewright.lazy():
        thread = threading.Thread(target=reader)
        thread.start()
        for i in range(300):
            x = torch.full((64,), float(i)) * 2 + 1
            shared[0] = x
            shared[0] = (x * 2).clamp(0, 1e6)
        stop.set()
        thread.join()
    assert not wrong
    assert shared[0].tolist() == [299 * 4.0 + 2] * 64
