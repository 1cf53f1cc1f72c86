"""What tests of the screen share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tui.ui import manners


@pytest.fixture(autouse=True, scope="package")
def _seldom_collected() -> Iterator[None]:
    """An application is a web of objects that lives for a moment; looking for its garbage is a quarter of the time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _slow_fingers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pressing again counts as such however long a busy machine took in between."""
    monkeypatch.setattr(manners, "AGAIN_S", 120.0)
