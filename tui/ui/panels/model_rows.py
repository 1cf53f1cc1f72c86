"""The model list as rows: what stands where, marked, grouped, filtered."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.commands.context import ModelInfo
from tui.domain.printable import one_line
from tui.domain.thinking import ModelSpec
from tui.ui.format_numbers import tokens
from tui.ui.fuzzy import best
from tui.ui.panels.row_list import Row


def same_model(first: ModelSpec, second: ModelSpec) -> bool:
    """Whether two names mean one model, levels aside."""
    return (first.provider, first.model) == (second.provider, second.model)


def key_of(spec: ModelSpec) -> str:
    """A row's key."""
    return f"{spec.provider}/{spec.model}"


def model_rows(models: Sequence[ModelInfo], query: str, current: ModelSpec, width: int) -> list[Row]:
    """Rows with headings; a query drops the headings and puts the best first."""
    if query.strip():
        found = best(query, models, lambda row: f"{row.spec.provider}/{row.spec.model} {row.provider}")
        return [_row(model, current, width, full=True) for model in found]
    rows: list[Row] = []
    for title, group, full in _groups(models):
        rows.append(Row("", Content.styled(one_line(title, width), "$muted-text")))
        rows.extend(_row(model, current, width, full=full) for model in group)
    return rows


def _groups(models: Sequence[ModelInfo]) -> list[tuple[str, list[ModelInfo], bool]]:
    favourites = [model for model in models if model.favourite]
    recent = [model for model in models if model.recent and not model.favourite]
    groups = [("favourites", favourites, True), ("recent", recent, True)]
    rest: dict[str, list[ModelInfo]] = {}
    for model in models:
        if not model.favourite and not model.recent:
            rest.setdefault(model.provider, []).append(model)
    for provider, group in rest.items():
        reasons = {model.reason for model in group if not model.available}
        shared = len(reasons) == 1 and not any(model.available for model in group)
        # The command that helps stands with the row the bar is on; the heading has room for the cause only.
        groups.append((f"{provider} · {reasons.pop().partition(':')[0]}" if shared else provider, group, False))
    return [group for group in groups if group[1]]


def _row(model: ModelInfo, current: ModelSpec, width: int, *, full: bool) -> Row:
    here = same_model(model.spec, current)
    mark = Content.styled("● ", "$focus") if here else Content("  ")
    star = " ★" if model.favourite else ""
    note = f" {model.note}" if model.note == "demo" else ""
    name = key_of(model.spec) if full else model.spec.model
    room = width - 2 - len(star) - len(note)
    if full and len(name) > room:
        name = model.spec.model
    style = "bold $foreground" if here else "$foreground" if model.available else "$muted-text"
    tail = Content.styled(star, "$warning") + Content.styled(note, "$muted-text")
    return Row(key_of(model.spec), mark + Content.styled(one_line(name, room), style) + tail)


def price_words(price: tuple[float | None, float | None]) -> str:
    """``$5/$25``: dollars per million in and out."""
    into, out = price
    if into is None and out is None:
        return "price unknown"
    if not into and not out:
        return "free"
    return "/".join("?" if part is None else f"${part:g}" for part in price)


def facts_of(model: ModelInfo) -> tuple[str, str]:
    """What is known of a model in two short lines; the second is why it cannot be asked, if so."""
    window = tokens(model.window) if model.window else "window unknown"
    facts = " · ".join(part for part in (window, price_words(model.price), model.thinking) if part)
    if not model.available:
        return facts, f"✗ {model.reason or 'not available'}"
    return facts, f"! {model.note}" if model.note and model.note != "demo" else ""
