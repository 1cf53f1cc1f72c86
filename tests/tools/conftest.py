"""A toolbox for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return open_bench(tmp_path)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "victim.txt").write_text("victim\n")
    return folder
