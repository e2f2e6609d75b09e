"""Paths that the cross-layer tests share. They look at what `./dev build` has built."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def build(root: Path) -> Path:
    folder = root / os.environ.get("TILEWRIGHT_BUILD", "build")
    if not (folder / "CMakeCache.txt").exists():
        pytest.skip("nothing is built: ./dev build")
    return folder
