r"""Chemical formulas, ``\ce{…}``, rewritten as LaTeX."""

from __future__ import annotations

import re

from tui.typeset.math.nodes import CannotSetError

PART = re.compile(
    r"(?P<arrow><?=>>?|<-->|<->|<-|->)(?:\[(?P<above>[^\]]*)\])?"
    r"|(?P<script>[\^_](?:\{[^{}]*\}|[\d+-]+))"
    r"|(?P<element>[A-Z][a-z]?)"
    r"|(?P<state>\((?:aq|s|l|g)\))"
    r"|(?P<number>\d+(?:[./]\d+)?)"
    r"|(?P<sign>(?<=\s)[+](?=\s))"
    r"|(?P<charge>(?<=[A-Za-z\d)\]])[+-]+(?=[\s)\],]|$))"
    r"|(?P<gone>(?<=\s)[v^](?=\s|$))"
    r"|(?P<other>[()\[\]]|[a-z]|[.*,]|e-)"
    r"|(?P<blank>\s+)"
)
ARROWS = {"->": "rightarrow", "<-": "leftarrow", "<->": "leftrightarrow", "<=>": "rightleftharpoons"}
ARROWS |= {"<=>>": "rightleftharpoons", "=>": "rightarrow", "<-->": "rightleftharpoons"}
GONE = {"v": r"\downarrow", "^": r"\uparrow"}


def chemistry(text: str) -> str:
    """The formula in LaTeX."""
    found: list[str] = []
    at = 0
    follows = False
    """Whether a number counts the item before it."""
    while at < len(text):
        part = PART.match(text, at)
        if part is None:
            raise CannotSetError(f"{text[at]} in a chemical formula")
        name = part.lastgroup if part["arrow"] is None else "arrow"
        found.append(_latex(name or "", part[0], part["above"], counts=follows))
        follows = name in ("element", "script") or part[0] in (")", "]")
        at = part.end()
    return "".join(found)


def _latex(name: str, text: str, above: str | None, *, counts: bool) -> str:
    match name:
        case "arrow":
            arrow = ARROWS[text.partition("[")[0]]
            return rf" \x{arrow}{{\text{{{above}}}}} " if above and arrow.endswith("tarrow") else rf" \{arrow} "
        case "number":
            return f"_{{{text}}}" if counts else rf"{text}\,"
        case "charge":
            return f"^{{{text}}}"
        case "script":
            return text if text[1] == "{" else f"{text[0]}{{{text[1:]}}}"
        case "gone":
            return f" {GONE[text]} "
        case _:
            return {".": r"\cdot ", "*": r"\cdot "}.get(text, text)
