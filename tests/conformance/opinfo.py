"""torch's own operator database: each operator under torch.compile(backend="tilewright", dynamic=True) against eager.

A case is "operator/dtype" (float32, int64, bool). It runs samples of the database, the in-place form, and for elementwise
operators special values: inf, nan, signed zeros, denormals, limits of integers. Results agree in dtype, shape, strides,
values and in what shares memory with an input. opinfo_exclusions.txt lists what is left out, each with its reason.
The summary says how many cases ran on the library alone; torch ran an operator of the others, or all of it.
"""

import contextlib
import fnmatch
import itertools
import signal
import warnings
from collections import Counter
from pathlib import Path

import torch
from tilewright.torch_backend.compiler import RECORDS
from torch.utils._pytree import tree_leaves, tree_map

EXCLUSIONS = Path(__file__).with_name("opinfo_exclusions.txt")
DTYPES = (torch.float32, torch.int64, torch.bool)
SAMPLES, DRAWN_FROM = 6, 48
SECONDS = 60  # of one case
RAN = Counter()

FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    3.0,
    7.25,
    -31.0,
    88.0,
    89.0,
    -104.0,
    1e-45,
    -1e-40,
    1.1754944e-38,
]
FLOATS += [1e-6, -1e-4, 1e5, -3e9, 3.4028235e38, -3.4028235e38, float("inf"), float("-inf"), float("nan")]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 63, 64, 127, -128, 128, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**62, -(2**62)]
INTEGERS += [2**63 - 1, -(2**63) + 1]
EDGES = {torch.float32: FLOATS, torch.int64: INTEGERS, torch.bool: [False, True]}


def excluded() -> list[str]:
    lines = [line.partition("#")[0].strip() for line in EXCLUSIONS.read_text().splitlines()]
    return [line.partition(": ")[0].strip() for line in lines if line]


def copied(tree):
    """The same arguments in memory of their own, with the same strides."""
    return tree_map(lambda leaf: leaf.detach().clone() if torch.is_tensor(leaf) else leaf, tree)


def shared(result, inputs) -> list[bool]:
    """Of each input whether the result lies in its memory."""
    mine = result.untyped_storage().data_ptr()
    return [mine != 0 and mine == tensor.untyped_storage().data_ptr() for tensor in inputs]


def compare(got, expected, my_inputs, inputs) -> None:
    got, expected = tree_leaves(got), tree_leaves(expected)
    assert len(got) == len(expected), f"{len(got)} results, {len(expected)} expected"
    for mine, wanted in zip(got, expected, strict=True):
        if not torch.is_tensor(wanted):
            assert mine == wanted or (mine != mine and wanted != wanted), f"{mine}, {wanted} expected"
            continue
        assert mine.dtype == wanted.dtype, f"dtype {mine.dtype}, {wanted.dtype} expected"
        assert mine.shape == wanted.shape, f"shape {tuple(mine.shape)}, {tuple(wanted.shape)} expected"
        if wanted.layout == torch.strided:
            moving = [axis for axis, size in enumerate(wanted.shape) if size > 1 and wanted.numel() > 0]
            strides = [[tensor.stride(axis) for axis in moving] for tensor in (mine, wanted)]
            assert strides[0] == strides[1], f"strides {mine.stride()}, {wanted.stride()} expected"
            assert shared(mine, my_inputs) == shared(wanted, inputs), "other inputs than in eager share their memory"
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


def tensors(tree) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if torch.is_tensor(leaf) and leaf.layout == torch.strided]


def edge_calls(info, dtype):
    """Arguments made of special values, for operators that work element by element."""
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    values = torch.tensor(EDGES[dtype], dtype=dtype)
    if isinstance(info, UnaryUfuncInfo):
        yield (values,)
    elif isinstance(info, BinaryUfuncInfo):
        if dtype.is_floating_point:  # eager's vectors overflow inside where a quotient does
            values = values[(values.abs() > 1e-30) & (values.abs() < 1e30) | (values == 0) | ~values.isfinite()]
        yield (values[:, None], values[None, :])
        yield (values[:, None].expand(-1, len(values)).contiguous(), values.expand(len(values), -1).contiguous())


def samples_of(info, dtype) -> list:
    """Some of the first samples, from all over them."""
    drawn = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=False), DRAWN_FROM))
    step = max(1, len(drawn) // SAMPLES)
    return drawn[::step][:SAMPLES]


def calls_of(info, dtype) -> list:
    """(function, arguments, keywords, eager's result, eager's arguments after the call) of what eager does not refuse."""
    samples = samples_of(info, dtype)
    calls = [(info.op, (sample.input, *sample.args), sample.kwargs) for sample in samples]
    if "polynomial" not in info.name:  # eager loops as often as the degree says, up to 2**63 times
        calls += [(info.op, arguments, {}) for arguments in edge_calls(info, dtype)]
    if info.inplace_variant is not None:
        fitting = [sample for sample in samples if not sample.broadcasts_input][:2]
        calls += [(info.inplace_variant, (sample.input, *sample.args), sample.kwargs) for sample in fitting]
    done = []
    for function, arguments, keywords in calls:
        theirs = copied((arguments, keywords))
        with contextlib.suppress(Exception):
            done.append((function, arguments, keywords, function(*theirs[0], **theirs[1]), theirs))
    return done


def run_calls(calls) -> None:
    """All calls in one compiled program, which spares a trace of each."""
    torch._dynamo.reset()
    functions = [call[0] for call in calls]

    def program(arguments):
        return [function(*a, **k) for function, (a, k) in zip(functions, arguments, strict=True)]

    mine = [copied(call[1:3]) for call in calls]
    results = torch.compile(program, backend="tilewright", dynamic=True)(mine)
    for number, (call, changed, got) in enumerate(zip(calls, mine, results, strict=True)):
        try:
            compare(got, call[3], tensors(changed), tensors(call[4]))
            torch.testing.assert_close(tensors(changed), tensors(call[4]), rtol=1e-4, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            shapes = [list(leaf.shape) if torch.is_tensor(leaf) else leaf for leaf in tree_leaves(call[1:3])]
            raise AssertionError(f"call {number}, {call[0].__name__}{shapes}: {error}") from error


def count_where_it_ran(known: set[int]) -> None:
    graphs = [graph for graph in RECORDS.all() if id(graph) not in known]
    if not graphs:
        RAN["nothing compiled"] += 1
    else:
        some = any(graph.fallbacks() or graph.whole_on_torch for graph in graphs)
        RAN["with an operator on torch" if some else "on the library alone"] += 1


def make_case(info, dtype):
    def stop(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    def case() -> None:
        signal.signal(signal.SIGALRM, stop)
        signal.alarm(SECONDS)
        known = {id(graph) for graph in RECORDS.all()}
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                torch.manual_seed(1)
                run_calls(calls_of(info, dtype))
            count_where_it_ran(known)
        finally:
            signal.alarm(0)

    return case


def summary() -> str:
    return ", ".join(f"{count} {where}" for where, count in sorted(RAN.items()))


def cases(directory: Path | None):
    if directory is not None:
        raise SystemExit("the suite opinfo comes with torch and reads no directory")
    from torch.testing._internal.common_methods_invocations import op_db

    patterns, chosen = excluded(), {}
    for info in op_db:
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        for dtype in DTYPES:
            label = f"{name}/{str(dtype).removeprefix('torch.')}"
            left_out = any(fnmatch.fnmatch(label, pattern) for pattern in patterns)
            if dtype in info.supported_dtypes("cpu") and not left_out:
                chosen[label] = make_case(info, dtype)
    return chosen
