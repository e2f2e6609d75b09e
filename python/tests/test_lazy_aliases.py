"""The alias fuzzer: random programs of views, in-place ops and mixed dtypes inside tilewright.lazy() against eager.

TILEWRIGHT_ALIAS_PROGRAMS sets how many run, TILEWRIGHT_ALIAS_SEED where they begin. Nightly:
TILEWRIGHT_ALIAS_PROGRAMS=100000 TILEWRIGHT_ALIAS_SEED=$(date +%s) ./dev python -m pytest python/tests/test_lazy_aliases.py
"""

from __future__ import annotations

import os

import torch
from alias_programs import differences, outcome

import tilewright

PROGRAMS = int(os.environ.get("TILEWRIGHT_ALIAS_PROGRAMS", "2000"))
FIRST = int(os.environ.get("TILEWRIGHT_ALIAS_SEED", "0"))
STEPS = 12


def run_both(seed: int) -> list[str]:
    want = outcome(seed, STEPS)
    with tilewright.lazy():
        got = outcome(seed, STEPS)
    return differences(want, got)


def test_random_programs() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for seed in range(FIRST, FIRST + PROGRAMS):
            found = run_both(seed)
            assert not found, f"seed {seed}: {found}"
    finally:
        torch.set_num_threads(threads)


def test_the_fuzzer_sees_a_wrong_value() -> None:
    want, got = outcome(1, STEPS), outcome(1, STEPS)
    got["pool"][0].view(-1)[:1].logical_not_() if got["pool"][0].numel() else got["pool"].append(torch.ones(1))
    assert differences(want, want) == []
    tensor = next(t for t in got["pool"] if t.numel())
    tensor.fill_(1) if not (tensor == 1).all() else tensor.zero_()
    assert differences(want, got)
