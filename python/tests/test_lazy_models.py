"""Whole programs of transformers inside tilewright.lazy(), on tiny random models: generation, training, autocast."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from lazy_calls import leaves_nothing_active  # noqa: F401 (a fixture)

import tilewright

transformers = pytest.importorskip("transformers")

SIZES: dict[str, int] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 99,
    "max_position_embeddings": 64,
}
IDS = torch.tensor([[5, 9, 31, 4, 77], [8, 61, 23, 12, 50]])


def llama() -> Any:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, num_key_value_heads=2)).eval()


def gpt2() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64)
    config.bos_token_id = config.eos_token_id = 1
    return transformers.GPT2LMHeadModel(config).eval()


def bert() -> Any:
    torch.manual_seed(0)
    return transformers.BertForSequenceClassification(transformers.BertConfig(**SIZES)).eval()


def both(function: Callable[[], Any]) -> tuple[Any, Any]:
    """What the function gives inside lazy() and outside, from one seed."""
    torch.manual_seed(1)
    want = function()
    torch.manual_seed(1)
    with tilewright.lazy():
        got = function()
    return got, want


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": False},
        {"do_sample": True, "top_k": 5},
        {"do_sample": False, "cache_implementation": "static", "disable_compile": True},
        {"do_sample": False, "num_beams": 3},
    ],
    ids=["greedy", "sampled", "static cache", "beams"],
)
def test_generation(options: dict[str, Any]) -> None:
    model = llama()
    got, want = both(lambda: model.generate(IDS, max_new_tokens=5, pad_token_id=0, **options))
    assert torch.equal(got, want)


def losses(model: Any, labels: torch.Tensor, optimiser: Any, autocast: bool, checkpoints: bool) -> torch.Tensor:
    """Of some steps of training, with gradients clipped and a schedule."""
    own = copy.deepcopy(model).train()
    if checkpoints:
        own.gradient_checkpointing_enable()
    steps = optimiser(own.parameters())
    schedule = torch.optim.lr_scheduler.LinearLR(steps, total_iters=3)
    found = []
    for _ in range(3):
        steps.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = own(IDS, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(own.parameters(), 1.0)
        steps.step()
        schedule.step()
        found.append(loss.detach())
    return torch.stack(found)


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, 1e-3)


def momentum(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, 1e-3, momentum=0.9)


@pytest.mark.parametrize(
    ("make", "labels", "optimiser", "autocast", "checkpoints"),
    [
        (llama, IDS, adam, False, False),
        (llama, IDS, adam, True, False),
        (llama, IDS, momentum, False, True),
        (gpt2, IDS, momentum, False, False),  # with dropout: torch's generator
        (bert, torch.tensor([0, 1]), adam, False, False),
    ],
    ids=["llama", "autocast", "checkpoints", "dropout", "bert"],
)
def test_training(make: Any, labels: torch.Tensor, optimiser: Any, autocast: bool, checkpoints: bool) -> None:
    model = make()
    with torch.enable_grad():
        got, want = both(lambda: losses(model, labels, optimiser, autocast, checkpoints))
    tolerance = 5e-2 if autocast else 1e-3
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference_with_a_mask(mode: Any) -> None:
    model, mask = bert(), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with mode():
        got, want = both(lambda: model(IDS, attention_mask=mask).logits)
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
