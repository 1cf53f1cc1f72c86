"""What the store needs of the world, handed in."""

from __future__ import annotations

from collections.abc import Callable

from tui.domain.fast_dataclass import dataclass
from tui.store.leases import Holder


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContext:
    """Who we are, what time it is, what new things are called, what must not be seen."""

    holder: Holder
    now: Callable[[], float]
    new_id: Callable[[], str]
    conceal: Callable[[str], str] = _as_it_is
    """Takes the keys the program knows out of exports; what looks like a key is taken out besides."""
