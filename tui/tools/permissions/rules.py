"""The rules engine: decides what the rules say about a requested access. Pure: no files, no questions.

A rule is ``SUBJECT`` or ``SUBJECT(PATTERN)`` with an effect; a rule that allows commands may end in a strength. The
subject is a tool's name (with ``*`` as a wildcard) or a kind of access. Among the user's rules that match, the most
specific wins; at equal specificity deny beats ask beats allow. The defaults apply only if no rule matches. Guarded
paths and untrusted content lead to a question even if a rule allows the call.
"""

from __future__ import annotations

import fnmatch
import glob as glob_patterns
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path, PurePosixPath

from tui.domain.errors import ConfigError
from tui.tools.permissions.path_patterns import (
    alternatives,
    example_of,
    has_wildcard,
    literal_length,
    path_matches,
    split_pattern,
)
from tui.tools.permissions.shell_words import begins_with, can_match, is_readable, may_mention, mentions, plain_words


class Strength(StrEnum):
    """The word at the end of a rule about commands."""

    READ_ONLY = "ro"
    """Reads; writes only to its own temporary folder; no network, no signals to other processes."""
    WRITES_FOLDER = "rw"
    """Also writes to the working folder, except files that other programs run or read automatically."""
    FULL = "full"
    """No sandbox."""

    @property
    def rank(self) -> int:
        """Higher ranks allow more."""
        return list(Strength).index(self)

    @property
    def description(self) -> str:
        """A description for the user and the model."""
        match self:
            case Strength.READ_ONLY:
                return "it may read, but not write or use the network"
            case Strength.WRITES_FOLDER:
                return "it may write the working folder, except files that other programs run, without network"
            case Strength.FULL:
                return "without a sandbox"


class Access(StrEnum):
    """What a call does; usable as the subject of a rule."""

    READ = "read"
    WRITE = "write"
    SHELL = "shell"
    NETWORK = "network"
    MCP = "mcp"


