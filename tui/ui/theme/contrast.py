"""WCAG contrast of two colours."""

from __future__ import annotations

from textual.color import Color


def _channel(value: int) -> float:
    part = value / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _luminance(colour: Color) -> float:
    return 0.2126 * _channel(colour.r) + 0.7152 * _channel(colour.g) + 0.0722 * _channel(colour.b)


def contrast(first: str, second: str) -> float | None:
    """From 1 (the same) to 21 (black on white); None for colours that are the terminal's own."""
    if first.startswith("ansi_") or second.startswith("ansi_"):
        return None
    lighter, darker = sorted((_luminance(Color.parse(first)), _luminance(Color.parse(second))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


TEXT_PAIRS = (
    *(("answer-text", "background"), ("user-text", "user-tint"), ("thinking-text", "thinking-tint")),
    *(("muted-text", "background"), ("code-text", "code-tint"), ("inline-code", "background")),
    *(("heading", "background"), ("link", "background"), ("error", "background"), ("warning", "background")),
)
"""Text and the ground it stands on."""


def weakest(variables: dict[str, str]) -> tuple[float, str] | None:
    """The pair of a theme that is hardest to read; None where the terminal decides."""
    found = [
        (ratio, f"{text} on {ground}")
        for text, ground in TEXT_PAIRS
        if (ratio := contrast(variables[text], variables[ground])) is not None
    ]
    return min(found) if found else None
