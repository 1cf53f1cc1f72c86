"""What a permission rule allows, in words: for the answers to a question about a tool call."""

from __future__ import annotations

import glob
import re

from tui.domain.blank_marks import marked
from tui.domain.events import ApprovalAsked

_RULE = re.compile(r"([^(]+)\((.*)\)(?: (ro|rw|full))?", re.DOTALL)
_ESCAPED = re.compile(r"\[([*?[])\]")
_WHOLE_FOLDER = "**"
_ONE_FILE = {"read": "reading", "write": "writing"}
_SANDBOXED = {"ro": "sandboxed, read-only", "rw": "sandboxed, writing only in this folder"}


def session_words(asked: ApprovalAsked, folder: str = "", waiting: int = 1) -> str:
    """The answer that holds for this session: what it covers is said, because it is more than this call.

    ``waiting`` is how many of the calls that are waiting it answers, with this one.
    """
    whole = asked.session == "write(**)"
    words = "all file changes in this folder" if whole else rule_words(asked.session, asked, folder)
    if waiting > 1 and words.startswith("all "):
        words = f"these {waiting} and all other {words.removeprefix('all ')}"
    return f"Yes, {words} for this session"


def rule_words(rule: str, asked: ApprovalAsked, folder: str = "") -> str:
    """What the rule allows; paths in ``folder`` are shown from there. Hidden characters are made visible.

    A rule that the words would not describe exactly is shown itself.
    """
    if rule.startswith(f"{asked.tool}(={asked.detail})"):
        return "exactly this command"
    found = _RULE.fullmatch(rule)
    words = _words(found[1], found[2], found[3] or "", asked, folder) if found is not None else ""
    return marked((words or f"what {rule} covers").replace("\n", "␊"))


def _words(subject: str, pattern: str, strength: str, asked: ApprovalAsked, folder: str) -> str:
    if subject in _ONE_FILE:
        return _words_on_files(subject, pattern, folder)
    if subject == "shell":
        return f"“{pattern} …” commands, {_SANDBOXED[strength]}" if strength in _SANDBOXED else ""
    if subject != asked.tool:
        return ""
    return "all calls of this tool" if subject.startswith("mcp_") else f"fetching from {pattern}"


def _words_on_files(subject: str, pattern: str, folder: str) -> str:
    inside = f"{glob.escape(folder)}/"
    path = pattern.removeprefix(inside) if folder else pattern
    if path == _WHOLE_FOLDER:
        return f"{_ONE_FILE[subject]} files here"
    where, is_tree = path.removesuffix("/**"), path.endswith("/**")
    if set("*?[") & set(_ESCAPED.sub("", where)):
        return ""
    named = _ESCAPED.sub(r"\1", where)
    return f"{_ONE_FILE[subject]} {'files in ' if is_tree else ''}{named}"