class RuleEffect(StrEnum):
    """Verdicts; the order decides at equal specificity."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        """0 for allow … 2 for deny."""
        return list(RuleEffect).index(self)


class GuardedKind(StrEnum):
    """Kinds of paths that ordinary rules do not open."""

    NONE = "none"
    SECRET = "secret"
    """Opened only by a rule that names exactly this path."""
    ALWAYS_ASKS = "always asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedAccess:
    """What one call requests."""

    tool: str
    access: Access
    target: str = ""
    """A real absolute path, a complete command, a host, or the fingerprint of an MCP tool."""
    inside: bool = False
    """Whether the path lies in the working folder."""
    guard: GuardedKind = GuardedKind.NONE
    stopped: bool = False
    """Whether the sandbox stopped the same command before."""


_EXACT = 10_000
"""Larger than any number of segments or words."""


@dataclass(frozen=True)
class Rule:
    """One rule of the user. A path pattern is absolute, or relative to the working folder."""

    effect: RuleEffect
    subject: str
    pattern: str | None = None
    strength: Strength | None = None
    """For commands; None if the rule does not say."""

    def __str__(self) -> str:
        text = self.subject if self.pattern is None else f"{self.subject}({self.pattern})"
        return text if self.strength is None else f"{text} {self.strength}"

    @property
    def is_exact_command(self) -> bool:
        """Whether it names one complete command."""
        return self.pattern is not None and self.pattern.startswith("=")

    @property
    def is_about_paths(self) -> bool:
        """Whether its pattern is compared with paths."""
        return _is_about_paths(self.subject)

    @property
    def runs_with(self) -> Strength:
        """The strength of the commands it allows."""
        return self.strength or Strength.WRITES_FOLDER

    @cached_property
    def _subject_rank(self) -> int:
        if self.subject == "*":
            return 0
        return 1 if has_wildcard(self.subject) or self.subject in list(Access) else 2

    def covers(self, requested: RequestedAccess) -> bool:
        """Whether the rule's subject matches the tool or the access."""
        if self.subject == requested.access.value or self.subject == requested.tool:
            return True
        return has_wildcard(self.subject) and fnmatch.fnmatchcase(requested.tool, self.subject)

    def names_exactly(self, requested: RequestedAccess) -> bool:
        """Whether the pattern is exactly the target."""
        return self.pattern is not None and self.weight(requested)[0] >= _EXACT

    def weight(self, requested: RequestedAccess) -> tuple[int, int]:
        """How specific the rule is, to compare rules that match."""
        return (0 if self.pattern is None else self._pattern_weight(requested), self._subject_rank)

    def _pattern_weight(self, requested: RequestedAccess) -> int:
        pattern = self.pattern or ""
        match requested.access:
            case Access.SHELL:
                return _EXACT if pattern.startswith("=") else len(plain_words(pattern) or (pattern,))
            case Access.READ | Access.WRITE:
                allows = self.effect is RuleEffect.ALLOW
                names_it = not has_wildcard(pattern) and (allows or _ends_with(requested.target, pattern))
                return _EXACT if names_it else 1 + literal_length(pattern)
            case _:
                return 1 if has_wildcard(pattern) else _EXACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The decision, and the rule it is based on (None if no rule applied)."""

    effect: RuleEffect
    rule: Rule | None = None
    why: str = ""
    """Shown on the approval sheet if a guard overrode a rule."""
    exact_opens: bool = False
    """Whether a rule for exactly this command would allow it despite ``why``."""
    strength: Strength = Strength.FULL
    """How an allowed command runs."""


def _nothing_enforceable() -> frozenset[Strength]:
    return frozenset()


DEFAULTS = (Rule(RuleEffect.ALLOW, "read"),)
"""Reading in the working folder is allowed; everything else asks, because no rule matches."""


@dataclass(frozen=True, slots=True)
class RuleBook:
    """Rules of the user, the command line and this session, for one working folder."""

    folder: str
    rules: tuple[Rule, ...] = ()
    session: tuple[Rule, ...] = ()
    """Rules from the user's answers in this run."""
    cautious: bool = False
    """Rules that deny may be missing (invalid file): only the user's answers in this run allow anything."""
    enforceable: Callable[[], frozenset[Strength]] = _nothing_enforceable
    """The strengths that the sandbox of this machine can enforce."""

    def with_session_rules(self, rules: Iterable[Rule]) -> RuleBook:
        """A copy with more rules for this session."""
        return replace(self, session=(*self.session, *rules))

    def rules_about_unknown_tools(self, tools: Iterable[str]) -> list[Rule]:
        """Rules about unknown tools. Those that may name MCP tools are left out, because MCP tools are listed later."""
        known = [*tools, *Access, "*"]
        return [
            rule
            for rule in (*self.rules, *self.session)
            if not rule.subject.startswith("mcp_")
            and not any(fnmatch.fnmatchcase(name, rule.subject) for name in known)
        ]

    def decide(self, requested: RequestedAccess, *, tainted: bool = False) -> Ruling:
        """The effect for a requested access."""
        rule = self._strongest((*self.rules, *self.session), requested) or self._strongest(DEFAULTS, requested)
        if rule is None:
            return Ruling(effect=RuleEffect.ASK)
        if rule.effect is not RuleEffect.ALLOW:
            return Ruling(effect=rule.effect, rule=rule)
        why = self._why_ask_anyway(rule, requested, tainted=tainted)
        if why or requested.access is not Access.SHELL:
            return Ruling(effect=RuleEffect.ASK if why else RuleEffect.ALLOW, rule=rule, why=why)
        return self._decide_command(rule, requested)

    def _decide_command(self, rule: Rule, requested: RequestedAccess) -> Ruling:
        strength = rule.runs_with
        if strength is not Strength.FULL and (requested.stopped or strength not in self.enforceable()):
            return Ruling(effect=RuleEffect.ASK, rule=rule)
        if not rule.is_exact_command and self._may_be_denied(requested):
            why = "Rules deny or ask for commands, and what this one runs cannot be read plainly."
            return Ruling(effect=RuleEffect.ASK, rule=rule, why=why, exact_opens=True)
        return Ruling(effect=RuleEffect.ALLOW, rule=rule, strength=strength)

    def _may_be_denied(self, requested: RequestedAccess) -> bool:
        """Whether a rule that denies or asks may match, because the command cannot be parsed."""
        if not requested.target:
            return False
        strict = [
            rule.pattern
            for rule in (*self.rules, *self.session)
            if rule.effect is not RuleEffect.ALLOW and rule.pattern is not None and rule.covers(requested)
        ]
        if not strict:
            return False
        return not is_readable(requested.target) or any(may_mention(requested.target, pattern) for pattern in strict)

    def never_matching(self) -> list[tuple[Rule, str]]:
        """Rules that can never match, with the reason."""
        return [(rule, why) for rule in (*self.rules, *self.session) if (why := _why_never(rule))]

    def default_verdict(self, tool: str, access: Access) -> RuleEffect:
        """The effect for a tool before its target is known, for lists."""
        if access is Access.READ:
            return self.decide(
                RequestedAccess(tool=tool, access=access, target=f"{self.folder}/file", inside=True)
            ).effect
        return self.decide(RequestedAccess(tool=tool, access=access)).effect

    def _strongest(self, rules: Iterable[Rule], requested: RequestedAccess) -> Rule | None:
        fitting = [rule for rule in rules if rule.covers(requested) and self._fits(rule, requested)]
        enforceable = self.enforceable() | {Strength.FULL} if requested.access is Access.SHELL else frozenset()

        def rank(rule: Rule) -> tuple[int, int, int, int]:
            strength = rule.runs_with.rank if rule.runs_with in enforceable else -1
            return (*rule.weight(requested), rule.effect.strictness, strength)

        found = max(fitting, key=rank, default=None)
        if found is None or found.effect is not RuleEffect.ALLOW:
            return found
        strict = (rule for rule in fitting if rule.effect is not RuleEffect.ALLOW)
        return max((rule for rule in strict if not self._contains(rule, found, requested)), key=rank, default=found)

    def _contains(self, strict: Rule, exception: Rule, requested: RequestedAccess) -> bool:
        """Whether a rule that denies or asks covers all that ``exception`` allows.

        Otherwise the two overlap, and the longer pattern is not the narrower one: `timeout 60` against `rm`, `src/**`
        against `**/*.lock`.
        """
        if strict.pattern is None or exception.pattern is None or exception.is_exact_command:
            return True
        match requested.access:
            case Access.SHELL:
                return mentions(exception.pattern, strict.pattern)
            case Access.READ | Access.WRITE:
                return self._path_fits(strict.pattern, example_of(self._whole(exception.pattern)), denies=True)
            case _:
                return fnmatch.fnmatchcase(example_of(exception.pattern), strict.pattern)

    def _fits(self, rule: Rule, requested: RequestedAccess) -> bool:
        allows = rule.effect is RuleEffect.ALLOW
        if rule.pattern is None:
            # A bare `read` or `write` that allows covers the working folder; one that denies covers everything.
            return not allows or requested.inside or requested.access not in (Access.READ, Access.WRITE)
        match requested.access:
            case Access.SHELL if rule.pattern.startswith("="):
                return requested.target == rule.pattern[1:]
            case Access.SHELL:
                return (
                    begins_with(requested.target, rule.pattern) if allows else mentions(requested.target, rule.pattern)
                )
            case Access.READ | Access.WRITE:
                return self._path_fits(rule.pattern, requested.target, denies=not allows)
            case _:
                return fnmatch.fnmatchcase(requested.target, rule.pattern)

    def _path_fits(self, pattern: str, target: str, *, denies: bool) -> bool:
        """Whether a path matches. A rule that denies or asks ignores letter case, as some file systems do.

        Without wildcards, it also covers what is in that folder.
        """
        whole = self._whole(pattern)
        if not denies:
            return path_matches(target, whole)
        target, whole = folded(target), folded(whole)
        return path_matches(target, whole) or (not has_wildcard(pattern) and path_matches(target, f"{whole}/**"))

    def fits_path(self, rule: Rule, path: str) -> bool:
        """Whether a path matches the pattern of a rule about paths."""
        return rule.pattern is not None and self._path_fits(
            rule.pattern, path, denies=rule.effect is not RuleEffect.ALLOW
        )

    def split(self, rule: Rule) -> tuple[Path, list[str]]:
        """The pattern of a rule about paths: the folder before the first wildcard, and the rest."""
        return split_pattern(self._whole(rule.pattern or ""))

    def _whole(self, pattern: str) -> str:
        return pattern if pattern.startswith("/") else f"{glob_patterns.escape(self.folder)}/{pattern}"

    def withholds(self, requested: RequestedAccess, agreed: RequestedAccess) -> bool:
        """Whether a rule denies or asks for a file below a folder that may be read.

        A rule that asks and also fits the folder ``agreed`` was answered with it.
        """
        rule = self._strongest((*self.rules, *self.session), requested)
        if rule is None or rule.effect is RuleEffect.ALLOW:
            return False
        return rule.effect is RuleEffect.DENY or not (rule.covers(agreed) and self._fits(rule, agreed))

    @property
    def restricts_reading(self) -> bool:
        """Whether any rule denies or asks for paths to read."""
        strict = (rule for rule in (*self.rules, *self.session) if rule.effect is not RuleEffect.ALLOW)
        return any(rule.subject not in _NEVER_READ for rule in strict)

    def _why_ask_anyway(self, rule: Rule, requested: RequestedAccess, *, tainted: bool) -> str:
        if self.cautious and rule not in self.session:
            return "Your permission rules could not be read, so every call needs approval."
        if requested.guard is GuardedKind.ALWAYS_ASKS:
            return "This folder always needs approval."
        if requested.guard is GuardedKind.SECRET and not rule.names_exactly(requested):
            return "This file may contain secrets."
        if tainted and requested.access is not Access.READ:
            return "This conversation contains untrusted content, so rules are not enough."
        return ""


