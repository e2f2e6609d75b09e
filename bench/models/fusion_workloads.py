"""The workloads that operator fusion was published with (DVM: operators, subgraphs, models whose shapes keep changing),
and the small programs of language models and of training. `--workloads fusion` runs them all.
"""

import random

import torch
import torch.nn.functional as F
from torch import nn
from workload import DYNAMIC, TWO_FREE, Shape, Workload, elements

SIZES = (64, 96, 128)  # of one network: input, hidden, expert


def any_matmul(generator: random.Random) -> Shape:
    """Sizes 1 to 2048, small ones as likely as large ones."""
    return tuple(int(2 ** generator.uniform(0, 11)) for _ in range(3))


def any_rows(generator: random.Random) -> Shape:
    return int(2 ** generator.uniform(0, 12)), generator.randint(16, 5003)


def image(generator: random.Random) -> Shape:
    return generator.randint(1, 4), 32, generator.randint(4, 48), generator.randint(4, 48)


def linear_shape(generator: random.Random) -> Shape:
    return generator.randint(1, 512), generator.randint(64, 1024), generator.randint(64, 1024)


def rows_inputs(shape: Shape):
    return tuple(torch.randn(s) for s in (shape, shape[-1:], shape[-1:], shape))


def products(shape: Shape) -> int:
    return 2 * elements(shape)


def matmul_bytes(shape: Shape) -> int:
    m, k, n = shape
    return 4 * (m * k + k * n + m * n)


def small_program(x, y, scale):
    """32 operations on one to four thousand elements."""
    total = torch.zeros_like(x)
    for step in range(4):
        a = torch.tanh(x * scale + step)
        b = torch.sigmoid(y - a)
        c = a * b + torch.relu(x)
        total = total + c / (1.0 + torch.abs(c))
    return total * torch.rsqrt(torch.mean(total * total, -1, keepdim=True) + 1e-5)


def branch(x, y):
    return torch.cond(
        x.sum() > 0, lambda x, y: torch.relu(x + y) * 2.0, lambda x, y: torch.exp(-torch.abs(x - y)), (x, y)
    )


