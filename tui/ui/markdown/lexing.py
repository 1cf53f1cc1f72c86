"""Code in stretches: lexed where the stretch before it ended, so that a long block need never be lexed at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from re import Match

    from pygments.lexer import RegexLexer
    from pygments.token import _TokenType

ROLES = (
    ("Comment", "syntax-comment"),
    ("Keyword", "syntax-keyword"),
    ("Operator.Word", "syntax-keyword"),
    ("Name.Function", "syntax-function"),
    ("Name.Class", "syntax-type"),
    ("Name.Builtin", "syntax-type"),
    ("Name.Decorator", "syntax-function"),
    ("Name.Tag", "syntax-keyword"),
    ("Name.Attribute", "syntax-function"),
    ("Literal.String", "syntax-string"),
    ("Literal.Number", "syntax-number"),
    ("Generic.Inserted", "diff-added"),
    ("Generic.Deleted", "diff-removed"),
    ("Generic.Heading", "syntax-function"),
)
COMMENT, STRING = "syntax-comment", "syntax-string"

Spelled = tuple[str, str]
"""A role and the characters in it."""


class LexerState(NamedTuple):
    """Where the lexer stands between two stretches."""

    stack: tuple[str, ...] = ("root",)
    in_comment: bool = False
    """Inside a comment over many lines, which most lexers only know whole."""


START = LexerState()


@lru_cache(maxsize=512)
def role_of(token: _TokenType) -> str:
    """What a theme calls this kind of token."""
    name = str(token).removeprefix("Token.")
    return next((role for start, role in ROLES if name.startswith(start)), "code")


def lex(lexer: RegexLexer, text: str, place: LexerState, comment: tuple[str, str]) -> tuple[list[Spelled], LexerState]:
    """The roles of a stretch that ends with a line, and where the lexer stands behind it.

    ``comment`` is what begins and ends a comment over many lines; empty where the lexer itself knows being inside.
    """
    opens, closes = comment
    found: list[Spelled] = []
    begin = 0
    if place.in_comment:
        end = text.find(closes)
        if end < 0:
            return [(COMMENT, text)], place
        begin = end + len(closes)
        found.append((COMMENT, text[:begin]))
    stack = list(place.stack)
    opened = text.rfind(opens, begin) if opens else -1
    if opened < 0 or text.find(closes, opened + len(opens)) >= 0:
        found.extend(_spelled(lexer, text[begin:], stack))
        return found, LexerState(tuple(stack))
    tentative = list(stack)
    before = list(_spelled(lexer, text[begin:opened], tentative))
    rest = list(_spelled(lexer, text[begin:], stack))
    role, inside = _at(rest, opened - begin)
    if role == STRING or (role == COMMENT and inside):
        return [*found, *rest], LexerState(tuple(stack))
    return [*found, *before, (COMMENT, text[opened:])], LexerState(tuple(tentative), in_comment=True)


def _at(spelled: list[Spelled], position: int) -> tuple[str, int]:
    """What stands at a position, and how far into it that is."""
    for role, value in spelled:
        if position < len(value):
            return role, position
        position -= len(value)
    return "code", 0


def _spelled(lexer: RegexLexer, text: str, stack: list[str]) -> Iterator[Spelled]:
    """Walk the lexer's own tables; ``stack`` is left as it is at the end, which the lexer itself tells nobody."""
    tables = lexer._tokens  # type: ignore[attr-defined]  # made by its metaclass; nothing else tells the state at the end
    at = 0
    while at < len(text):
        for matches, action, following in tables[stack[-1]]:
            match = matches(text, at)
            if match is None:
                continue
            if action is not None:
                yield from _acted(lexer, action, match)
            at = match.end()
            if following is not None:
                _step(stack, following)
            break
        else:
            if text[at] == "\n":
                stack[:] = ["root"]
            yield "code", text[at]
            at += 1


def _acted(lexer: RegexLexer, action: object, match: Match[str]) -> Iterator[Spelled]:
    if isinstance(action, tuple):  # a token type is a tuple
        if match[0]:
            yield role_of(action), match[0]
        return
    assert callable(action)
    for _, token, value in action(lexer, match):
        if value:
            yield role_of(token), value


def _step(stack: list[str], following: object) -> None:
    """What a rule does to the stack: names, ``#pop``, ``#push``, or how many to take away."""
    if isinstance(following, int):
        del stack[max(1, len(stack) - abs(following)) :]
        return
    for step in following if isinstance(following, tuple) else (following,):
        if step == "#pop":
            if len(stack) > 1:
                stack.pop()
        elif step == "#push":
            stack.append(stack[-1])
        else:
            stack.append(str(step))
