"""What the store needs from the program."""

from __future__ import annotations

from collections.abc import Callable

from tui.domain.fast_dataclass import dataclass
from tui.store.leases import Holder


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContext:
    """Identity, clock, id generator and redaction, passed in by the program."""

    holder: Holder
    now: Callable[[], float]
    new_id: Callable[[], str]
    conceal: Callable[[str], str] = _as_it_is
    """Removes the keys the program knows from exports; anything that looks like a key is removed as well."""
