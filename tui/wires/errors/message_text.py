"""Provider text made fit to be shown in an error: no controls, nothing that looks like a key, not too long."""

from __future__ import annotations

import re

from tui.domain.lazy_regex import lazy_regex

CAP = 500
"""Longest error text shown, in characters."""
READ_AT_MOST = 8000
"""Only the head of a text is looked at, so that a huge one costs nothing."""

_ESCAPES = lazy_regex(r"\x1b\[[0-?]{0,32}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|\x1b.")
_CONTROLS = lazy_regex(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]+"
)
_SPACES = lazy_regex(r"\s{2,}")
_SECRETS = lazy_regex(
    r"""
      \b(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}            # OpenAI, Anthropic, OpenRouter …
    | \b(?:gsk|csk|hf|xai|nvapi|pplx|r8|fw|tgp_v1)[_-][A-Za-z0-9_*-]{8,}
    | \bAIza[0-9A-Za-z_*-]{20,}
    | \bAKIA[0-9A-Z]{16}
    | \bgh[pousr]_[A-Za-z0-9]{8,}
    | \bgithub_pat_[A-Za-z0-9_]{8,}
    | \bxox[abprs]-[A-Za-z0-9-]{8,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,}
    | -----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY-----[^-]{0,6000}(?:-----END[A-Z -]{0,48})?
    """,
    re.X,
)
_AFTER_A_WORD = lazy_regex(
    r"((?:bearer|authorization:?|x-api-key:?|api[_ -]?key(?: provided)?[=:]|[?&](?:api[_-]?)?key=|token=)\s{0,3}[\"']?)"
    r"(?!bearer\b|is\b|not\b|was\b|http)([^\s\"'&,;]{6,})",
    re.I,
)
_IN_A_URL = lazy_regex(r"(://[^\s:/@]{1,256}):[^\s:/@]{1,256}@")


def printable_error(text: str) -> str:
    """One line, at most ``CAP`` characters."""
    text = _ESCAPES.sub("", text[:READ_AT_MOST])
    text = without_secrets(_SPACES.sub(" ", _CONTROLS.sub(" ", text)).strip())
    return text if len(text) <= CAP else text[: CAP - 1] + "…"


def without_secrets(text: str) -> str:
    """``text`` with everything that looks like a key replaced by stars."""
    text = _SECRETS.sub(_starred, text)
    text = _IN_A_URL.sub(r"\1:***@", text)
    return _AFTER_A_WORD.sub(lambda found: found[1] + _masked(found[2]), text)


def _starred(found: re.Match[str]) -> str:
    return _masked(found[0])


def _masked(word: str) -> str:
    """A word the provider has masked itself says nothing more than it means to."""
    return word if "**" in word else "***"
