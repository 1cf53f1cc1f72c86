"""The thinking picker: the model's levels, what each sends, or a budget typed as a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui.catalog.model_spec import parse_asked, require_asked
from tui.domain.cost import money
from tui.domain.errors import PonderError
from tui.domain.listing import LevelInfo
from tui.domain.printable import one_line
from tui.domain.thinking import Asked, ModelSpec, ThinkingPlan
from tui.ui.panels.model_picker import same_model
from tui.ui.panels.row_list import has_reverse_bars

if TYPE_CHECKING:
    from tui.app.models import ModelService

LONGEST_BUDGET = 12
BUDGET_HINT = "type 16k for a budget"
WHOLE_COST = 42
"""Columns that the whole sentence on the prompt cache takes."""
WIDE = 56
"""Columns from which the cost of a turn is beside the native value; below it has a row of its own."""
LOW_ROWS = 3
"""The height on a low screen, where a hint goes before the cost of a turn."""
ROWS_WITHOUT_COST = 2
ROWS_OF_WARNING = 4
"""Most rows of a warning where it may take what it needs."""
BAR = "$block-cursor-foreground on $block-cursor-background bold"
BAR_WITHOUT_COLOURS = "bold reverse"


class ThinkingPicker(Static, can_focus=True):
    """Arrows move, enter chooses; digits start a budget (``16k``)."""

    HELP = "←→ choose a level, enter selects it; type a number (16k) for a budget."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "step(-1)", "less", show=False),
        Binding("right,down", "step(1)", "more", show=False),
        Binding("enter", "take", "take", show=False),
    ]

    @dataclass
    class Picked(Message):
        """Another level was chosen."""

        message: str

    @dataclass
    class Failed(Message):
        """The choice failed."""

        error: PonderError

    @dataclass
    class Chosen(Message):
        """A level of another model was chosen."""

        model: ModelSpec

    def __init__(self, service: ModelService, spec: ModelSpec, plan: ThinkingPlan) -> None:
        super().__init__("", markup=False, classes="thinking-picker")
        self._service = service
        self._spec = spec
        self._plan = plan
        self._other: ModelSpec | None = None
        """Another model than the one in use, whose levels are shown."""
        self._rows: Sequence[LevelInfo] = ()
        self._at = 0
        self._has_moved = False
        """The user has moved the bar since the picker has the focus."""
        self._typed = ""
        self._height = 0
        self._width = 0
        """0 until the first layout."""

    def on_mount(self) -> None:
        self._load()

    def on_resize(self) -> None:
        self.lay()

    def lay(self) -> None:
        """Cut what is sent to the width."""
        if (self._width, self._height) != self.size:
            self._width, self._height = self.size
            self._draw()

    def show(self, spec: ModelSpec, plan: ThinkingPlan) -> None:
        """Show a model, its levels, and what is sent for each."""
        if spec != self._spec or plan != self._plan:
            self._spec, self._plan = spec, plan
            if self._other is not None and same_model(self._other, spec):
                self._other = None
            self._load()

    def show_levels_of(self, spec: ModelSpec) -> None:
        """Show the levels of a model that is not chosen yet."""
        other = None if same_model(spec, self._spec) else spec
        if other != self._other:
            self._other, self._has_moved, self._typed = other, False, ""
            self._load()

    def _load(self) -> None:
        """Read the levels. News of the model do not take the bar from the level to which the user has moved it."""
        chosen = self._rows[self._at].asked if self._has_moved and self._at < len(self._rows) else None
        self._rows = self._service.levels(self._other)
        places = {row.asked: index for index, row in enumerate(self._rows)}
        current = next((index for index, row in enumerate(self._rows) if row.current), 0)
        self._at = current if chosen is None else places.get(chosen, current)
        self._draw()

    def _draw(self) -> None:
        if not self._width:
            return
        width = max(14, self._width)
        cost = self._cost_of_turn()
        style = "$quiet" if self._row() is None else "$foreground"
        native = Content.styled(one_line(self._native(), width), style)
        hint = self._hint(width, 1)
        lines = [self._levels(), native]
        if cost and width >= WIDE:
            lines[1] = native + Content.styled(f" · {cost}", "$quiet")
        elif cost and (self._is_as_high_as_needed or self._height > LOW_ROWS or not hint.plain):
            lines.append(Content.styled(cost, "$quiet"))
        rows = ROWS_OF_WARNING if self._is_as_high_as_needed else 1 if len(lines) > ROWS_WITHOUT_COST else 2
        last = self._hint(width, rows) if rows > 1 else hint
        self.update(Content("\n").join([*lines, last] if last.plain else lines))

    @property
    def _is_as_high_as_needed(self) -> bool:
        return self.styles.height is not None and self.styles.height.is_auto

    def redraw(self) -> None:
        """Draw again: what a turn costs has changed."""
        self._draw()

    def _cost_of_turn(self) -> str:
        """``≈ $0.31 a turn``, at the usual length; "" if unknown."""
        row = self._row()
        dollars = self._service.cost_of_turn(row, self._other) if row is not None else None
        return "" if dollars is None else f"≈ {money(dollars)} a turn"

    def _levels(self) -> Content:
        if self._typed:
            return Content.styled(f"budget {self._typed}", "bold $foreground") + Content.styled("▏", "$focus")
        if not self._rows:
            return Content.styled("no levels", "$quiet")
        line = Content("")
        for index, row in enumerate(self._rows):
            label = one_line(row.label, 12)
            has_bar = self.has_focus or self._has_moved
            bar = has_bar and index == self._at
            shown = f"‹{label}›" if bar or (row.current and not has_bar) else f" {label} "
            style = BAR_WITHOUT_COLOURS if bar and has_reverse_bars(self.app) else BAR if bar else ""
            line = line + Content.styled(shown, style or ("bold $foreground" if row.current else "$quiet"))
        return line

    def _native(self) -> str:
        row = self._row()
        if row is None:
            return "not a number of tokens" if self._typed else ""
        return f"→ {row.native}"

    def _hint(self, width: int, rows: int) -> Content:
        row = self._row()
        in_use = row is not None and row.current and self._other is None
        warnings = self._plan.warnings if in_use else ()
        warning = row.warning if row is not None and row.warning else warnings[0] if warnings else ""
        if warning:
            return Content.styled(one_line(f"! {warning}".replace("`", ""), width * rows), "$warning")
        if row is not None and not row.current and self._other is None:
            cost = self._service.cost_of_level(row, brief=width < WHOLE_COST)
            if cost:
                return Content.styled(one_line(cost, width * rows), "$quiet")
        hint = "enter selects it" if self._typed else BUDGET_HINT if self.has_focus else ""
        return Content.styled(hint, "$quiet")

    def _row(self) -> LevelInfo | None:
        if self._typed:
            asked = parse_asked(self._typed)
            return None if asked is None else self._service.level(asked, self._other)
        return self._rows[self._at] if self._at < len(self._rows) else None

    def watch_has_focus(self, _has_focus: bool) -> None:  # noqa: FBT001 - Textual's
        """Discard a half-typed budget when the focus goes. The levels are those of a model just chosen."""
        super().watch_has_focus(_has_focus)
        if not _has_focus:
            self._has_moved, self._typed = False, ""
        self._load()

    def on_key(self, event: events.Key) -> None:
        """Digits start a budget."""
        if event.key == "backspace" and self._typed:
            self._typed = self._typed[:-1]
        elif event.character and (event.character.isdigit() or (self._typed and event.character in "kKmM_,.")):
            self._typed = (self._typed + event.character)[:LONGEST_BUDGET]
        elif event.key == "escape" and self._typed:
            self._typed = ""
        else:
            return
        event.stop()
        event.prevent_default()
        self._draw()

    @property
    def chosen_level(self) -> Asked | None:
        """The level at the bar, once the user has moved it."""
        row = self._row()
        return row.asked if self._has_moved and row is not None else None

    def action_step(self, step: int) -> None:
        """Move the bar to the next level."""
        if self._rows and not self._typed:
            self._at = min(max(self._at + step, 0), len(self._rows) - 1)
            self._has_moved = True
            self._draw()

    def action_take(self) -> None:
        """Choose the selected level or the typed budget."""
        if not self._typed:
            self._choose(self._row())
            return
        try:
            asked = require_asked(self._typed)
            if self._other is not None:
                self.post_message(self.Chosen(replace(self._other, asked=asked)))
                return
            self._set(asked)
        except PonderError as error:
            self.post_message(self.Failed(error))

    def _choose(self, row: LevelInfo | None) -> None:
        """Choose a level. The level in force is not chosen again, whether a choice or a setting set it."""
        if row is not None and self._other is not None:
            self.post_message(self.Chosen(replace(self._other, asked=row.asked)))
        elif row is not None and row.current:
            self.post_message(self.Picked(self._plan.summary))
        elif row is not None:
            self._set(row.asked)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked level."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y != 0:
            return
        start = 0
        for index, row in enumerate(self._rows):
            end = start + len(one_line(row.label, 12)) + 2
            if start <= offset.x < end:
                self._at = index
                self._choose(row)
                return
            start = end

    @work(exclusive=True, group="level")
    async def _set(self, asked: Asked) -> None:
        try:
            message = await self._service.set_level(asked)
        except PonderError as error:
            self.post_message(self.Failed(error))
            return
        self._typed = ""
        self.post_message(self.Picked(message))
