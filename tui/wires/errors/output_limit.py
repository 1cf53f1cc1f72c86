"""Reads the accepted output limit from a server's error about a larger one."""

from __future__ import annotations

import re

from tui.domain.lazy_regex import lazy_regex

_WORDS = 4_000
"""Characters of a message that are examined."""
_N = r"`?(\d{1,9})`?"
_TOO_MUCH_TOGETHER = tuple(
    lazy_regex(pattern, re.I)
    for pattern in (
        # Each contains the window and the input, in either order.
        r"context length is (?P<window>\d{1,9}) tokens and your request has (?P<input>\d{1,9}) input",
        r"passed (?P<input>\d{1,9}) input tokens[^.]{0,80}\.[^.]{0,80}context length is (?:only )?(?P<window>\d{1,9})",
        r"exceed context limit: (?P<input>\d{1,9}) \+ \d{1,9} > (?P<window>\d{1,9})",
        r"max_new_tokens`? must be <= (?P<window>\d{1,9})[^0-9]{1,20}(?P<input>\d{1,9}) `?inputs",
        r"context length of (?P<window>\d{1,9}) tokens[^0-9]{1,60}\d{1,9} tokens: (?P<input>\d{1,9}) tokens from the",
    )
)
_REQUESTED = lazy_regex(
    r"context length is (?P<window>\d{1,9}) tokens[^0-9]{1,60}(?P<total>\d{1,9}) tokens \((?P<parts>[^)]{1,200})\)",
    re.I,
)
_OUTPUT_PART = lazy_regex(r"(\d{1,9}) (?:tokens )?(?:in|for) the (?:completion|output)", re.I)
_LIMIT = r"max(?:_completion|_output|_new)?_?(?:tokens|OutputTokens)"
_MODELS_MOST = tuple(
    lazy_regex(pattern, re.I)
    for pattern in (
        rf"{_LIMIT}`?: \d{{1,9}} > {_N}",
        rf"{_LIMIT}[^.]{{0,60}}\.[^.]{{0,40}}supports at most {_N}",
        rf"range of `?{_LIMIT}`? (?:is|should be) \[\d{{1,9}}, ?{_N}\]",
        rf"{_LIMIT}`? must be (?:less than or equal to|at most|<=) {_N}",
        rf"{_LIMIT}`?[^.]{{0,40}} exceeds (?:the |its )?(?:maximum|limit)(?: of)? {_N}",
    )
)
_EXCLUSIVE = lazy_regex(rf"{_LIMIT}[^.]{{0,120}}\(inclusive\) to (\d{{1,9}}) \(exclusive\)", re.I)


def output_room(message: str) -> int | None:
    """Return the largest output limit the server would accept; None if the message is about something else.

    The result is 0 or less if the prompt alone fills the window.
    """
    searched = message[:_WORDS]
    for pattern in _TOO_MUCH_TOGETHER:
        if found := pattern.search(searched):
            return int(found["window"]) - int(found["input"])
    if found := _REQUESTED.search(searched):
        output = _OUTPUT_PART.findall(found["parts"])
        return int(found["window"]) - int(found["total"]) + int(output[-1]) if output else None
    for pattern in _MODELS_MOST:
        if found := pattern.search(searched):
            return int(found[1])
    found = _EXCLUSIVE.search(searched)
    return int(found[1]) - 1 if found else None