_RULE = re.compile(r"([A-Za-z0-9_*?\[\]-]{1,80})(?:\((.+)\))?(?:[ \t]+(ro|rw|full))?", re.DOTALL)
_MCP_TOOL = re.compile(r"mcp_.+__.+")
_NEVER_READ = ("write", "write_file", "edit_file", "shell", "network", "fetch_url", "mcp")
_PATH_SUBJECTS = ("read", "write", "read_file", "list_dir", "glob", "grep", "write_file", "edit_file")


def read_rule(effect: RuleEffect, text: str, *, home: str) -> Rule:
    """Parse a rule. Raises ConfigError if it is invalid or allows too much."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"`{text[:200]}` is not a rule: write `TOOL` or `TOOL(PATTERN)`.")
    subject, pattern, strength = found[1], found[2], found[3]
    if pattern is not None and _is_about_paths(subject):
        if len(alternatives(pattern)) > 1:
            raise ConfigError(f"`{text}`: `{{a,b}}` is not supported in rules; write one rule for each.")
        pattern = _whole_path(pattern, home)
    elif pattern is not None and subject == Access.SHELL and not pattern.startswith("="):
        pattern = _first_words(pattern, effect)
    rule = Rule(effect, subject, pattern, Strength(strength) if strength else None)
    if strength:
        _check_strength(rule)
    if effect is RuleEffect.ALLOW:
        _refuse_too_wide(rule, text, home)
    return rule


def _is_about_paths(subject: str) -> bool:
    return any(fnmatch.fnmatchcase(name, subject) for name in _PATH_SUBJECTS)


def _ends_with(target: str, pattern: str) -> bool:
    literal = re.sub(r"\[([*?[])\]", r"\1", pattern).strip("/")
    return folded(target).endswith(folded(f"/{literal}"))


def folded(path: str) -> str:
    """A path or name as rules compare it: letter case and the spelling of accents do not matter."""
    return path if path.islower() and path.isascii() else unicodedata.normalize("NFC", path).casefold()


def _first_words(pattern: str, effect: RuleEffect) -> str | None:
    """The words of a pattern; None if it covers all commands."""
    if effect is RuleEffect.ALLOW or re.search(r"(?:^|[\s:])\*\Z", pattern):
        # A rule that denies keeps its other wildcards: `rm*` also covers `rmdir`.
        pattern = pattern.removesuffix("*")
    return pattern.rstrip(": ") or None


def _check_strength(rule: Rule) -> None:
    if rule.effect is not RuleEffect.ALLOW or rule.subject != Access.SHELL:
        raise ConfigError(f"`{rule}`: only rules that allow `shell` have a strength.")
    if rule.strength is Strength.FULL and not rule.is_exact_command:
        raise ConfigError(f"`{rule}`: `full` needs the whole command: write `shell(=COMMAND) full`, or use `rw`.")


def _why_never(rule: Rule) -> str:
    """Why no call can match the rule; empty if one can."""
    pattern, subject = rule.pattern or "", rule.subject
    if subject == Access.SHELL and rule.pattern is not None:
        return _why_no_command(rule, pattern)
    if _is_about_paths(subject) and ".." in PurePosixPath(pattern).parts:
        return "paths are compared without `..`"
    if subject in (Access.NETWORK, "fetch_url"):
        return _why_no_host(pattern)
    if subject.startswith("mcp_") and not has_wildcard(subject) and not _MCP_TOOL.fullmatch(subject):
        return "tools of MCP servers are called `mcp_SERVER__TOOL`, with two underscores between the names"
    return ""


def _why_no_host(pattern: str) -> str:
    if "/" in pattern:
        return "the pattern is a host, such as `docs.python.org`, without scheme and path"
    if not pattern.isascii():
        return "hosts are compared in their ASCII form, such as `xn--bcher-kva.example`"
    if pattern.endswith(".") or (":" in pattern and not _is_address(pattern)):
        return "the pattern is a host without port, brackets and final dot"
    return "hosts are compared in lower case" if pattern != pattern.lower() else ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _why_no_command(rule: Rule, pattern: str) -> str:
    if rule.is_exact_command:
        return "" if pattern[1:] else "it names no command"
    if can_match(pattern, allows=rule.effect is RuleEffect.ALLOW):
        return ""
    if rule.effect is RuleEffect.ALLOW:
        return "first words cannot contain `;|&$()<>`, backslashes or open quotes; write `shell(=COMMAND)`"
    return "it contains no word"


def _whole_path(pattern: str, home: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        pattern = glob_patterns.escape(home) + pattern[1:]
    return pattern.removesuffix("/") + "/**" if pattern.endswith("/") else pattern


def _refuse_too_wide(rule: Rule, text: str, home: str) -> None:
    if rule.subject == "*":
        raise ConfigError("`*` cannot be allowed: name the tools.")
    if rule.pattern is None:
        return
    if _is_about_paths(rule.subject) and ".." in PurePosixPath(rule.pattern).parts:
        raise ConfigError(f"`{text}`: a pattern that allows must not contain `..`.")
    if rule.pattern.startswith("/") and literal_length(rule.pattern) <= literal_length(home):
        parts = [part for part in rule.pattern.split("/") if part not in ("", ".")]
        above = [part for part in home.split("/") if part]
        fixed = parts[: literal_length(rule.pattern)]
        if has_wildcard(rule.pattern) and fixed == above[: len(fixed)]:
            raise ConfigError(f"`{text}` would open the whole disk or home folder: that is never allowed permanently.")
