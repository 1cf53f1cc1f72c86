"""Reads a shell command the way a permission rule may: as plain words, or not at all."""

from __future__ import annotations

import re
import shlex

_SPECIAL = re.compile(r"[;|&$()<>`\x00-\x08\x0a-\x1f\x7f\\]")
"""With any of these a command can do more than its first words say, so no prefix speaks for it."""
_BREAKS = re.compile(r"[\s;|&$()<>`{}]+")

_RUNS_ANYTHING = re.compile(
    r"(?:awk|bash|bun|busybox|chroot|command|dash|deno|doas|docker|env|eval|exec|find|fish|gdb|ksh|lua|make"
    r"|nc|node|nohup|npx|osascript|parallel|perl|php|pipx|podman|python|ruby|screen|script|sed|sh|ssh"
    r"|strace|su|sudo|tclsh|time|timeout|tmux|uv|uvx|watch|xargs|zsh)[0-9.]*"
)
"""Programs whose arguments are programs: nothing shorter than the whole command is offered."""
_HAS_SUBCOMMANDS = re.compile(
    r"git|hg|jj|npm|pnpm|yarn|cargo|go|pip[0-9.]*|poetry|gh|kubectl|helm|terraform|aws|gcloud|brew|apt"
)
"""Programs that are many programs: their name alone is not offered."""


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that is one program with its arguments; None for anything more."""
    if _SPECIAL.search(command):
        return None
    try:
        words = shlex.split(command, comments=False, posix=True)
    except ValueError:
        return None
    return tuple(words) or None


def begins_with(command: str, prefix: str) -> bool:
    """Whether a plain command begins with exactly the words of ``prefix``; for rules that allow."""
    words, start = plain_words(command), plain_words(prefix)
    return words is not None and start is not None and words[: len(start)] == start


def mentions(command: str, prefix: str) -> bool:
    """Whether the words of ``prefix`` stand anywhere in a command, however wrapped; for rules that deny or ask."""
    wanted = [_bare(word) for word in _loose_words(prefix)]
    words = [_bare(word) for word in _loose_words(command)]
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def offered_prefixes(command: str) -> tuple[str, ...]:
    """Patterns to offer for a command, narrowest first; none for a command that is more than plain words."""
    words = plain_words(command)
    if words is None:
        return ()
    whole = shlex.join(words)
    offers = [whole]
    program = words[0].rpartition("/")[2]
    if _RUNS_ANYTHING.fullmatch(program):
        return tuple(offers)
    if len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9_:-]*", words[1]):
        offers.append(shlex.join(words[:2]))
    elif not _HAS_SUBCOMMANDS.fullmatch(program):
        offers.append(shlex.join(words[:1]))
    return tuple(dict.fromkeys(offers))


def _loose_words(command: str) -> list[str]:
    unquoted = re.sub(r"\\(.)", r"\1", command.replace("\\\n", ""), flags=re.DOTALL)
    return [word for word in _BREAKS.split(unquoted.replace('"', "").replace("'", "")) if word]


def _bare(word: str) -> str:
    return word.rpartition("/")[2] or word
