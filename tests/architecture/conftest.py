"""What tests of the architecture share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.trees import forget


@pytest.fixture(scope="package", autouse=True)
def _trees() -> Iterator[None]:
    yield
    forget()
