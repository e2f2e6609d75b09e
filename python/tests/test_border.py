"""The border to torch: strides, aliases, mutation, numbers, late sizes, weights, fallbacks, explain."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_eager import assert_same, check, compiled
from torch import nn

import tilewright
from tilewright import threads


def test_package_imports_without_torch() -> None:
    import subprocess
    import sys

    code = "import sys, tilewright; sys.exit(any(name in sys.modules for name in ('torch', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_results_are_laid_out_as_in_eager(engine: str) -> None:
    def run(x: torch.Tensor) -> Any:
        return (x + 1).t(), (x * 2).permute(1, 0)[1:], (x + 1).expand(2, -1, -1), x.t() * 3

    check(run, (torch.randn(3, 5),), (torch.randn(5, 4),), engine=engine)


def test_a_result_that_is_a_view_of_an_argument_shares_its_memory(engine: str) -> None:
    run = compiled(lambda x: (x.t(), x[1:]), engine)
    x = torch.randn(3, 5)
    transposed, tail = run(x)
    transposed[0, 0] = 7
    tail[0, 0] = 8
    assert x[0, 0] == 7 and x[1, 0] == 8


def test_two_results_of_one_storage_share_memory(engine: str) -> None:
    def both(x: torch.Tensor) -> Any:
        y = x + 1
        return y, y.view(-1)

    y, flat = compiled(both, engine)(torch.zeros(2, 3))
    flat[0] = 5
    assert y[0, 0] == 5


def test_arguments_are_updated_once(engine: str) -> None:
    def update(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        total.add_(x.sum())
        x.mul_(2)
        return x + total

    run = compiled(update, engine)
    for n in (3, 5, 4):
        x, total = torch.randn(n), torch.zeros(())
        copies = x.clone(), total.clone()
        assert_same((run(x, total), x, total), (update(*copies), *copies))


def test_strided_and_overlapping_arguments(engine: str) -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 2 + y

    base = torch.arange(24.0)
    calls = [
        (base.view(4, 6)[:, ::2], base.view(6, 4)[:4, :3]),
        (torch.randn(3).expand(5, 3), base[:15].view(3, 5).t()),
        (base[1:13].view(4, 3), base[3:15].view(4, 3)),
    ]
    check(run, *calls, engine=engine)


def test_numbers_are_operands(engine: str) -> None:
    run = compiled(lambda x, a, n: (x * a + n, n * 2, a), engine)
    for size, a, n in ((3, 0.5, 4), (5, 1.5, 7), (6, -2.25, 9)):
        x = torch.randn(size)
        assert_same(run(x, a, n), (x * a + n, n * 2, a))


def test_late_sizes(engine: str) -> None:
    def run(x: torch.Tensor) -> Any:
        positive = x[x > 0]
        return positive * 2, x.nonzero(), positive.sum()

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        check(run, (torch.randn(9),), (torch.randn(40),), (-torch.rand(6),), engine=engine)


def test_item_becomes_a_size(engine: str) -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        check(
            lambda n: torch.arange(n.item()) * 2,
            (torch.tensor(4),),
            (torch.tensor(0),),
            (torch.tensor(9),),
            engine=engine,
        )


def test_branches(engine: str) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    for x in (torch.ones(4), -torch.ones(4), torch.ones(7)):
        torch._dynamo.reset()
        assert_same(compiled(run, engine)(x), x * 2 if x.sum() > 0 else x - 1)


def test_changed_weights_are_seen(engine: str) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    run = compiled(model, engine)
    x = torch.randn(3, 8)
    assert_same(run(x), model(x))
    changes: list[Any] = [
        lambda: model[0].weight.add_(0.5),
        lambda: setattr(model[2].bias, "data", torch.randn(4)),
        lambda: setattr(model[0].weight, "data", torch.randn(16, 8)),
        lambda: model[2].weight.data.mul_(2),
        lambda: model[0].weight.numpy().__iadd__(1),
        lambda: model.load_state_dict({name: value * 3 for name, value in model.state_dict().items()}),
    ]
    for change in changes:
        change()
        assert_same(run(x), model(x))


def test_refresh_sees_what_sampling_misses() -> None:
    model = nn.Linear(64, 64, bias=False)
    run = compiled(model)
    x = torch.randn(2, 64)
    run(x)
    model.weight.numpy()[3, 5] += 10  # one element, behind torch's back
    tilewright.refresh(run)
    assert_same(run(x), model(x))


def test_an_op_without_lowering_runs_on_torch(engine: str) -> None:
    run = compiled(lambda x: torch.linalg.inv(x @ x.T + torch.eye(3)).exp(), engine, fallback="torch")
    x = torch.randn(3, 4)
    assert_same(run(x), torch.linalg.inv(x @ x.T + torch.eye(3)).exp())
    fallbacks = tilewright.explain(run).fallbacks
    assert any("linalg_inv" in name for name in fallbacks)
    assert any("linalg_inv" in name for name in tilewright.stats()["fallbacks"])


def test_fallback_error_names_the_op() -> None:
    with pytest.raises(Exception, match="linalg_inv"):
        compiled(lambda x: torch.linalg.inv(x))(torch.eye(3))


def test_an_error_in_a_host_call_arrives_unchanged() -> None:
    run = compiled(lambda x: torch.linalg.cholesky(x) + 1, fallback="torch")
    with pytest.raises(torch.linalg.LinAlgError):
        run(-torch.eye(3))
    assert_same(run(torch.eye(3)), torch.linalg.cholesky(torch.eye(3)) + 1)


def test_complex_graphs_run_on_torch_and_explain_says_so() -> None:
    run = compiled(lambda x: torch.view_as_real(torch.view_as_complex(x) * 2j), fallback="torch")
    x = torch.randn(4, 2)
    assert_same(run(x), torch.view_as_real(torch.view_as_complex(x) * 2j))
    assert "runs on torch" in str(tilewright.explain(run))


def test_random_numbers_are_those_of_torch(engine: str) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(4) * 2

    call = compiled(run, engine, fallback="torch")
    torch.manual_seed(3)
    got = call(torch.zeros(4))
    torch.manual_seed(3)
    assert_same(got, run(torch.zeros(4)))


def test_gradients_are_right_and_explain_says_who_computes_them() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))
    run = torch.compile(model, backend="tilewright")
    with torch.enable_grad():
        for n in (3, 5, 7):
            x = torch.randn(n, 4, requires_grad=True)
            y = x.detach().clone().requires_grad_()
            run(x).square().sum().backward()
            gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
            model.zero_grad()
            model(y).square().sum().backward()
            assert_same((x.grad, gradients), (y.grad, [p.grad for p in model.parameters()]))
            model.zero_grad()
    assert "backward graphs run on torch" in str(tilewright.explain(run))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(Exception, match="unknown options: 'speed'"):
        torch.compile(lambda x: x + 1, backend="tilewright", options={"speed": 1})(torch.ones(2))


def test_saved_and_loaded_models_agree(tmp_path: Any) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    run = compiled(model, dynamic=True)
    run(torch.randn(3, 8))
    path = str(tmp_path / "model.twm")
    tilewright.save(run, path)
    session = tilewright.load(path)
    ((name, _, _),) = session.inputs
    for n in (2, 5, 9):
        x = torch.randn(n, 8)
        (result,) = session.run({name: x.numpy()}).values()
        torch.testing.assert_close(torch.from_numpy(result), model(x), rtol=2e-5, atol=2e-5)
    with pytest.raises(ValueError, match="missing inputs"):
        session.run({})


def test_the_graph_with_the_most_free_sizes_is_saved(tmp_path: Any) -> None:
    run = compiled(nn.Linear(8, 4), dynamic=True)
    run(torch.randn(3, 8))
    run(torch.randn(1, 8))  # a graph of its own, for a batch of 1
    tilewright.save(run, str(tmp_path / "model.twm"))
    session = tilewright.load(str(tmp_path / "model.twm"))
    ((name, _, _),) = session.inputs
    assert next(iter(session.run({name: torch.randn(7, 8)}).values())).shape == (7, 4)


def test_a_function_with_breaks_is_not_one_model(tmp_path: Any) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    run = torch.compile(broken, backend="tilewright", dynamic=True)
    run(torch.randn(3))
    with pytest.raises(ValueError, match="1 graph breaks"):
        tilewright.save(run, str(tmp_path / "model.twm"))


def test_threads_follow_torch_until_they_are_set() -> None:
    before, following = torch.get_num_threads(), threads.follow_torch
    compiled = torch.compile(lambda x: x + 1, backend="tilewright")
    try:
        threads.follow_torch = True
        torch.set_num_threads(1)
        compiled(torch.ones(3))
        assert tilewright.num_threads() == 1
        tilewright.set_num_threads(2)
        compiled(torch.ones(3))
        assert tilewright.num_threads() == 2
    finally:
        torch.set_num_threads(before)
        threads.follow_torch = following


def test_results_keep_their_values_while_memory_is_used_again() -> None:
    """Memory of large results is given to later ones once no tensor holds it, and not before."""
    compiled = torch.compile(lambda x: x * 2 + 1, backend="tilewright", dynamic=True)
    kept = []
    for step in range(12):
        x = torch.full((300 + step, 512), float(step))
        result = compiled(x)
        assert all(result.data_ptr() != other.data_ptr() for other in kept)
        if step % 3 == 0:
            kept.append(result[5:, ::2])  # a view holds the memory as well
        del result
    for number, view in enumerate(kept):
        assert torch.equal(view, torch.full_like(view, 3.0 * number * 2 + 1))


def test_large_results_are_ordinary_tensors() -> None:
    compiled = torch.compile(
        lambda x: (x.transpose(0, 1) + 1, x.to(torch.bfloat16)), backend="tilewright", dynamic=True
    )
    x = torch.randn(640, 512)
    moved, narrow = compiled(x)
    assert moved.stride() == (x.transpose(0, 1) + 1).stride()
    assert narrow.dtype is torch.bfloat16
    moved.add_(1)  # in place, autograd and serialisation take them
    weight = torch.ones(512, requires_grad=True)
    with torch.enable_grad():
        (moved.T * weight).sum().backward()
    torch.testing.assert_close(weight.grad, (x + 2).sum(0), rtol=1e-4, atol=1e-2)
