"""Lays out blocks at a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tui.ui.markdown.code_wrap import cut_code, wrap_code
from tui.ui.markdown.highlight import highlight, language_of
from tui.ui.markdown.runs import Line, Look, Run, line_width, plain, width_of, wrap
from tui.ui.markdown.tables import lay_table
from tui.ui.markdown.tokens import Bullets, Code, Formula, Node, Quote, Rule, Table, Words

CODE_INDENT: Line = [Run("  ", "code")]
BULLETS = "•◦▪"


def lay(
    nodes: Sequence[Node], width: int, *, depth: int = 0, tight: bool = False, sideways: int | None = None
) -> list[Line]:
    """Lines of consecutive blocks, with a blank line between them unless ``tight``.

    ``sideways`` is the first visible column of code whose lines are cut instead of wrapped.
    """
    lines: list[Line] = []
    for number, node in enumerate(nodes):
        if number and not (tight and isinstance(node, Bullets)):
            lines.append([])
        lines.extend(_lay_one(node, width, depth, sideways))
    return lines


def _lay_one(node: Node, width: int, depth: int, sideways: int | None) -> list[Line]:
    match node:
        case Words(runs, level):
            return _heading(runs, level, width) if level else _with_targets(wrap(runs, width), width)
        case Code(text, info):
            return lay_code(text.split("\n"), info, width, sideways)
        case Formula(source):
            return code_lines([[Run(row, "math")] if row else [] for row in source.split("\n")], width)
        case Rule():
            return [[Run("─" * width, "rule")]]
        case Quote(blocks):
            inner = lay(blocks, max(8, width - 2), depth=depth, sideways=sideways)
            return [[Run("▎ ", "rule"), *_recoloured(line, "muted")] for line in inner]
        case Bullets() | Table():
            if isinstance(node, Bullets):
                lines = _list(node, width, depth, sideways)
            else:
                lines = lay_table(node.rows, node.align, width)
            return lines
        case _:
            assert_never(node)


def _heading(runs: Line, level: int, width: int) -> list[Line]:
    look = Look.BOLD | (Look.UNDERLINE if level == 1 else Look.PLAIN)
    styled = [run._replace(role="heading" if run.role == "text" else run.role, look=run.look | look) for run in runs]
    mark: Line = [Run("#" * level + " ", "muted")] if level > 3 else []
    return wrap(styled, width, mark, [Run(" " * line_width(mark))] if mark else [])


def _recoloured(line: Line, role: str) -> Line:
    return [run._replace(role=role) if run.role == "text" else run for run in line]


def _with_targets(lines: list[Line], width: int) -> list[Line]:
    """Add the address after each link whose text is not its address, once, muted."""
    found: list[Line] = []
    for number, line in enumerate(lines):
        line_after = lines[number + 1] if number + 1 < len(lines) else []
        shown: Line = []
        for position, run in enumerate(line):
            shown.append(run)
            following = line[position + 1] if position + 1 < len(line) else (line_after[0] if line_after else None)
            ends = following is None or following.href != run.href
            if run.href and run.role == "link" and ends and run.href not in (run.text, f"mailto:{run.text}"):
                shown.append(Run(f" ({run.href})", "muted", Look.PLAIN, run.href))
        found.extend(wrap(shown, width) if len(shown) != len(line) else [line])
    return found


def lay_code(code: list[str], info: str, width: int, sideways: int | None = None) -> list[Line]:
    """A code block: its language above, every line indented, long lines wrapped."""
    return [code_head(info, width), *code_lines(highlight(code, info), width, sideways)]


def code_head(info: str, width: int) -> Line:
    """The line above a code block."""
    return [Run(f"  {language_of(info)[: max(0, width - 2)]}", "code-label")]


def code_lines(lines: Sequence[Line], width: int, sideways: int | None = None) -> list[Line]:
    """Indented lines; long ones are wrapped, or cut to start at column ``sideways``."""
    room = max(4, width - 4)
    if sideways is not None:
        return [[*CODE_INDENT, *cut_code(line, sideways, room)] for line in lines]
    found: list[Line] = []
    for line in lines:
        if line_width(line) <= room:
            found.append([*CODE_INDENT, *line])
        else:
            found.extend([*CODE_INDENT, *part] for part in wrap_code(line, room))
    return found


def _list(node: Bullets, width: int, depth: int, sideways: int | None) -> list[Line]:
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
    if not blocks or not isinstance(blocks[0], Words) or not blocks[0].runs:
        return None
    first = blocks[0].runs[0]
    for written, drawn in (("[ ] ", "☐"), ("[x] ", "☑"), ("[X] ", "☑")):
        if first.text.startswith(written):
            words = Words([first._replace(text=first.text[4:]), *blocks[0].runs[1:]], blocks[0].level)
            return drawn, (words, *blocks[1:])
    return None


def text_of(lines: Sequence[Line]) -> str:
    """The characters of lines, for tests and copying."""
    return "\n".join(plain(line).rstrip() for line in lines)
