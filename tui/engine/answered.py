"""Whether the model that answered is the model that was asked."""

from __future__ import annotations

from tui.catalog.matching import same_model

_CHANNELS = (".gguf", ":latest", ":free", ":nitro", ":floor", ":exacto")
"""What routers and local servers append to a name without meaning another model."""


def is_same_model(asked: str, answered: str, aliases: tuple[str, ...] = ()) -> bool:
    """Equal but for the vendor in front and a date or release word behind."""
    said = _bare(answered)
    return any(same_model(said, _bare(name)) or same_model(_bare(name), said) for name in (asked, *aliases))


def _bare(name: str) -> str:
    bare = name.strip().lower().rsplit("/", 1)[-1]
    for channel in _CHANNELS:
        bare = bare.removesuffix(channel)
    return bare
