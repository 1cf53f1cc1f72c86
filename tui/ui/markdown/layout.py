"""Lays out blocks at a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tui.ui.markdown.highlight import highlight, language_of
from tui.ui.markdown.row_breaks import cut_row, wrap_code
from tui.ui.markdown.runs import (
    CODE_EDGE,
    CODE_HEAD_ROLES,
    MOST_BEFORE,
    QUOTE_BAR,
    Line,
    Look,
    Run,
    line_width,
    plain,
    width_of,
    wrap,
)
from tui.ui.markdown.set_formulas import formula_lines
from tui.ui.markdown.tables import lay_table
from tui.ui.markdown.tokens import Code, Definitions, Formula, ItemList, Node, Paragraph, Quote, Rule, Table

CODE_INDENT: Line = [Run("  ", CODE_EDGE)]
COPY = Run("copy", "code-copy")
"""At the right end of a code block's head; a click on it copies the block."""
BULLETS = "•◦▪"
ALERT_ROLES = {
    "note": "heading",
    "tip": "success",
    "important": "accent",
    "warning": "warning",
    "caution": "error",
}


def lay(
    nodes: Sequence[Node], width: int, *, depth: int = 0, tight: bool = False, sideways: int | None = None
) -> list[Line]:
    """Lines of consecutive blocks, with a blank line between them unless ``tight``.

    ``sideways`` is the first visible column of code whose lines are cut instead of wrapped.
    """
    lines: list[Line] = []
    for number, node in enumerate(nodes):
        if number and not (tight and isinstance(node, ItemList)):
            lines.append([])
        lines.extend(_lay_one(node, width, depth, sideways))
    return lines


def _lay_one(node: Node, width: int, depth: int, sideways: int | None) -> list[Line]:
    match node:
        case Paragraph(runs, level):
            return _heading(runs, level, width) if level else wrap(_with_targets(runs), width)
        case Code(text, info):
            return lay_code(text.split("\n"), info, width, sideways)
        case Formula(source):
            return formula_lines(source, width, sideways)
        case Rule():
            return [[Run("─" * width, "rule")]]
        case _:
            return _lay_container(node, width, depth, sideways)


def _lay_container(
    node: Quote | ItemList | Table | Definitions, width: int, depth: int, sideways: int | None
) -> list[Line]:
    match node:
        case Quote(blocks, alert):
            inner = lay(blocks, max(8, width - 2), depth=depth, sideways=sideways)
            if alert:
                return _alert(alert, inner)
            return [[Run(QUOTE_BAR, "rule"), *_recoloured(line, "muted")] for line in inner]
        case ItemList():
            return _list(node, width, depth, sideways)
        case Table(rows, align):
            return lay_table(rows, align, width, sideways=sideways)
        case Definitions(entries):
            return _definitions(entries, width, depth, sideways)
        case _:
            assert_never(node)


HEADING_LOOKS = {1: Look.UNDERLINE, 3: Look.ITALIC}
"""What headings of the first and third level have besides bold type."""


def _heading(runs: Line, level: int, width: int) -> list[Line]:
    look = Look.BOLD | HEADING_LOOKS.get(level, Look.PLAIN)
    styled = [run._replace(look=run.look | look) for run in _recoloured(runs, "heading")]
    mark: Line = [Run("#" * level + " ", "muted")] if level > 3 else []
    return wrap(styled, width, mark, [Run(" " * line_width(mark))] if mark else [])


def _alert(kind: str, inner: Sequence[Line]) -> list[Line]:
    role = ALERT_ROLES[kind]
    bar = Run(QUOTE_BAR, role)
    return [
        [bar, Run(kind.capitalize(), role, Look.BOLD)],
        *([bar, *line] for line in inner if line or inner != [[]]),
    ]


def _definitions(
    entries: Sequence[tuple[Line, tuple[tuple[Node, ...], ...]]], width: int, depth: int, sideways: int | None
) -> list[Line]:
    lines: list[Line] = []
    for term, meanings in entries:
        lines.extend(wrap([run._replace(look=run.look | Look.BOLD) for run in term], width))
        for meaning in meanings:
            inner = lay(meaning, max(8, width - 4), depth=depth, sideways=sideways)
            lines.extend([Run("    "), *line] if line else [] for line in inner)
    return lines


def _recoloured(line: Line, role: str) -> Line:
    return [run._replace(role=role) if run.role in ("text", "formula") else run for run in line]


def _with_targets(runs: Line) -> Line:
    """Add the address after each link whose text is not its address, once, muted."""
    shown: Line = []
    text = ""
    for number, run in enumerate(runs):
        shown.append(run)
        if not run.href or run.role != "link":
            text = ""
            continue
        text += run.text
        if number + 1 < len(runs) and runs[number + 1].href == run.href:
            continue
        if run.href not in (text, f"mailto:{text}"):
            shown.append(Run(f" ({run.href})", "muted", Look.PLAIN, run.href))
        text = ""
    return shown


