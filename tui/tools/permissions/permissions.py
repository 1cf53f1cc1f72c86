"""Decides about calls: the rules first, then the user, whose answers become new rules.

Rules are read from ``permissions.toml`` (written by ponder), ``[permissions]`` of config.toml, and ``--allow``. Invalid
input never allows anything: an invalid rule that allows is ignored; an invalid rule that denies makes every call ask.
"""

from __future__ import annotations

import asyncio
import difflib
import glob as glob_patterns
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import tomli_w

from tui.domain.blocks import DENIED, ToolCallBlock
from tui.domain.errors import ConfigError, ToolError
from tui.domain.tool_run import NO_USER, ToolRun
from tui.settings.merged_file import locked
from tui.settings.user_files import parse_user_toml, read_user_text, write_atomically
from tui.tools.permissions.path_patterns import literal_length
from tui.tools.permissions.rules import Access, RequestedAccess, Rule, RuleBook, RuleEffect, Ruling, Strength, read_rule

NO_APPROVAL = "Denied: this call needs approval, and this run has no user to ask. Not executed."
LONGEST_DETAIL = 2_000_000
MOST_DETAIL_LINES = 100_000
"""More would stop the screen for seconds, and nobody reads it."""
TOO_LONG = (
    f"Denied: this call needs approval, and is too long to be shown: at most {LONGEST_DETAIL:,} characters in"
    f" {MOST_DETAIL_LINES:,} lines can be. Not executed: make it in several smaller calls."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntendedAction:
    """What a call is about to do, for the rules and the user."""

    requested: RequestedAccess
    summary: str
    detail: str = ""
    """The full action, written by the model."""
    note: str = ""
    """Facts added by ponder, one per line."""
    patterns: tuple[str, ...] = ()
    """Rules to offer as permanent, narrowest first."""
    session: str = ""
    """The rule for the answer `session`; the narrowest pattern if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Whether a user can be asked, and the rules of the command line."""

    interactive: bool = True
    allow: tuple[str, ...] = ()
    """Rules from ``--allow``, for this run only."""
    rules_are_known: bool = True
    """False if rules may be in a part of config.toml that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A permission for a call."""

    strength: Strength = Strength.FULL
    rule: str = ""
    """The rule that allows it; empty if the user was asked."""


@dataclass(slots=True)
class Permissions:
    """The rules in force. ``problems`` are errors in the rule files; an invalid rule never allows anything."""

    book: RuleBook
    home: str
    file: Path
    policy: Policy
    problems: list[ConfigError] = field(default_factory=list)
    _asking: list[tuple[ToolCallBlock, IntendedAction, ToolRun]] = field(default_factory=list)
    """Open questions of calls that run concurrently."""
    _settled: set[tuple[str, str]] = field(default_factory=set)
    """Calls, each with its session, that were allowed by a rule from the answer to another question."""
    _of_sessions: dict[str, tuple[Rule, ...]] = field(default_factory=dict)
    """Rules that the user gave for one session."""

    async def permit(self, call: ToolCallBlock, action: IntendedAction, run: ToolRun) -> Grant:
        """Wait until the call is allowed. Raises ToolError with a message for the model if it is not."""
        ruling = await self._decide(action, run)
        if ruling.effect is RuleEffect.ALLOW:
            return Grant(strength=ruling.strength, rule=str(ruling.rule))
        if ruling.effect is RuleEffect.DENY:
            raise ToolError(f"Denied by the user's rule `{ruling.rule}`. Not executed.")
        if not self.policy.interactive:
            raise ToolError(NO_APPROVAL + self._how_to_allow(action, ruling))
        if _is_too_long(action.detail):
            raise ToolError(TOO_LONG)
        note = "\n".join(filter(None, (ruling.why, action.note)))
        patterns = self._offers(action, ruling)
        # Permanent rules are written to a file and repeat what the model wrote.
        offered_rules = () if run.private else patterns
        question = (call, action, run)
        self._asking.append(question)
        try:
            session_rule = self._session_rule(action, patterns, run)
            answer = await run.ask(call, action.summary, action.detail, offered_rules, note, session_rule)
        finally:
            self._asking.remove(question)
        if (run.session, call.call_id) in self._settled:
            self._settled.discard((run.session, call.call_id))
            ruling = await self._decide(action, run)
            if ruling.effect is not RuleEffect.ALLOW:
                raise ToolError(DENIED)
            return Grant(strength=ruling.strength, rule=str(ruling.rule))
        if answer in patterns and run.private:
            answer = "session"
        return await self._apply_answer(answer, action, patterns, run.session)

    async def _decide(self, action: IntendedAction, run: ToolRun) -> Ruling:
        if action.requested.access is Access.SHELL:
            # The first query of the kernel may start a process.
            await asyncio.to_thread(self.book.enforceable)
        return self._book(run.session).decide(action.requested, tainted=run.tainted)

    def _book(self, session: str) -> RuleBook:
        """The rules that hold in a session."""
        own = self._of_sessions.get(session)
        return self.book.with_session_rules(own) if own else self.book

    def withholds(self, requested: RequestedAccess, agreed: RequestedAccess, session: str = "") -> bool:
        """Whether a rule keeps a search in a folder that may be read, ``agreed``, from showing this file."""
        return self.book.restricts_reading and self._book(session).withholds(requested, agreed)

    def default_verdict(self, tool: str, access: Access) -> str:
        """The effect for a tool without a target, for lists."""
        return self.book.default_verdict(tool, access).value

    def _how_to_allow(self, action: IntendedAction, ruling: Ruling) -> str:
        """How the user could have allowed the call; empty if no rule can."""
        session = action.session if not ruling.why or ruling.exact_opens else ""
        rule = next(iter(self._offers(action, ruling)), session)
        return f" The user can allow it beforehand with `--allow {shlex.quote(rule)}`." if rule else ""

    def _offers(self, action: IntendedAction, ruling: Ruling) -> tuple[str, ...]:
        """The rules to offer: only valid ones that would allow this call."""
        if ruling.why and not ruling.exact_opens:
            return ()
        patterns = action.patterns[:1] if ruling.exact_opens else action.patterns
        return tuple(pattern for pattern in patterns if self._valid(pattern))

    def _session_rule(self, action: IntendedAction, patterns: tuple[str, ...], run: ToolRun) -> str:
        """The rule that the answer `session` gives; empty if even with it this call would ask again."""
        rule = action.session or next(iter(patterns), "")
        if not rule or not self._valid(rule):
            return ""
        book = self._book(run.session).with_session_rules((read_rule(RuleEffect.ALLOW, rule, home=self.home),))
        decided = book.decide(action.requested, tainted=run.tainted)
        return rule if decided.effect is RuleEffect.ALLOW else ""

    def _valid(self, pattern: str) -> bool:
        try:
            read_rule(RuleEffect.ALLOW, pattern, home=self.home)
        except ConfigError:
            return False
        return True

    async def _apply_answer(
        self, answer: str, action: IntendedAction, patterns: tuple[str, ...], session: str
    ) -> Grant:
        if answer == "once":
            return Grant()
        if answer == "session":
            rule = action.session or next(iter(patterns), "")
            if rule:
                self._add(rule, session)
            return Grant()
        if answer not in patterns:
            raise ToolError(_refusal(answer))
        self._add(answer)
        try:
            await asyncio.to_thread(add_allowed, self.file, answer)
        except ConfigError as problem:
            self.problems.append(problem)
        rule_given = read_rule(RuleEffect.ALLOW, answer, home=self.home)
        return Grant(strength=rule_given.strength or Strength.FULL, rule=answer)

    def _add(self, text: str, session: str | None = None) -> None:
        """Add a rule, for one session or for all, and settle the open questions that it answers."""
        rule = read_rule(RuleEffect.ALLOW, text, home=self.home)
        if session is None:
            self.book = self.book.with_session_rules((rule,))
        else:
            self._of_sessions[session] = (*self._of_sessions.get(session, ()), rule)
        for call, action, run in tuple(self._asking):
            book = self._book(run.session)
            if book.decide(action.requested, tainted=run.tainted).effect is RuleEffect.ALLOW:
                self._settled.add((run.session, call.call_id))
                run.settle(call)

    def report_unknown_tools(self, tools: Iterable[str]) -> None:
        """Report rules about unknown tools. If one of them denies, nothing is allowed without a question."""
        known = tuple(tools)
        for rule in self.book.rules_about_unknown_tools(known):
            near = tuple(difflib.get_close_matches(rule.subject, [*known, *Access], n=1))
            self.problems.append(ConfigError(f"The rule `{rule}` names an unknown tool.", nearest=near))
            if rule.effect is not RuleEffect.ALLOW:
                self.book = replace(self.book, cautious=True)
        for rule, why in self.book.never_matching():
            self.problems.append(ConfigError(f"The rule `{rule}` can never match: {why}."))
            if rule.effect is not RuleEffect.ALLOW:
                self.book = replace(self.book, cautious=True)


def open_permissions(
    folder: Path,
    file: Path,
    table: Mapping[str, object],
    *,
    home: Path,
    policy: Policy,
    enforceable: Callable[[], frozenset[Strength]],
) -> Permissions:
    """Load the rules. Only the user's own files and the command line count, never files in the working folder."""
    found = rules_of_file(file, home=str(home)).combined_with(
        rules_of_table(table, where="config.toml [permissions]", home=str(home))
    )
    allowed = rules_allowed(policy.allow, home=str(home))
    rules = (*found.rules, *_behind_links(found.rules, folder), *allowed)
    cautious = found.cautious or not policy.rules_are_known
    book = RuleBook(str(folder), rules, cautious=cautious, enforceable=enforceable)
    return Permissions(book=book, home=str(home), file=file, policy=policy, problems=list(found.problems))


def _behind_links(rules: Iterable[Rule], folder: Path) -> list[Rule]:
    """The rules that deny or ask about a path that leads through links, as rules about where it leads.

    Calls are compared by real paths. A rule that allows stays as it is, so that no link widens it.
    """
    found = []
    for rule in rules:
        if rule.effect is RuleEffect.ALLOW or not rule.is_about_paths or rule.pattern is None:
            continue
        parts = PurePosixPath(rule.pattern).parts
        fixed = literal_length(rule.pattern) + rule.pattern.startswith("/")
        named = folder.joinpath(*parts[:fixed])
        try:
            real = named.resolve()
        except (OSError, RuntimeError, ValueError):
            continue
        if real != named:
            found.append(replace(rule, pattern="/".join((glob_patterns.escape(str(real)), *parts[fixed:]))))
    return found


def _is_too_long(detail: str) -> bool:
    return len(detail) > LONGEST_DETAIL or detail.count("\n") > MOST_DETAIL_LINES


def _refusal(answer: str) -> str:
    if answer == NO_USER:
        return NO_APPROVAL
    word, _, reason = answer.partition(":")
    reason = reason.strip()
    return f"{DENIED} The user says: {reason}" if word.strip() == "no" and reason else DENIED


def offered(subject: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Rules to offer, built from bare patterns."""
    return tuple(f"{subject}({pattern})" for pattern in patterns)


_HEAD = (
    '# What was answered with "always". Rules are TOOL or TOOL(PATTERN); those of commands end in ro, rw or full.\n'
    "# Lines may be removed or edited by hand.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules from one source, and the errors in it."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[ConfigError, ...] = ()
    cautious: bool = False
    """Whether a rule that denies could not be read."""

    def combined_with(self, other: Rules) -> Rules:
        """Combine two sources."""
        return Rules(
            rules=(*self.rules, *other.rules),
            problems=(*self.problems, *other.problems),
            cautious=self.cautious or other.cautious,
        )


def rules_of_file(path: Path, *, home: str) -> Rules:
    """Rules of the file; a missing file has none."""
    try:
        document = _document(path)
    except ConfigError as problem:
        return Rules(problems=(problem,), cautious=True)
    return rules_of_table(document, where=path.name, home=home)


def rules_of_table(table: Mapping[str, object], *, where: str, home: str) -> Rules:
    """Rules of a table with the lists ``allow``, ``ask`` and ``deny``."""
    found: list[Rule] = []
    problems: list[ConfigError] = []
    cautious = False
    for key, texts in table.items():
        effect = next((one for one in RuleEffect if one == key), None)
        if effect is None or not isinstance(texts, list):
            problems.append(ConfigError(f"`{where}`: `{key}` must be a list `allow`, `ask` or `deny`.", key=key))
            cautious = True
            continue
        for text in texts:
            try:
                found.append(_rule(effect, text, home))
            except ConfigError as problem:
                problems.append(ConfigError(f"`{where}`, `{key}`: {problem.message}", key=key))
                cautious = cautious or effect is not RuleEffect.ALLOW
    return Rules(rules=tuple(found), problems=tuple(problems), cautious=cautious)


def rules_allowed(texts: Sequence[str], *, home: str) -> tuple[Rule, ...]:
    """Rules of ``--allow``. Raises ConfigError, because an invalid command line is an error."""
    return tuple(read_rule(RuleEffect.ALLOW, text, home=home) for text in texts)


def add_allowed(path: Path, rule: str) -> None:
    """Append a permanent rule. Raises ConfigError if the file is invalid or cannot be written; it is then unchanged."""
    try:
        with locked(path):  # other windows add rules, too
            _append(path, rule)
    except OSError as error:
        raise ConfigError(f"`{path.name}` cannot be written: {error.strerror}.", file=str(path)) from None


def _append(path: Path, rule: str) -> None:
    document = dict(_document(path))
    allowed = document.get("allow", [])
    if not isinstance(allowed, list):
        raise ConfigError(f"`{path.name}`: `allow` is not a list, so the rule was not added.", file=str(path))
    if rule not in allowed:
        document["allow"] = [*allowed, rule]
        write_atomically(path, _HEAD + tomli_w.dumps(document, multiline_strings=False))


def _rule(effect: RuleEffect, text: object, home: str) -> Rule:
    if not isinstance(text, str):
        raise ConfigError(f"{text!r} is not a rule: rules are text.")
    return read_rule(effect, text, home=home)


def _document(path: Path) -> Mapping[str, object]:
    try:
        return parse_user_toml(read_user_text(path) or "")
    except OSError as error:
        raise ConfigError(f"`{path.name}` cannot be read: {error.strerror}.", file=str(path)) from None
    except ValueError:  # it is not TOML
        raise ConfigError(
            f"`{path.name}` is invalid: until it is fixed, every call needs approval.", file=str(path)
        ) from None
