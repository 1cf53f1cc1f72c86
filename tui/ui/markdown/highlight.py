"""Code in colours: an allow-list of languages, never a guess, and nothing that can run away.

Guessing a lexer is quadratic on a long line of digits; so is many a lexer on one endless line. Unlabelled code,
unknown labels, lines past ``MAX_LINE`` and blocks past ``MAX_BLOCK`` are drawn plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeGuard

from tui.ui.markdown.lexing import START, LexerState, Spelled, lex, role_of
from tui.ui.markdown.runs import Line, Run

if TYPE_CHECKING:
    from pygments.lexer import Lexer, RegexLexer

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
"""What a fence may call itself, and the lexer that reads it."""

SLASH_STAR = frozenset(
    {"c", "cpp", "csharp", "css", "dart", "go", "java", "javascript", "kotlin", "php", "scss", "swift", "tsx"}
    | {"typescript"}
)
"""Lexers that know long comments only as a whole; others find their way when they begin within one."""

COMMENTS = {**dict.fromkeys(SLASH_STAR, ("/*", "*/")), "html": ("<!--", "-->")}


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    name = LANGUAGES.get(language.lower())
    if name is None:
        return None
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


def language_of(info: str) -> str:
    """The language of a fence's info string: its first word, without attributes."""
    return info.strip().split(maxsplit=1)[0].strip("{.}").split(":")[0] if info.strip() else ""


def highlight(lines: Sequence[str], info: str) -> list[Line]:
    """One line of runs for every line of code."""
    return highlight_from(lines, info, START)[0]


def highlight_from(lines: Sequence[str], info: str, place: LexerState) -> tuple[list[Line], LexerState]:
    """The same for a stretch in the midst of code, and where the next one goes on."""
    lexer = _lexer(language_of(info))
    if lexer is None or sum(map(len, lines)) > MAX_BLOCK or any(len(line) > MAX_LINE for line in lines):
        return [[Run(line, "code")] if line else [] for line in lines], START
    text = "\n".join(lines) + "\n"
    if _is_walked(lexer):
        spelled, place = lex(lexer, text, place, COMMENTS.get(LANGUAGES[language_of(info).lower()], ("", "")))
    else:  # it does more than its tables say: each stretch is read as if code began with it
        spelled = [(role_of(token), value) for _, token, value in lexer.get_tokens_unprocessed(text)]
    return _rows(spelled, len(lines)), place


def _is_walked(lexer: Lexer) -> TypeGuard[RegexLexer]:
    from pygments.lexer import RegexLexer

    return type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed


def _rows(spelled: Sequence[Spelled], count: int) -> list[Line]:
    """Rows of runs; blanks take the colour of what is before them, and neighbours of one colour are one run."""
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
