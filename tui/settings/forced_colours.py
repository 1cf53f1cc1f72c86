"""``NO_COLOR`` and ``FORCE_COLOR``: the colours that the user wants, whatever the terminal says."""

from __future__ import annotations

from collections.abc import Mapping

FORCED = {"0": 0, "false": 0, "1": 16, "true": 16, "2": 256, "3": 1 << 24}


def forced_colours(environment: Mapping[str, str]) -> int | None:
    """The number of colours to use; None leaves it to the terminal. ``NO_COLOR`` wins."""
    if environment.get("NO_COLOR"):
        return 0
    wanted = environment.get("FORCE_COLOR", "")
    return FORCED.get(wanted.lower(), 16) if wanted else None
