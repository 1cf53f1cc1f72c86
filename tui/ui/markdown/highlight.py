"""Highlights code in an allow-list of languages, with limits on time.

The language is never guessed: guessing a lexer is quadratic on a long line of digits, and so are many lexers on one
endless line. Unlabelled code, unknown labels, lines longer than ``MAX_LINE`` and blocks longer than ``MAX_BLOCK`` are
drawn plain. So is code whose lexer is not loaded yet (``lexers``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from tui.ui.markdown.lexers import lexers
from tui.ui.markdown.runs import Line, Look, Run

if TYPE_CHECKING:
    from re import Match

    from pygments.lexer import Lexer, RegexLexer
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
"""A role and its characters."""


class LexerState(NamedTuple):
    """The lexer's state between two parts."""

    stack: tuple[str, ...] = ("root",)
    in_comment: bool = False
    """Inside a multi-line comment, which most lexers only recognise as a whole."""


START = LexerState()


@lru_cache(maxsize=512)
def role_of(token: _TokenType) -> str:
    """The theme role of a token type."""
    name = str(token).removeprefix("Token.")
    return next((role for start, role in ROLES if name.startswith(start)), "code")


def lex(lexer: RegexLexer, text: str, state: LexerState, comment: tuple[str, str]) -> tuple[list[Spelled], LexerState]:
    """The roles of a text that ends with a line, and the lexer state after it.

    ``comment`` is the pair that begins and ends a multi-line comment; empty if the lexer has a state for it.
    """
    opens, closes = comment
    found: list[Spelled] = []
    begin = 0
    if state.in_comment:
        end = text.find(closes)
        if end < 0:
            return [(COMMENT, text)], state
        begin = end + len(closes)
        found.append((COMMENT, text[:begin]))
    stack = list(state.stack)
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
    """The role at a position, and the offset into its text."""
    for role, value in spelled:
        if position < len(value):
            return role, position
        position -= len(value)
    return "code", 0


def _spelled(lexer: RegexLexer, text: str, stack: list[str]) -> Iterator[Spelled]:
    """Run the lexer's tables and leave the final state in ``stack``, which the lexer itself does not report."""
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
    """Apply a rule's transition to the stack: state names, ``#pop``, ``#push``, or a number of states to pop."""
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


MAX_LINE = 1_000
MAX_BLOCK = 64_000

SAME_NAME = frozenset(
    {"java", "json", "toml", "ini", "sql", "css", "scss", "lua", "perl", "php", "swift", "scala", "r", "julia", "diff"}
    | {"nix", "zig", "dart", "clojure", "erlang", "ocaml", "graphql", "protobuf", "vim", "powershell", "fish"}
    | {"cmake", "latex"}
)
"""Languages whose fence label is their lexer's name."""