class MixtureOfExperts(nn.Module):
    """Multi-gate mixture of experts: 8 experts, a gate and a tower for each of 3 tasks."""

    def __init__(self, experts: int = 8, tasks: int = 3):
        super().__init__()
        torch.manual_seed(0)
        wide, hidden, out = SIZES
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(wide, hidden), nn.ReLU(), nn.Linear(hidden, out), nn.ReLU()) for _ in range(experts)
        )
        self.gates = nn.ModuleList(nn.Linear(wide, experts) for _ in range(tasks))
        self.towers = nn.ModuleList(
            nn.Sequential(nn.Linear(out, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(tasks)
        )

    def forward(self, x):
        opinions = torch.stack([expert(x) for expert in self.experts], 1)
        results = []
        for gate, tower in zip(self.gates, self.towers, strict=True):
            weights = torch.softmax(gate(x), -1).unsqueeze(-1)
            results.append(torch.sigmoid(tower((opinions * weights).sum(1))))
        return torch.cat(results, 1)


def moe_flops(shape: Shape) -> int:
    wide, hidden, out = SIZES
    return 2 * shape[0] * (8 * (wide * hidden + hidden * out) + 3 * (8 * wide + 8 * out + 32 * out + 32))


class SwiGLU(nn.Module):
    def __init__(self, _key=None):
        super().__init__()
        torch.manual_seed(0)
        self.gate, self.up = (nn.Linear(256, 688, bias=False) for _ in range(2))
        self.down = nn.Linear(688, 256, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def rms_norm(x, weight):
    return x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + 1e-6) * weight


def rotate(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


def heads(generator: random.Random) -> Shape:
    return generator.randint(1, 4), 8, generator.randint(1, 256), 64


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def sums(x, y):
    """Two reductions over a sum whose sizes agree or broadcast: which, only a call tells."""
    a, b = torch.exp(x), torch.exp(y)
    return torch.tanh(a + b).sum(1), (a * a).sum(1)


def sums_shape(generator: random.Random) -> Shape:
    rows = generator.randint(2, 2048)
    return rows, rows if generator.random() < 0.5 else 1, generator.randint(16, 1024)


def sums_onnx():
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),
        helper.make_node("Exp", ["y"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Tanh", ["c"], ["d"]),
        helper.make_node("Mul", ["a", "a"], ["e"]),
        helper.make_node("ReduceSum", ["d", "axes"], ["s"], keepdims=0),
        helper.make_node("ReduceSum", ["e", "axes"], ["t"], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", "BS"), ("y", "CS"))]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None]) for n in "st"]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, "sums", inputs, outputs, [axes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


PARAMETERS = 12


def adam_inputs(shape: Shape):
    """For each parameter: itself, its gradient, first and second moment; sizes differ from parameter to parameter."""
    rows, columns = shape
    return tuple(
        torch.rand(rows + 3 * i, columns)
        for i in range(PARAMETERS)
        for _ in range(4)  # one size per parameter
    )


def adam(*tensors):
    results = []
    for i in range(0, len(tensors), 4):
        weight, gradient, mean, variance = tensors[i : i + 4]
        mean = 0.9 * mean + 0.1 * gradient
        variance = 0.999 * variance + 0.001 * gradient * gradient
        step = mean / 0.1 / (torch.sqrt(variance / 0.001) + 1e-8)
        results += [weight - 1e-3 * step, mean, variance]
    return tuple(results)


def adam_bytes(shape: Shape) -> int:
    return 4 * 7 * sum((shape[0] + 3 * i) * shape[1] for i in range(PARAMETERS))


def cross_entropy(logits, target):
    return F.cross_entropy(logits, target)


def class_inputs(shape: Shape):
    return torch.randn(shape), torch.randint(0, shape[1], shape[:1])


IMAGE_FREE = {0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC}
HEADS_FREE = {0: DYNAMIC, 2: DYNAMIC}

FUSION_WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "matmul-any",
            lambda key: lambda x, weight: x @ weight,
            lambda s: (torch.randn(s[0], s[1]), torch.randn(s[1], s[2])),
            any_matmul,
            products,
            matmul_bytes,
            (TWO_FREE, TWO_FREE),
            (7, 70, 81),
        ),
        Workload(
            "layernorm-any",
            lambda key: lambda x, weight, bias, residual: F.layer_norm(x + residual, (x.shape[-1],), weight, bias),
            rows_inputs,
            any_rows,
            lambda s: 9 * elements(s),
            lambda s: 12 * elements(s),
            (TWO_FREE, {0: DYNAMIC}, {0: DYNAMIC}, TWO_FREE),
            (11, 77),
        ),
        Workload(
            "addmm-relu",
            lambda key: lambda bias, x, weight: torch.relu(torch.addmm(bias, x, weight)),
            lambda s: (torch.randn(s[2]), torch.randn(s[0], s[1]), torch.randn(s[1], s[2])),
            linear_shape,
            products,
            matmul_bytes,
            ({0: DYNAMIC}, TWO_FREE, TWO_FREE),
            (7, 70, 81),
        ),
        Workload(
            "addmm-residual",
            lambda key: lambda bias, x, weight, residual: torch.addmm(bias, x, weight) + residual,
            lambda s: (torch.randn(s[2]), torch.randn(s[0], s[1]), torch.randn(s[1], s[2]), torch.randn(s[0], s[2])),
            linear_shape,
            products,
            lambda s: matmul_bytes(s) + 4 * s[0] * s[2],
            ({0: DYNAMIC}, TWO_FREE, TWO_FREE, TWO_FREE),
            (7, 70, 81),
        ),
        Workload(
            "if-else-add",
            lambda key: branch,
            lambda s: (torch.randn(s), torch.randn(s)),
            lambda generator: (generator.randint(1, 256), generator.randint(16, 512)),
            lambda s: 10 * elements(s),
            lambda s: 12 * elements(s),
            (TWO_FREE, TWO_FREE),
            (11, 77),
        ),
        Workload(
            "undecided-sums",
            lambda key: sums,
            lambda s: (torch.randn(s[0], s[2]), torch.randn(s[1], s[2])),
            sums_shape,
            lambda s: 50 * s[0] * s[2],
            lambda s: 4 * (s[0] + s[1]) * s[2],
            (TWO_FREE, TWO_FREE),
            (11, 11, 77),
            onnx=sums_onnx,
        ),
        Workload(
            "mmoe",
            lambda key: MixtureOfExperts().eval(),
            lambda s: (torch.randn(s),),
            lambda generator: (int(2 ** generator.uniform(0, 12)), SIZES[0]),
            moe_flops,
            lambda s: 4 * (s[0] * SIZES[0] + 8 * (SIZES[0] * SIZES[1] + SIZES[1] * SIZES[2])),
            ({0: DYNAMIC},),
            (11, SIZES[0]),
        ),
        Workload(
            "small-program",
            lambda key: small_program,
            lambda s: (torch.randn(s), torch.randn(s), torch.randn(s[-1])),
            lambda generator: (generator.randint(8, 32), generator.randint(125, 128)),
            lambda s: 60 * elements(s),
            lambda s: 12 * elements(s),
            (TWO_FREE, TWO_FREE, {0: DYNAMIC}),
            (11, 77),
        ),
        Workload(
            "rmsnorm",
            lambda key: rms_norm,
            lambda s: (torch.randn(s), torch.randn(s[-1])),
            lambda generator: (generator.randint(1, 2048), 1024),
            lambda s: 5 * elements(s),
            lambda s: 8 * elements(s),
            ({0: DYNAMIC}, {}),
            (11, 1024),
        ),
        Workload(
            "swiglu",
            SwiGLU,
            lambda s: (torch.randn(s),),
            lambda generator: (generator.randint(1, 512), 256),
            lambda s: 6 * s[0] * 256 * 688,
            lambda s: 8 * s[0] * 256 + 4 * 3 * 256 * 688,
            ({0: DYNAMIC},),
            (11, 256),
        ),
        Workload(
            "rope",
            lambda key: rotate,
            lambda s: (torch.randn(s), torch.randn(s[2:]), torch.randn(s[2:])),
            heads,
            lambda s: 4 * elements(s),
            lambda s: 8 * elements(s),
            (HEADS_FREE, {0: DYNAMIC}, {0: DYNAMIC}),
            (3, 8, 11, 64),
        ),
        Workload(
            "attention",
            lambda key: attention,
            lambda s: (torch.randn(s), torch.randn(s), torch.randn(s)),
            heads,
            lambda s: 4 * s[0] * s[1] * s[2] * s[2] * s[3],
            lambda s: 16 * elements(s),
            (HEADS_FREE, HEADS_FREE, HEADS_FREE),
            (3, 8, 11, 64),
        ),
        Workload(
            "adam",
            lambda key: adam,
            adam_inputs,
            lambda generator: (generator.randint(8, 256), generator.randint(16, 256)),
            lambda s: adam_bytes(s) // 2,
            adam_bytes,
            (TWO_FREE,) * (4 * PARAMETERS),
            (11, 77),
        ),
        Workload(
            "cross-entropy",
            lambda key: cross_entropy,
            class_inputs,
            lambda generator: (generator.randint(1, 512), generator.randint(16, 5003)),
            lambda s: 12 * elements(s),
            lambda s: 4 * elements(s),
            (TWO_FREE, {0: DYNAMIC}),
            (11, 77),
        ),
        Workload(
            "groupnorm",
            lambda key: lambda x, weight, bias: F.group_norm(x, 8, weight, bias),
            lambda s: (torch.randn(s), torch.randn(s[1]), torch.randn(s[1])),
            image,
            lambda s: 8 * elements(s),
            lambda s: 8 * elements(s),
            (IMAGE_FREE, {}, {}),
            (3, 32, 11, 13),
        ),
        Workload(
            "instancenorm",
            lambda key: lambda x, weight, bias: F.instance_norm(x, None, None, weight, bias),
            lambda s: (torch.randn(s), torch.randn(s[1]), torch.randn(s[1])),
            image,
            lambda s: 8 * elements(s),
            lambda s: 8 * elements(s),
            (IMAGE_FREE, {}, {}),
            (3, 32, 11, 13),
        ),
    )
}
