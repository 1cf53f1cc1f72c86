"""Maps roles to styles of a theme."""

from __future__ import annotations

from collections.abc import Mapping

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.ui.markdown.runs import CODE_EDGE, MOST_BEFORE, Line, Look, line_width

VARIABLES = {
    "text": "answer-text",
    "user": "user-text",
    "thinking": "thinking-text",
    "muted": "muted-text",
    "rule": "rule",
    "rail": "rule",
    "heading": "heading",
    "link": "link",
    "list-mark": "muted-text",
    "inline-code": "inline-code",
    "math": "inline-code",
    "formula": "answer-text",
    "code": "code-text",
    "code-edge": "code-text",
    "code-label": "muted-text",
    "code-copy": "muted-text",
    "kbd": "code-text",
    "footnote": "link",
    "code-wrap": "muted-text",
    "code-cut": "muted-text",
    "user-bar": "user-bar",
    "thinking-bar": "thinking-bar",
    "focus": "focus",
    "warning": "warning",
    "error": "error",
    "success": "success",
    "accent": "accent",
}
"""Roles whose theme variable has another name; every other role is a variable itself."""

DIM_ROLES = frozenset({"thinking", "muted", "code-label", "code-copy", "code-wrap", "code-cut", "syntax-comment"})
"""Roles that are drawn dim in 16-colour themes, which have no muted colour."""

BACKGROUNDS = {"": "background", "user": "user-tint", "thinking": "thinking-tint", "code": "code-tint"}
"""Kinds of background, and their theme variables."""


def surface_from(line: Line) -> int | None:
    """The run from which a line is drawn on the background of code; None if it is not."""
    return next((number for number, run in enumerate(line[:MOST_BEFORE]) if run.role == CODE_EDGE), None)


def _colour(value: str | None) -> Color | None:
    if not value or value == "ansi_default":
        return None
    if value.startswith("ansi_"):
        return Color.parse(value.removeprefix("ansi_"))
    return Color.parse(value[:7]) if value.startswith("#") else None


def link_to(href: str) -> str | None:
    """The address that the terminal may open; None unless it is http or https, in printable ASCII."""
    from tui.domain.web_address import safe_address  # only for texts with links

    return safe_address(href) if href.isascii() and href.isprintable() else None


COPIES: dict[str, object] = {"copies": "code"}
"""What a click finds in the style of the word that copies a code block."""
_PLAIN_LINES = {
    **{chr(code): "+" for code in range(0x2500, 0x2580)},
    **dict.fromkeys("─━╌┄═╴╶╸╺╼╾", "-"),
    **dict.fromkeys("│┃╎┊║╵╷╹╻╽╿", "|"),
    **dict(zip("╱╲◄►▲▼◁▷△▽◆◇◉█▓░", r"/\<>^v<>^v*o@#%.", strict=True)),
}
_PLAIN_SIGNS = dict(zip("▸▾┊▌▐│─├╭•◦▪●○◌◐◇⊘⊞✓✗⚠›‹…↪", "+-||||-++***oo.~o/#vx!><~>", strict=True))
PLAIN_MARKS = str.maketrans(_PLAIN_LINES | _PLAIN_SIGNS)
"""ASCII replacements for our marks and lines, each as wide as the mark, for screen readers."""


class ThemeStyles:
    """Cached styles of one theme; ``plain`` replaces marks by ASCII characters, ``links`` lets the terminal link."""

    def __init__(
        self, variables: Mapping[str, str], *, ansi: bool = False, plain: bool = False, links: bool = False
    ) -> None:
        self._variables = variables
        self._ansi = ansi
        self._links = links
        self._marks = PLAIN_MARKS if plain else None
        self._styles: dict[tuple[str, Look, str, str], Style] = {}
        self._backgrounds = {
            background: Style(bgcolor=_colour(variables.get(name))) for background, name in BACKGROUNDS.items()
        }

    def background(self, background: str) -> Style:
        """The style of an empty cell on a background."""
        return self._backgrounds[background]

    def style(self, role: str, look: Look, background: str, href: str = "") -> Style:
        """The style of a run on a background."""
        key = (role, look, background, href)
        found = self._styles.get(key)
        if found is None:
            found = self._styles[key] = self._make(role, look, background, href)
        return found

    def _make(self, role: str, look: Look, background: str, href: str) -> Style:
        thinking = background == "thinking"
        if thinking and role not in ("thinking-bar", "focus"):
            role = "thinking"
        return Style(
            color=_colour(self._variables.get(VARIABLES.get(role, role))),
            bgcolor=self._backgrounds["code" if role == "kbd" and not background else background].bgcolor,
            bold=bool(look & Look.BOLD) or None,
            italic=bool(look & Look.ITALIC) or thinking or None,
            strike=bool(look & Look.STRIKE) or None,
            underline=bool(look & Look.UNDERLINE) or role == "link" or None,
            dim=(self._ansi and role in DIM_ROLES) or None,
            link=link_to(href) if href and self._links else None,
            meta={"href": href} if href else COPIES if role == "code-copy" else None,
        )

    def strip(self, line: Line, background: str, width: int, *, left: Line | None = None) -> Strip:
        """A line with styles, padded to ``width``; ``left`` precedes it on the page's own background.

        Code has a background of its own on the page, but not within another one.
        """
        edge = surface_from(line) if not background else None
        if self._marks is not None:
            left = [run._replace(text=run.text.translate(self._marks)) for run in left or ()]
            line = [run._replace(text=run.text.translate(self._marks)) for run in line]
        if edge is not None:
            left, line, background = [*(left or ()), *line[:edge]], line[edge:], "code"
        segments = [Segment(run.text, self.style(run.role, run.look, "", run.href)) for run in left or ()]
        segments.extend(
            Segment(run.text, self.style(run.role, run.look, background, run.href)) for run in line if run.text
        )
        used = line_width(left or []) + line_width(line)
        if used < width:
            segments.append(Segment(" " * (width - used), self._backgrounds[background]))
        return Strip(segments, max(used, width))
