"""A string type for keys that cannot be printed: every conversion to text gives ``***abcd``."""

from __future__ import annotations

from typing import Self

SHOWN = 4
"""Characters at the end that stay visible, so that the user can distinguish keys."""
SHORTEST_SHOWN = 12
"""Shorter keys are hidden completely: four characters would reveal too much."""


def masked(value: str) -> str:
    """Return the masked form of a key, the only one that may be shown."""
    return "***" + (value[-SHOWN:] if len(value) >= SHORTEST_SHOWN else "")


class Secret(str):
    """A string that equals its mask in repr, format, json and pickle; ``reveal`` returns the key."""

    __slots__ = ("_value",)
    _value: str

    def __new__(cls, value: str) -> Self:
        self = super().__new__(cls, masked(value))
        object.__setattr__(self, "_value", value)
        return self

    def reveal(self) -> str:
        """Return the key itself, which may be put into a request header only."""
        return self._value

    def __repr__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)

    def __reduce_ex__(self, protocol: object) -> tuple[type[str], tuple[str]]:
        return self.__reduce__()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        import hmac

        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("secret", self._value))
