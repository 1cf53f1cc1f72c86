"""The model picker: a filter, the list, and facts about the selected model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static

from tui.domain.errors import PonderError
from tui.domain.format_numbers import count, noun, tokens
from tui.domain.fuzzy import best
from tui.domain.listing import ModelInfo
from tui.domain.printable import one_line
from tui.domain.thinking import Asked, ModelSpec, model_title
from tui.ui.input.field import Field
from tui.ui.panels.row_list import STEPS, Row, RowList, key_of_row

if TYPE_CHECKING:
    from tui.app.models import ModelService


def same_model(first: ModelSpec, second: ModelSpec) -> bool:
    """Whether two specs name one model, ignoring levels."""
    return (first.provider, first.model) == (second.provider, second.model)


def key_of(spec: ModelSpec) -> str:
    return f"{spec.provider}/{spec.model}"


MOST_ROWS = 500
"""Models of one provider, or found, that have a row: a server may list thousands, and each key draws the list."""


def model_rows(models: Sequence[ModelInfo], query: str, current: ModelSpec, width: int) -> list[Row]:
    """Rows with headings; a query removes the headings and sorts by match, models that can be used first."""
    if query.strip():
        found = best(query, models, lambda row: f"{row.spec.provider}/{row.spec.model} {row.provider}")
        found.sort(key=lambda row: not row.available)
        first = found[:MOST_ROWS]
        return [*(_row(row, current, width, full=True, with_state=True) for row in first), *_left_out(found, width)]
    rows: list[Row] = []
    for title, note, group, full in _groups(models):
        rows.extend([Row("", Content(""))] if rows else [])
        rows.append(Row("", _heading(title, note, width)))
        # The heading says it of a provider whose models can all be used, or none of them.
        with_state = full or len({model.available for model in group}) > 1
        shown = [*group[:MOST_ROWS], *(model for model in group[MOST_ROWS:] if same_model(model.spec, current))]
        rows.extend(_row(model, current, width, full=full, with_state=with_state) for model in shown)
        rows.extend(_left_out(group, width))
    return rows


def _left_out(models: Sequence[ModelInfo], width: int) -> list[Row]:
    """The row below the first models of many."""
    more = len(models) - MOST_ROWS
    return [Row("", _heading("", f"{more:,} more: type to find them", width))] if more > 0 else []


VERSION = re.compile(r"([a-z]*)(\d{1,3})")
"""A part of a name that counts versions, perhaps behind letters (``v4``, ``o3``); longer numbers are dates."""


def family_and_version(name: str) -> tuple[str, tuple[int, ...]]:
    """``claude-opus-5-5`` is version 5.5 of ``claude-opus``."""
    family: list[str] = []
    version: list[int] = []
    for part in re.split(r"[-._:/@ ]+", name.lower()):
        if numbered := VERSION.fullmatch(part):
            version.append(int(numbered[2]))
            part = numbered[1]
        if part:
            family.append(part)
    return "-".join(family), tuple(version)


def newest_first(models: Sequence[ModelInfo]) -> list[ModelInfo]:
    """The models by family, in the order in which the families begin, the newest version of each first."""
    families: dict[str, list[tuple[tuple[int, ...], ModelInfo]]] = {}
    for model in models:
        family, version = family_and_version(model.spec.model)
        families.setdefault(family, []).append((version, model))
    ordered = (sorted(group, key=lambda row: row[0], reverse=True) for group in families.values())
    return [model for group in ordered for _, model in group]


ALL = "all"
"""The key of the row that opens the list of all models."""
DEMO = "demo"
"""The note on models of the demo."""
ADD_KEY = "key"
"""The key of the row that opens the list of providers without a key."""
FEW = 5
MORE = 14
"""Other models than the one in use in the sidebar, on a screen of usual width and on a wide one."""


def few_rows(models: Sequence[ModelInfo], current: ModelSpec, width: int, *, most: int, without_key: int) -> list[Row]:
    """The model in use, some that the user is likely to want, and where the others are."""
    here = [model for model in models if same_model(model.spec, current)]
    others = [model for model in models if model.available and not same_model(model.spec, current)]
    demos = [model for model in (*here, *others) if model.note == DEMO][1:]  # one is enough to try the program
    shown = [*here[:1], *[model for model in others if model not in demos][:most]]
    rows = [_row(model, current, width, full=False, facts=False) for model in shown]
    if without_key:
        rows.append(Row(ADD_KEY, Content.styled(f"  + {count(without_key, 'provider')}: /key", "$quiet")))
    if len(shown) < len(models):
        rest = count(len(models) - len(shown), "model")
        rows.append(Row(ALL, Content.styled(f"  + {rest}: ctrl+t", "$quiet")))
    return rows


def _heading(title: str, note: str, width: int) -> Content:
    words = one_line(title, width)
    after = one_line(f"· {note}", width - len(words) - 1) if note else ""
    return Content.styled(words, "bold $primary") + Content.styled(f" {after}", "$quiet")


def _groups(models: Sequence[ModelInfo]) -> list[tuple[str, str, list[ModelInfo], bool]]:
    """Title, why none can be used, models, and whether their names say the provider."""
    favourites = [model for model in models if model.favourite]
    recent = [model for model in models if model.recent and not model.favourite]
    groups = [("Favourites", "", favourites, True), ("Recent", "", recent, True)]
    rest: dict[str, list[ModelInfo]] = {}
    for model in models:
        if not model.favourite and not model.recent:
            rest.setdefault(model.provider, []).append(model)
    for provider, group in rest.items():
        reasons = {model.reason for model in group if not model.available}
        shared = len(reasons) == 1 and not any(model.available for model in group)
        # The command that fixes the problem is shown with the selected row; the heading has room for the cause only.
        groups.append((provider, reasons.pop().partition(":")[0] if shared else "", newest_first(group), False))
    return [group for group in groups if group[2]]


def _row(
    model: ModelInfo, current: ModelSpec, width: int, *, full: bool, facts: bool = True, with_state: bool = False
) -> Row:
    here = same_model(model.spec, current)
    mark = Content.styled("● ", "$focus") if here else Content("  ")
    star = " ★" if model.favourite else ""
    columns = _columns(model, width, with_state=with_state) if facts else ""
    room = width - 2 - len(star) - len(columns)
    name = shown_name(model.spec) if full else model_title(model.spec.model)
    if full and len(name) > room:
        name = model_title(model.spec.model)
    name = one_line(name, room)
    style = "bold $foreground" if here else "$foreground" if model.available else "$quiet"
    gap = " " * (room - len(name)) if columns else ""
    line = mark + Content.styled(name, style) + Content.styled(star, "$warning")
    return Row(key_of(model.spec), line + Content.styled(gap + columns, "$quiet"))


def shown_name(spec: ModelSpec) -> str:
    """``provider/model``; a model that is called like its provider has one name."""
    return spec.model if spec.model == spec.provider else f"{spec.provider}/{model_title(spec.model)}"


WITH_WINDOW, WITH_PRICE, WITH_STATE = 30, 46, 58
"""Columns from which a row has the window, the price, and whether the model can be used."""


def _columns(model: ModelInfo, width: int, *, with_state: bool) -> str:
    window = tokens(model.window) if model.window else "?"
    columns = window.rjust(6) if width >= WITH_WINDOW else ""
    if width >= WITH_PRICE:
        columns += ("?" if model.price == (None, None) else price_text(model.price)).rjust(12)
    if width >= WITH_STATE:
        state = "ready" if model.available else model.reason.partition(":")[0]
        columns += "  " + one_line(state if with_state else "", 11).ljust(11)
    return columns


def price_text(price: tuple[float | None, float | None]) -> str:
    """``$5/$25``: dollars per million tokens of input and output."""
    into, out = price
    if into is None and out is None:
        return "price unknown"
    if not into and not out:
        return "free"
    return "/".join("?" if part is None else f"${part:g}" for part in price)


def whole_parts(facts: str, width: int) -> str:
    """As many of the facts, from the first, as fit whole; ``effort, always on`` is two."""
    while len(facts) > width and (cut := max(facts.rfind(" · "), facts.rfind(", "))) > 0:
        facts = facts[:cut]
    return one_line(facts, width)


def facts_of(model: ModelInfo) -> tuple[str, str]:
    """Facts about a model in two short lines; the second is the reason if the model is unavailable."""
    window = f"{tokens(model.window)} window" if model.window else "window unknown"
    facts = f"{window} · {price_text(model.price)}"  # how it thinks is said by its levels
    if not model.available:
        return facts, f"✗ {model.reason or 'not available'}"
    return facts, f"! {model.note}" if model.note and model.note != DEMO else ""


def page_of(model: ModelInfo, service: ModelService, width: int) -> Content:
    """All facts about a model, one below the other; long ones go on below themselves."""
    into, out = model.price
    rows = [
        ("provider", model.provider),
        ("window", f"{tokens(model.window)} {noun(model.window, 'token')}" if model.window else "unknown"),
        ("input", "unknown" if into is None else f"${into:g} per million tokens" if into else "free"),
        ("output", "unknown" if out is None else f"${out:g} per million tokens" if out else "free"),
        ("thinking", model.thinking),
    ]
    if model.note and model.note != DEMO:
        rows.append(("note", model.note))
    page = Content.styled(one_line(model_title(model.spec.model), 60), "bold $foreground")
    page = page + Content.styled(" ★" if model.favourite else "", "$warning")
    for label, value in rows:
        for part in wrap(one_line(value, LONGEST_FACT), max(10, width - LABEL)) or [""]:
            page = page + Content.styled(f"\n{label.ljust(LABEL)}", "$quiet") + Content.styled(part, "$foreground")
            label = ""
    if not model.available:
        return page + Content.styled(f"\n✗ {one_line(model.reason or 'not available', LONGEST_FACT)}", "$error")
    switching = service.cost_of_model(model.spec, brief=True)
    return page + Content.styled(f"\n{switching}" if switching else "", "$quiet")


LONGEST_FACT = 120
LABEL = 10
"""Columns of the names of facts."""


LEVEL_STEPS = {"left": -1, "right": 1}
"""Keys that change the level while the list has the focus."""
WIDE = 160
"""Columns of the screen from which the sidebar lists more models."""
WHOLE_COST = 42
"""Columns that the whole sentence on the prompt cache takes."""
FILL_AFTER_S = 0.15
"""Delay before the sidebar's list is filled, so that the first screen and first keys come first."""


