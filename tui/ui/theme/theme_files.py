"""Reads TOML themes as Textual themes. The user's folder takes precedence; an invalid file is reported, never fatal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from textual.theme import Theme

from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.settings.user_files import list_user_files, parse_user_toml, read_user_text

COLOUR = lazy_regex(r"^(#[0-9a-fA-F]{6}|ansi_[a-z_]+)$")
FIELDS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
NAME = lazy_regex(r"^[a-z0-9][a-z0-9_-]{0,40}$")
DEFAULT_DARK = "dusk"
DEFAULT_LIGHT = "dawn"
MAX_BYTES = 64_000
MOST_THEMES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeFile:
    """One theme file."""

    theme: Theme
    description: str
    own: bool
    """Whether the file is in the user's folder."""


def packaged_themes() -> Path:
    """The folder of the shipped themes: inside the wheel, beside ``tui`` in a checkout."""
    package = Path(__file__).parents[2]
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


class Themes(Mapping[str, ThemeFile]):
    """Themes by name. Shipped ones are named after their files and parsed on first use."""

    def __init__(self, shipped: Mapping[str, Path], own: Mapping[str, ThemeFile]) -> None:
        self._shipped = shipped
        self._read = dict(own)
        self._names = sorted({*shipped, *own})

    def __getitem__(self, name: str) -> ThemeFile:
        if name not in self._read:
            entry = self._shipped[name]
            self._read[name] = parse_theme(entry.name, entry.read_text(encoding="utf-8"), own=False)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_themes(own: Path | None) -> tuple[Themes, tuple[ConfigError, ...]]:
    """All themes by name, and the errors in the user's files."""
    found: dict[str, ThemeFile] = {}
    problems: list[ConfigError] = []
    try:
        files = theme_files(own)
    except OSError as error:
        files = ()
        problems.append(ConfigError(f"The folder `{own}` cannot be read: {error.strerror}."))
    for entry in files[:MOST_THEMES]:
        try:
            text = read_user_text(entry, MAX_BYTES)
            if text is None:  # removed since it was listed
                continue
            read = parse_theme(entry.name, text, own=True)
            found[read.theme.name] = read
        except ConfigError as problem:
            problems.append(problem)
        except OSError as error:
            problems.append(ConfigError(f"Theme `{entry.name}` cannot be read: {error.strerror}.", file=entry.name))
    if len(files) > MOST_THEMES:
        problems.append(ConfigError(f"The folder `{own}` holds more than {MOST_THEMES} themes: the rest is not read."))
    shipped = {
        entry.name.removesuffix(".toml"): entry for entry in packaged_themes().iterdir() if entry.name.endswith(".toml")
    }
    return Themes(shipped, found), tuple(problems)


def theme_files(own: Path | None) -> tuple[Path, ...]:
    """The user's theme files, at most one more than is read. Raises OSError."""
    return list_user_files(own, ".toml", MOST_THEMES + 1) if own is not None else ()


def parse_theme(file: str, text: str, *, own: bool) -> ThemeFile:
    """A theme from its TOML; raises an error for values that are not colours."""
    try:
        document = parse_user_toml(text)
    except ValueError as error:  # it is not TOML
        raise ConfigError(f"Theme `{file}`: {error}.", file=file) from None
    name = document.get("name")
    if not isinstance(name, str) or not NAME.match(name):
        raise ConfigError(f"Theme `{file}` needs a `name` of small letters, digits and dashes.", file=file)
    colours = {field: _colour(file, field, document.get(field)) for field in FIELDS if field in document}
    if "primary" not in colours:
        raise ConfigError(f"Theme `{file}` needs at least `primary`.", file=file)
    variables = document.get("variables", {})
    if not isinstance(variables, Mapping):
        raise ConfigError(f"Theme `{file}`: `variables` is a table.", file=file)
    theme = Theme(
        name=name,
        dark=bool(document.get("dark", True)),
        variables={str(key): _colour(file, str(key), value) for key, value in variables.items()},
        **colours,  # type: ignore[arg-type]  # every field of FIELDS is an optional colour
    )
    description = document.get("description", "")
    return ThemeFile(theme=theme, description=str(description)[:120], own=own)


def _colour(file: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not COLOUR.match(value):
        raise ConfigError(f"Theme `{file}`: `{key}` is not a colour like #8ea6ff or ansi_blue.", file=file, key=key)
    return value


def derived_variables(theme: Theme) -> dict[str, str]:
    """Our variables for a theme that lacks them (one of Textual's own, or a short one of the user's)."""
    from textual.color import Color

    background = Color.parse(theme.background or ("#121212" if theme.dark else "#f8f8f8"))
    foreground = Color.parse(theme.foreground or ("#e0e0e0" if theme.dark else "#202020"))
    primary = Color.parse(theme.primary)

    def mix(first: Color, second: Color, amount: float) -> str:
        return first.blend(second, amount).hex6

    muted = mix(foreground, background, 0.32)
    success, warning = theme.success or "#8fc27c", theme.warning or "#e6c07b"
    error, accent, secondary = theme.error or "#ef7d88", theme.accent or theme.primary, theme.secondary or theme.primary
    return {
        "background": background.hex6,
        "foreground": foreground.hex6,
        "accent": accent,
        "warning": warning,
        "error": error,
        "success": success,
        "user-bar": theme.primary,
        "user-tint": mix(background, primary, 0.1),
        "user-text": foreground.hex6,
        "thinking-tint": mix(background, foreground, 0.05),
        "thinking-text": muted,
        "thinking-bar": mix(background, foreground, 0.4),
        "answer-text": foreground.hex6,
        "muted-text": muted,
        "heading": theme.primary,
        "link": theme.primary,
        "code-tint": mix(background, foreground, 0.05),
        "code-text": foreground.hex6,
        "inline-code": secondary,
        "syntax-keyword": secondary,
        "syntax-string": success,
        "syntax-comment": muted,
        "syntax-number": warning,
        "syntax-function": theme.primary,
        "syntax-type": accent,
        "tool-waiting": warning,
        "tool-running": theme.primary,
        "tool-done": success,
        "tool-failed": error,
        "diff-added": success,
        "diff-removed": error,
        "meter-fill": accent,
        "meter-system": secondary,
        "meter-user": theme.primary,
        "meter-answers": success,
        "meter-thinking": accent,
        "meter-tools": warning,
        "meter-free": mix(background, foreground, 0.2),
        "focus": accent,
        "rule": mix(background, foreground, 0.22),
    }


def theme_variables(theme: Theme) -> dict[str, str]:
    """All variables of a theme, derived if it does not define them."""
    own = {
        "background": theme.background or "",
        "foreground": theme.foreground or "",
        "accent": theme.accent or "",
        "warning": theme.warning or "",
        "error": theme.error or "",
        "success": theme.success or "",
    }
    return {**derived_variables(theme), **{key: value for key, value in own.items() if value}, **theme.variables}
