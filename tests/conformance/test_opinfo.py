"""A fixed random part of torch's operator database against eager. All of it: `./dev conformance opinfo`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
SAMPLE = 60


@pytest.mark.slow
def test_a_part_of_the_operator_database_agrees_with_eager() -> None:
    command = [sys.executable, str(RUN), "opinfo", "--sample", str(SAMPLE), "--seed", "11"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert f"{SAMPLE} passed, 0 failed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    alone = re.search(r"(\d+) on the library alone", done.stdout)
    assert alone is not None and int(alone[1]) >= SAMPLE // 2, done.stdout[-1000:]