class ModelPicker(Vertical):
    """Type to filter, arrows to move and to change the level, enter to choose, ``*`` to mark a favourite."""

    HELP = "Type to filter models, ↑↓ to move, ←→ to change the level, enter to use both, * to mark a favourite."

    @dataclass
    class Picked(Message):
        """Another model was chosen."""

        message: str
        with_level: bool = False
        """A level was chosen with it."""

    @dataclass
    class Selected(Message):
        """The bar is on this model; None if no model fits the filter."""

        spec: ModelSpec | None

    @dataclass
    class LevelStepped(Message):
        """The next level of the selected model is wanted, or the one before."""

        step: int

    @dataclass
    class AllWanted(Message):
        """The user wants to see all models."""

    @dataclass
    class KeysWanted(Message):
        """The user wants to see all providers and their keys."""

    @dataclass
    class Failed(Message):
        """The choice failed."""

        error: PonderError

    @dataclass
    class KeyMissing(Message):
        """The chosen model needs a key first."""

        model: ModelSpec

    def __init__(self, service: ModelService, spec: ModelSpec, *, few: bool = False) -> None:
        """``few`` shows a short list, and fills it after the screen is shown: it reads the files of all makers."""
        super().__init__(classes="model-picker -few" if few else "model-picker")
        self.filled = False
        """Whether the models were requested yet."""
        self._few = few
        self._service = service
        self._spec = spec
        self._models: dict[str, ModelInfo] = {}
        self.level: Asked | None = None
        """The level that the user chose for the selected model; None to use the model's own."""
        self._field = Field("filter models", handed_on=STEPS | LEVEL_STEPS.keys() | {"asterisk"}, id="model-filter")
        self._list = RowList(id="model-list", can_focus=False)
        self._facts = Static("", markup=False, id="model-facts")
        self._page: Static | None = None

    def compose(self) -> ComposeResult:
        """Filter, list, facts."""
        if not self._few:
            yield self._field
        yield self._list
        if self._page is None:
            yield self._facts

    def on_mount(self) -> None:
        """Fill the list now or later."""
        if self._few:
            self.set_timer(FILL_AFTER_S, self._fill)
        else:
            self._fill()

    def _fill(self) -> None:
        if not self.filled:
            self.refresh_rows(at=key_of(self._spec))

    def on_resize(self) -> None:
        """Cut names to the width."""
        if self.filled:
            self._draw_rows()

    def facts_page(self) -> Static:
        """A widget with all facts of the selected model, for a sheet with room beside the list."""
        self._page = Static("", markup=False, classes="model-page")
        return self._page

    def focus_filter(self) -> None:
        self._field.focus()

    def show(self, spec: ModelSpec) -> None:
        """Mark the model now in use."""
        if spec != self._spec:
            self._spec = spec
            if self.filled:
                self.refresh_rows(at=key_of(spec))

    def refresh_rows(self, at: str | None = None) -> None:
        """Request the models again."""
        at = key_of(self._spec) if at is None and not self.filled else at
        self.filled = True
        self._models = {key_of(model.spec): model for model in self._service.models()}
        self._draw_rows(at)

    def _draw_rows(self, at: str | None = None) -> None:
        models = list(self._models.values())
        width = max(10, self._list.size.width - 2) if self._few else self._list.room
        if self._few:
            most = MORE if self.app.size.width >= WIDE else FEW
            self._list.show_rows(
                few_rows(models, self._spec, width, most=most, without_key=self._service.providers_without_key()),
                at=key_of(self._spec),
            )
        else:
            self._list.show_rows(model_rows(models, self._field.value, self._spec, width), at=at)
        self._show_facts()

    def _show_facts(self) -> None:
        model = self._models.get(key_of(self._spec) if self._few else self._list.chosen or "")
        if not self._few:
            self.post_message(self.Selected(model.spec if model is not None else None))
        if model is None:
            none = "nothing fits" if self._models else "no models"
            (self._page or self._facts).update(Content.styled(f"{none}\n", "$quiet"))
            return
        if self._page is not None:
            self._page.update(page_of(model, self._service, self._page.size.width or LONGEST_FACT))
            return
        width = max(12, self._facts.size.width or self.size.width - 2)
        facts, trouble = facts_of(model)
        # What does not fit is left out from the end: the sheet with all models has every fact.
        facts, trouble = whole_parts(facts, width), one_line(trouble, width)
        style = "$error" if not model.available else "$warning"
        if not trouble and not same_model(model.spec, self._spec):
            trouble, style = (
                one_line(self._service.cost_of_model(model.spec, brief=width < WHOLE_COST), width),
                "$quiet",
            )
        self._facts.update(Content.styled(facts, "$quiet") + Content("\n") + Content.styled(trouble, style))

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self.refresh_rows(at="" if event.value else key_of(self._spec))

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        event.stop()
        self.pick(self._list.chosen, self.level)

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_facts()

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        key = key_of_row(event.option)
        if key == ALL:
            self.post_message(self.AllWanted())
        elif key == ADD_KEY:
            self.post_message(self.KeysWanted())
        else:
            self.pick(key)

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        event.stop()
        if event.key in LEVEL_STEPS:
            self.post_message(self.LevelStepped(LEVEL_STEPS[event.key]))
        elif event.key == "asterisk":
            self._mark(self._list.chosen)
        else:
            self._list.step(event.key)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Refresh the list: availability may have changed since the last focus."""
        self.refresh_rows()

    def pick(self, key: str | None, asked: Asked | None = None) -> None:
        """Choose a model by its key, with a level if one was chosen; ask for what it lacks first."""
        model = self._models.get(key or "")
        if model is None:
            return
        chosen = replace(model.spec, asked=asked)
        if not model.available and model.reason.startswith("no key"):
            self.post_message(self.KeyMissing(chosen))
        else:
            self.take(chosen)

    @work(exclusive=True, group="pick")
    async def take(self, spec: ModelSpec) -> None:
        """Choose this model, and its level if it has one."""
        try:
            message = await self._service.set_model(str(spec))
        except PonderError as error:
            self.post_message(self.Failed(error))
            return
        self._field.value = ""
        self.post_message(self.Picked(message, with_level=spec.asked is not None))

    @work(exclusive=True, group="favourite")
    async def _mark(self, key: str | None) -> None:
        model = self._models.get(key or "")
        if model is not None:
            await self._service.toggle_favourite(model.spec)
            self.refresh_rows(at=key)
