"""The text of a repeated attempt, without what was printed before."""

from __future__ import annotations


class RepeatedText:
    """Compares the text of an attempt with that of the one before it."""

    def __init__(self) -> None:
        self._given = ""
        self._expected = ""
        """The part of it that the new attempt has not sent again yet."""

    @property
    def is_repeating(self) -> bool:
        """Whether the attempt still repeats a part of the one before it."""
        return bool(self._expected)

    def begin_again(self) -> None:
        """A new attempt begins."""
        self._expected = self._given

    def take(self, text: str) -> tuple[str, bool]:
        """The new text, and whether the attempt differs from the one before: then all of its text is new."""
        if not self._expected:
            self._given += text
            return text, False
        common = min(len(text), len(self._expected))
        if text[:common] == self._expected[:common]:
            self._expected = self._expected[common:]
            self._given += text[common:]
            return text[common:], False
        again = self._given[: len(self._given) - len(self._expected)] + text
        self._given, self._expected = again, ""
        return again, True
