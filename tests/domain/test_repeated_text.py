"""The text of repeated attempts."""

from __future__ import annotations

from tui.domain.assemble import RepeatedText


def test_repeated_text_is_compared_across_deltas() -> None:
    text = RepeatedText()
    assert [text.take("ab"), text.take("cd")] == [("ab", False), ("cd", False)]
    text.begin_again()
    assert [text.take("abc"), text.is_repeating, text.take("de")] == [("", False), True, ("e", False)]
    text.begin_again()
    assert [text.take("ab"), text.take("x")] == [("", False), ("abx", True)]
