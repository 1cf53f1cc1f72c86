"""Whether the terminal makes links of addresses (OSC 8); ``FORCE_HYPERLINK`` decides if it is set."""

from __future__ import annotations

from collections.abc import Mapping

PROGRAMS = frozenset(
    {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby", "mintty", "zed", "contour", "WarpTerminal"}
)
"""Values of TERM_PROGRAM whose terminals know links."""
TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")
"""Beginnings of TERM, likewise."""
MARKS = ("WT_SESSION", "KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "KONSOLE_VERSION")
"""Variables that such terminals set."""
VTE_KNOWS = 5_001
"""VTE_VERSION from which links work; 5000 crashed."""
TMUX_KNOWS = (3, 4)


def knows_links(environment: Mapping[str, str]) -> bool:
    """Whether links may be written to this terminal."""
    wanted = environment.get("FORCE_HYPERLINK")
    if wanted is not None:
        return wanted.strip().lower() not in ("0", "false", "no")
    term = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    if term in ("", "dumb", "linux"):
        return "WT_SESSION" in environment and term != "dumb"
    # Inside tmux the variables of the outer terminal are those of the one that started the server.
    if "TMUX" in environment or program == "tmux":
        return _version(environment.get("TERM_PROGRAM_VERSION", "")) >= TMUX_KNOWS
    if program in PROGRAMS or term.startswith(TERMS) or any(mark in environment for mark in MARKS):
        return True
    vte = environment.get("VTE_VERSION", "")
    return vte.isdecimal() and int(vte) >= VTE_KNOWS


def _version(text: str) -> tuple[int, ...]:
    numbers = ("".join(character for character in part if character.isdecimal()) for part in text.split("."))
    return tuple(int(number) for number in numbers if number)