def lay_code(code: list[str], info: str, width: int, sideways: int | None = None) -> list[Line]:
    """A code block: its language above, every line indented, long lines wrapped."""
    return [code_head(info, width), *code_lines(highlight(code, info), width, sideways)]


def code_head(info: str, width: int) -> Line:
    """The line above a code block: its language, and where a click copies it."""
    language = language_of(info)[: max(0, width - 2)]
    room = width - len(COPY.text) - 3
    if width_of(language) + 2 > room:
        return [*CODE_INDENT, Run(language, "code-label")]
    return [*CODE_INDENT, Run(language + " " * (room - width_of(language)), "code-label"), COPY]


def code_lines(lines: Sequence[Line], width: int, sideways: int | None = None) -> list[Line]:
    """Indented lines; long ones are wrapped, or cut to start at column ``sideways``."""
    room = max(4, width - 4)
    if sideways is not None:
        return [[*CODE_INDENT, *cut_row(line, sideways, room)] for line in lines]
    found: list[Line] = []
    for line in lines:
        if line_width(line) <= room:
            found.append([*CODE_INDENT, *line])
        else:
            found.extend([*CODE_INDENT, *part] for part in wrap_code(line, room))
    return found


def _list(node: ItemList, width: int, depth: int, sideways: int | None) -> list[Line]:
    lines: list[Line] = []
    last = (node.start or 0) + len(node.items) - 1
    columns = len(str(last)) + 2 if node.start is not None else 2
    for number, blocks in enumerate(node.items):
        if number and node.loose:
            lines.append([])
        mark = f"{node.start + number}." if node.start is not None else BULLETS[min(depth, 2)]
        task = _task(blocks)
        if task is not None:
            mark, blocks = task
        head = Run(mark.rjust(columns - 1) + " ", "list-mark")
        columns_here = width_of(head.text)
        room = max(8, width - columns_here)
        inner = lay(blocks, room, depth=depth + 1, tight=not node.loose, sideways=sideways) or [[]]
        lines.append([head, *inner[0]])
        lines.extend([Run(" " * columns_here), *line] if line else [] for line in inner[1:])
    return lines


def _task(blocks: tuple[Node, ...]) -> tuple[str, tuple[Node, ...]] | None:
    """The box of a ``[ ]`` or ``[x]`` item and the rest of the item; None for other items."""
    if not blocks or not isinstance(blocks[0], Paragraph) or not blocks[0].runs:
        return None
    first = blocks[0].runs[0]
    for written, drawn in (("[ ] ", "☐"), ("[x] ", "☑"), ("[X] ", "☑")):
        if first.text.startswith(written):
            paragraph = Paragraph([first._replace(text=first.text[4:]), *blocks[0].runs[1:]], blocks[0].level)
            return drawn, (paragraph, *blocks[1:])
    return None


def codes_in(nodes: Sequence[Node]) -> list[str]:
    """The text of every code block in the order in which they are drawn."""
    found: list[str] = []
    for node in nodes:
        match node:
            case Code(text):
                found.append(text)
            case Quote(blocks):
                found.extend(codes_in(blocks))
            case ItemList(items):
                found.extend(code for blocks in items for code in codes_in(blocks))
            case Definitions(entries):
                found.extend(code for _, meanings in entries for blocks in meanings for code in codes_in(blocks))
            case _:
                pass
    return found


def is_code(line: Line) -> bool:
    """Whether a row belongs to a code block."""
    return any(run.role == CODE_EDGE for run in line[:MOST_BEFORE])


def is_code_head(line: Line) -> bool:
    """Whether a row is the head of a code block."""
    return is_code(line) and any(run.role in CODE_HEAD_ROLES for run in line[:MOST_BEFORE])


def lay_summary(nodes: Sequence[Node], title: str, width: int, *, is_open: bool) -> list[Line]:
    """The head of a part that can be folded away."""
    runs = nodes[0].runs if len(nodes) == 1 and isinstance(nodes[0], Paragraph) else [Run(title)]
    bold = [run._replace(look=run.look | Look.BOLD) for run in runs]
    return wrap(bold, width, [Run("▾ " if is_open else "▸ ", "list-mark")], [Run("  ")])


def lay_footnote(nodes: Sequence[Node], mark: str, width: int, sideways: int | None) -> list[Line]:
    """A footnote below the text: quiet, behind its number."""
    columns = width_of(mark) + 1
    inner = lay(nodes, max(8, width - columns), sideways=sideways) or [[]]
    lines: list[Line] = [[Run(mark, "footnote"), Run(" "), *_recoloured(inner[0], "muted")]]
    lines.extend([Run(" " * columns), *_recoloured(line, "muted")] if line else [] for line in inner[1:])
    return lines


def text_of(lines: Sequence[Line]) -> str:
    """The characters of lines, for tests and copying."""
    return "\n".join(plain(line).rstrip() for line in lines)
