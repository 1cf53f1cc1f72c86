"""A key that cannot be printed: every way of turning it into text gives ``***abcd``."""

from __future__ import annotations

from typing import Self

SHOWN = 4
"""Characters of the end that stay visible, so that two keys can be told apart."""
SHORTEST_SHOWN = 12
"""A key shorter than this shows nothing: four characters would be too much of it."""


def masked(value: str) -> str:
    """The only form of a key that may be seen."""
    return "***" + (value[-SHOWN:] if len(value) >= SHORTEST_SHOWN else "")


class Secret(str):
    """A string that *is* its mask, for repr, format, json and pickle alike; ``reveal`` gives the key."""

    __slots__ = ("_value",)
    _value: str

    def __new__(cls, value: str) -> Self:
        self = super().__new__(cls, masked(value))
        object.__setattr__(self, "_value", value)
        return self

    def reveal(self) -> str:
        """The key itself. Only the request's header may hold it."""
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
