"""What tests of the screen share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def _seldom_collected() -> Iterator[None]:
    """An application is a web of objects that lives for a moment; looking for its garbage is a quarter of the time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
