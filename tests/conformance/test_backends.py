"""A fixed random tenth of the onnx suite on every machine, with the optimiser and without it. All of it:
`./dev conformance onnx --backends`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
SAMPLE = 203


@pytest.mark.slow
def test_a_tenth_of_the_onnx_suite_agrees_on_every_machine() -> None:
    command = [sys.executable, str(RUN), "onnx", "--sample", str(SAMPLE), "--seed", "7", "--backends"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    backends = [line for line in lines if re.match(r"\w+, optimiser (on|off): \d+ passed", line)]
    assert len(backends) >= 4 and len(backends) % 2 == 0, done.stdout[-2000:] + done.stderr[-2000:]
    wrong = [line for line in lines if line.startswith("  ")]
    assert not wrong, "\n".join(wrong)


def test_the_list_of_exclusions_only_shrinks() -> None:
    lines = RUN.with_name("onnx_exclusions.txt").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 2