LANGUAGES = {
    **dict.fromkeys(("py", "python", "python3", "py3"), "python"),
    **dict.fromkeys(("js", "javascript", "mjs", "node"), "javascript"),
    **dict.fromkeys(("ts", "typescript"), "typescript"),
    **dict.fromkeys(("tsx", "jsx"), "tsx"),
    **dict.fromkeys(("sh", "bash", "shell", "zsh", "console"), "bash"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cpp", "c++", "cc", "hpp"), "cpp"),
    **dict.fromkeys(("cs", "csharp", "c#"), "csharp"),
    **dict.fromkeys(("rs", "rust"), "rust"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("rb", "ruby"), "ruby"),
    **dict.fromkeys(("yml", "yaml"), "yaml"),
    **dict.fromkeys(("html", "xml", "svg"), "html"),
    **dict.fromkeys(("md", "markdown"), "markdown"),
    **dict.fromkeys(("make", "makefile"), "make"),
    **dict.fromkeys(("docker", "dockerfile"), "docker"),
    **dict.fromkeys(("tf", "hcl", "terraform"), "terraform"),
    **dict.fromkeys(("hs", "haskell"), "haskell"),
    **dict.fromkeys(("ex", "elixir"), "elixir"),
    **dict.fromkeys(("kt", "kotlin"), "kotlin"),
    **{name: name for name in SAME_NAME},
    "jsonc": "json",
    "patch": "diff",
    "tex": "latex",
    "proto": "protobuf",
    "ps1": "powershell",
}
"""Fence labels and their lexers."""

FILE_ENDINGS = {
    **dict.fromkeys(("cxx", "hxx"), "cpp"),
    "pyi": "python",
    "pl": "perl",
    "jl": "julia",
    "erl": "erlang",
    "ml": "ocaml",
    "clj": "clojure",
    "kts": "kotlin",
    "exs": "elixir",
    "htm": "html",
    "cfg": "ini",
    "cjs": "javascript",
    "mts": "typescript",
}
"""Endings of file names that are not labels of fences."""

SLASH_STAR = frozenset(
    {"c", "cpp", "csharp", "css", "dart", "go", "java", "javascript", "kotlin", "php", "scss", "swift", "tsx"}
    | {"typescript"}
)
"""Lexers that recognise long comments only as a whole; the others resynchronise when they start within one."""

COMMENTS = {**dict.fromkeys(SLASH_STAR, ("/*", "*/")), "html": ("<!--", "-->")}


def _lexer(language: str) -> Lexer | None:
    name = LANGUAGES.get(language.lower())
    return lexers().find(name) if name is not None else None


def language_of(info: str) -> str:
    """The language of a fence's info string: its first word, without attributes."""
    return info.strip().split(maxsplit=1)[0].strip("{.}").split(":")[0] if info.strip() else ""


def highlight(lines: Sequence[str], info: str) -> list[Line]:
    """One line of runs per line of code."""
    return highlight_from(lines, info, START)[0]


def highlight_from(lines: Sequence[str], info: str, state: CodeState) -> tuple[list[Line], CodeState]:
    """Highlight a part of a code block; returns its lines and the state for the next part."""
    if LANGUAGES.get(language_of(info).lower()) == "diff":
        return _diff_from(lines, state if isinstance(state, DiffState) else DiffState(info.partition(" ")[2]))
    if isinstance(state, DiffState):
        state = START
    # A fence whose first line is still arriving has no code, and perhaps the beginning of its language's name.
    lexer = _lexer(language_of(info)) if any(lines) or state != START else None
    if lexer is None or sum(map(len, lines)) > MAX_BLOCK or any(len(line) > MAX_LINE for line in lines):
        return [[Run(line, "code")] if line else [] for line in lines], START
    text = "\n".join(lines) + "\n"
    if _is_walked(lexer):
        spelled, state = lex(lexer, text, state, COMMENTS.get(LANGUAGES[language_of(info).lower()], ("", "")))
    else:  # it overrides more than its tables: each part is highlighted as if the code began there
        spelled = [(role_of(token), value) for _, token, value in lexer.get_tokens_unprocessed(text)]
    return _rows(spelled, len(lines)), state


def language_of_file(path: str) -> str:
    """The language that the name of a file tells; "" if none is known."""
    name = re.split(r"[/\\\s]", path.strip())[-1].lower()
    ending = name.rpartition(".")[2]
    return next((label for label in (FILE_ENDINGS.get(ending, ending), name) if label in LANGUAGES), "")


class DiffState(NamedTuple):
    """Where a part of a diff ends."""

    language: str = ""
    before: LexerState = LexerState()
    after: LexerState = LexerState()
    """The lexers' states in what was there before, and in what is there now."""
    left: tuple[int, int] = (0, 0)
    """Rows of the hunk that are still to come, before and after; nothing in them names a file."""
    is_named: bool = False
    """The last row names the file before."""


CodeState = LexerState | DiffState
_NAMES = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?(.+)")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEAD = re.compile(r"@@|\\|diff |index |new file |deleted file |old mode |new mode |similarity |rename ")
_SIGNS = {"+": ("diff-added", Look.ADDED), "-": ("diff-removed", Look.REMOVED)}


def highlight_diff(rows: Sequence[str], language: str = "", state: DiffState | None = None) -> list[Line]:
    """A diff with its code in the language of each file, or in ``language`` where no name of a file is above it."""
    return _diff_from(rows, state or DiffState(language))[0]


def _diff_from(rows: Sequence[str], state: DiffState) -> tuple[list[Line], DiffState]:
    found: list[Line] = []
    hunk: list[str] = []
    for row in rows:
        is_open = max(state.left) > 0 and not row.startswith("\\")
        names = not is_open and row.startswith("+++ " if state.is_named else "--- ")
        if is_open or not (names or _HEAD.match(row)):
            hunk.append(row)
            left = state.left[0] - (row[:1] != "+"), state.left[1] - (row[:1] != "-")
            state = state._replace(left=left, is_named=False)
            continue
        lines, state = _hunk(hunk, state)
        found.extend([*lines, [Run(row, "muted")]])
        hunk = []
        if (file := _NAMES.fullmatch(row)) and names:
            language = language_of_file(file[1]) or state.language
            state = state._replace(language=language, is_named=row.startswith("-"))
        elif counts := _HUNK.match(row):
            left = int(counts[1] or 1), int(counts[2] or 1)
            state = state._replace(before=START, after=START, left=left, is_named=False)
    lines, state = _hunk(hunk, state)
    return [*found, *lines], state


def _hunk(rows: Sequence[str], state: DiffState) -> tuple[list[Line], DiffState]:
    """The lines of a hunk; what was removed is lexed with the lines around it, and so is what was added."""
    language = state.language
    before, at_before = highlight_from([row[1:] for row in rows if row[:1] != "+"], language, state.before)
    after, at_after = highlight_from([row[1:] for row in rows if row[:1] != "-"], language, state.after)
    old, new = iter(before), iter(after)
    found: list[Line] = []
    for row in rows:
        sign = row[:1]
        line = next(new) if sign == "+" else next(old)
        if sign in _SIGNS:
            role, look = _SIGNS[sign]
            found.append([Run(sign, role, look), *(run._replace(look=run.look | look) for run in line)])
        else:
            next(new)
            found.append([Run(sign, "code"), *line] if row else [])
    if not isinstance(at_before, LexerState) or not isinstance(at_after, LexerState):
        at_before = at_after = START  # code of diffs
    return found, state._replace(before=at_before, after=at_after)


def _is_walked(lexer: Lexer) -> TypeGuard[RegexLexer]:
    from pygments.lexer import RegexLexer

    return type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed


def _rows(spelled: Sequence[Spelled], count: int) -> list[Line]:
    """Rows of runs; blanks take the role before them, and neighbours with one role become one run."""
    rows: list[Line] = []
    roles: list[str] = []
    texts: list[str] = []

    def close() -> None:
        rows.append([Run(text, role) for role, text in zip(roles, texts, strict=True)])
        roles.clear()
        texts.clear()

    for role, value in spelled:
        for number, row in enumerate(value.split("\n") if "\n" in value else (value,)):
            if number:
                close()
            if not row:
                continue
            if roles and (roles[-1] == role or row.isspace()):
                texts[-1] += row
            else:
                roles.append(role)
                texts.append(row)
    close()
    return (rows + [[] for _ in range(count)])[:count]
