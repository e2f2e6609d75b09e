"""torch's own operator database: each operator's f32 samples under torch.compile(backend="tilewright") against eager.

A case is an operator; it compiles once with dynamic sizes and runs its first samples. Operators whose results are
random, or not determined (empty, resize_), are left out by name.
"""

import warnings
from pathlib import Path

import torch
from torch.utils._pytree import tree_leaves

SAMPLES = 4
UNDETERMINED = ("empty", "new_empty", "resize", "rand", "normal", "bernoulli", "dropout", "multinomial", "uniform")
UNDETERMINED += (
    "exponential",
    "geometric",
    "cauchy",
    "log_normal",
    "svd_lowrank",
    "pca_lowrank",
    "rrelu",
    "fractional",
)


def compare(got, expected) -> None:
    got, expected = tree_leaves(got), tree_leaves(expected)
    assert len(got) == len(expected), f"{len(got)} results, {len(expected)} expected"
    for mine, wanted in zip(got, expected, strict=True):
        if not torch.is_tensor(wanted):
            assert mine == wanted, f"{mine}, {wanted} expected"
            continue
        assert mine.shape == wanted.shape, f"shape {tuple(mine.shape)}, {tuple(wanted.shape)} expected"
        assert mine.stride() == wanted.stride(), f"strides {mine.stride()}, {wanted.stride()} expected"
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


def make_case(info):
    def case() -> None:
        torch._dynamo.reset()
        compiled = torch.compile(info.op, backend="tilewright", dynamic=True)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            samples = info.sample_inputs("cpu", torch.float32, requires_grad=False)
            for _, sample in zip(range(SAMPLES), samples, strict=False):
                arguments = (sample.input, *sample.args)
                expected = info.op(*arguments, **sample.kwargs)
                compare(compiled(*arguments, **sample.kwargs), expected)

    return case


def cases(directory: Path | None):
    if directory is not None:
        raise SystemExit("the suite opinfo comes with torch and reads no directory")
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = {}
    for info in op_db:
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        if torch.float32 in info.supported_dtypes("cpu") and not any(word in name for word in UNDETERMINED):
            chosen[name] = make_case(info)
    return chosen
