"""The stage of a test is closed after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.stage import Stage, open_stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    opened = open_stage(tmp_path)
    yield opened
    opened.database.close()
