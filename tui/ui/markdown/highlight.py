"""Code in colours: an allow-list of languages, never a guess, and nothing that can run away.

Guessing a lexer is quadratic on a long line of digits; so is many a lexer on one endless line. Unlabelled code,
unknown labels, lines past ``MAX_LINE`` and blocks past ``MAX_BLOCK`` are drawn plain.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tui.ui.markdown.runs import Line, Run

if TYPE_CHECKING:
    from pygments.lexer import Lexer

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


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    name = LANGUAGES.get(language.lower())
    if name is None:
        return None
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


@lru_cache(maxsize=512)
def _role(token: str) -> str:
    return next((role for start, role in ROLES if token.startswith(start)), "code")


def language_of(info: str) -> str:
    """The language of a fence's info string: its first word, without attributes."""
    return info.strip().split(maxsplit=1)[0].strip("{.}").split(":")[0] if info.strip() else ""


def highlight(lines: list[str], info: str) -> list[Line]:
    """One line of runs for every line of code."""
    lexer = _lexer(language_of(info))
    if lexer is None or sum(map(len, lines)) > MAX_BLOCK or any(len(line) > MAX_LINE for line in lines):
        return [[Run(line, "code")] if line else [] for line in lines]
    found: list[Line] = [[]]
    for token, value in lexer.get_tokens("\n".join(lines)):
        role = _role(str(token).removeprefix("Token."))
        for number, row in enumerate(value.split("\n")):
            if number:
                found.append([])
            if row:
                found[-1].append(Run(row, role))
    return (found + [[] for _ in lines])[: len(lines)]
