"""Maps roles to styles of a theme."""

from __future__ import annotations

from collections.abc import Mapping

from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.ui.markdown.runs import CODE_EDGE, MOST_BEFORE, Line, Look, Run, line_width

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

CHANGED = {Look.ADDED: "diff-added", Look.REMOVED: "diff-removed"}
"""Lines of a diff, and the role of their signs."""

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


def _as_bright(colour: Color, ground: Color) -> Color:
    """A colour, darkened or lightened to the luminance of a background: text is as readable on it."""
    wanted = _luminance(ground.get_truecolor())
    if wanted >= MIDDLE:
        return _bright_hue(colour, wanted * ON_LIGHT)
    most, least = 1.0, 0.0
    for _ in range(8):
        amount = (most + least) / 2
        if _luminance(blend_rgb(ColorTriplet(0, 0, 0), colour.get_truecolor(), amount)) > wanted + ON_DARK:
            most = amount
        else:
            least = amount
    return Color.from_triplet(blend_rgb(ColorTriplet(0, 0, 0), colour.get_truecolor(), least))


def _bright_hue(colour: Color, luminance: float) -> Color:
    """A pale colour of this hue and luminance: mixed with white alone, it would hardly differ from white."""
    from colorsys import hsv_to_rgb, rgb_to_hsv  # only for differences on light backgrounds

    hue = rgb_to_hsv(*colour.get_truecolor())[0]

    def at(paleness: float) -> ColorTriplet:
        """From white to the palest colour that is colourful enough, and on to black."""
        saturation, value = min(1.0, 2 * paleness) * MOST_SATURATION, min(1.0, 2 - 2 * paleness)
        red, green, blue = (round(255 * part) for part in hsv_to_rgb(hue, saturation, value))
        return ColorTriplet(red, green, blue)

    most, least = 1.0, 0.0
    for _ in range(10):
        middle = (most + least) / 2
        if _luminance(at(middle)) > luminance:
            least = middle
        else:
            most = middle
    return Color.from_triplet(at(most))


def _luminance(colour: ColorTriplet) -> float:
    red, green, blue = (part / 3_294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


MIDDLE = 0.18
"""Luminance below which a background is dark."""
ON_LIGHT, ON_DARK = 0.985, 0.0014
"""What themes leave their texts on code: differences are a little darker than it, or brighter, to be seen."""
MOST_SATURATION = 0.18
EDGE = "│"
BARS = frozenset({"thinking-bar", "rail"})
"""Roles of bars left of a line."""
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


def _with_edges(left: Line | None, line: Line, background: str, edge: str) -> tuple[Line | None, Line]:
    """A line of code or thinking with an edge, in place of the background that 16-colour themes do not have.

    A bar of the line's own, of thinking or of a tool run, is edge enough.
    """
    if any(run.role in BARS for run in (*(left or ()), *line[:1])):
        return left, line
    if background == "thinking" and left and left[0].text == " " * len(left[0].text) and len(left[0].text) > 1:
        blank = left[0].text
        return [Run(f" {edge}{blank[2:]}", "rule"), *left[1:]], line
    if background == "code" and line and line[0].role == CODE_EDGE and line[0].text.isspace():
        return left, [Run(edge + line[0].text[1:], "rule"), *line[1:]]
    return left, line


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
        self._tints: dict[Look, Color | None] = {}

    def _tint(self, look: Look) -> Color | None:
        """The background of added or removed lines; None for others, and if the terminal defines the colours."""
        changed = look & Look.CHANGED
        if not changed:
            return None
        if changed not in self._tints:
            colour, ground = _colour(self._variables.get(CHANGED[changed])), self._backgrounds["code"].bgcolor
            known = None if self._ansi or colour is None or ground is None else _as_bright(colour, ground)
            self._tints[changed] = known
        return self._tints[changed]

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
        tint = self._tint(look)
        if tint is None:
            role = CHANGED.get(look & Look.CHANGED, role)
        return Style(
            color=_colour(self._variables.get(VARIABLES.get(role, role))),
            bgcolor=tint or self._backgrounds["code" if role == "kbd" and not background else background].bgcolor,
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
        if self._ansi:
            left, line = _with_edges(
                left, line, background, EDGE if self._marks is None else EDGE.translate(self._marks)
            )
        segments = [Segment(run.text, self.style(run.role, run.look, "", run.href)) for run in left or ()]
        segments.extend(
            Segment(run.text, self.style(run.role, run.look, background, run.href)) for run in line if run.text
        )
        used = line_width(left or []) + line_width(line)
        if used < width:
            tint = self._tint(line[-1].look) if line else None
            rest = self._backgrounds[background] if tint is None else Style(bgcolor=tint)
            segments.append(Segment(" " * (width - used), rest))
        return Strip(segments, max(used, width))
