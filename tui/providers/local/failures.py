"""Says in a sentence why the server of a local model ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from tui.domain.printable import one_line

_SMALLER = "Choose a smaller model, or a smaller window: `/set local.context 8k`."
_NEWER = "A newer version of llama.cpp may know it: `pip install --upgrade xllamacpp`."
_AGAIN = "Download it again."
_AGAIN_OR_NEWER = "The file may be damaged, or need a newer llama.cpp: `pip install --upgrade xllamacpp`."
_RULES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"unknown model architecture: '([^']{1,60})'"),
        "This version of llama.cpp does not know the architecture `{}`.",
        _NEWER,
    ),
    (
        re.compile(r"unknown (?:pre-tokenizer type|projector type)[^']*'([^']{1,60})'"),
        "This version of llama.cpp does not know the part `{}` of the model.",
        _NEWER,
    ),
    (
        re.compile(r"corrupted or incomplete|failed to read magic|unexpectedly reached end of file|read error"),
        "The model's file is damaged or incomplete.",
        _AGAIN,
    ),
    (re.compile(r"invalid magic characters"), "The file is not a GGUF file.", ""),
    (
        re.compile(r"(?i)gguf version \d+ .*(?:support|newer)|bad GGUF version"),
        "The file has another version of GGUF than this llama.cpp reads.",
        _NEWER,
    ),
    (
        re.compile(
            r"Cannot allocate memory|failed to allocate|unable to allocate|bad_alloc|out of memory|not enough memory"
            r"|MemoryError"
        ),
        "There is not enough memory for this model.",
        _SMALLER,
    ),
    (re.compile(r"GGML_ASSERT\((.{1,200})\) failed"), "llama.cpp gave up: it expected `{}`.", _AGAIN_OR_NEWER),
    (re.compile(r"No module named '?xllamacpp"), "The package xllamacpp is not installed.", ""),
    (re.compile(r"failed to open|No such file or directory"), "The model's file cannot be opened.", ""),
)
_STAMP = re.compile(r"^[\d.]+ [EWID] +")
"""The time and level at the beginning of a line."""


def why_it_ended(status: int, lines: Sequence[str], *, loaded: bool) -> tuple[str, str]:
    """Return a sentence and advice. ``status`` is that of ``subprocess``: negative for a signal."""
    if status < 0:
        return _signalled(-status, lines, loaded=loaded)
    return _said(lines) or _unexplained(status, lines)


def _signalled(number: int, lines: Sequence[str], *, loaded: bool) -> tuple[str, str]:
    name = signal.Signals(number).name if number in {one.value for one in signal.Signals} else f"signal {number}"
    if name == "SIGILL":
        return (
            "The processor of this machine lacks instructions (such as AVX2) that this llama.cpp was built for.",
            "Build it here with `pip install --no-binary xllamacpp xllamacpp`, or `/set local.server llama-server`.",
        )
    if name == "SIGKILL":
        return "The system ended the model's server, as it does when memory runs out.", _SMALLER
    if not loaded and (said := _said(lines)) is not None:
        return said
    return f"The model's server crashed ({name}).", "`/status` shows the last lines of its log."


def _said(lines: Sequence[str]) -> tuple[str, str] | None:
    text = "\n".join(lines)
    for pattern, sentence, advice in _RULES:
        if found := pattern.search(text):
            return sentence.format(*(one_line(part, 100) for part in found.groups())), advice
    return None


def _unexplained(status: int, lines: Sequence[str]) -> tuple[str, str]:
    last = next((_STAMP.sub("", line) for line in reversed(lines) if line.strip()), "")
    said = f": {one_line(last, 120)}" if last else ""
    return f"The model's server ended with code {status}{said}", "`/status` shows the last lines of its log."
