"""The model picker: a filter, the list, and what is known of the row the bar is on."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static

from tui.commands.context import ModelDesk, ModelInfo
from tui.domain.errors import PonderError
from tui.domain.printable import one_line
from tui.domain.thinking import ModelSpec
from tui.ui.input.field import Field
from tui.ui.panels.model_rows import facts_of, key_of, model_rows
from tui.ui.panels.row_list import STEPS, RowList

FILL_AFTER_S = 0.15
"""When the sidebar's list is filled: after the first screen and the first letters."""


class ModelPicker(Vertical):
    """Type to filter, arrows to move, enter to take, ``*`` to mark a favourite."""

    HELP = "Type to filter models, ↑↓ to move, enter to take one, * to mark a favourite, tab for thinking."

    @dataclass
    class Picked(Message):
        """Another model was taken."""

        said: str

    @dataclass
    class Failed(Message):
        """It could not be."""

        error: PonderError

    @dataclass
    class KeyMissing(Message):
        """The model that was taken needs a key first."""

        provider: str
        model: str

    def __init__(self, desk: ModelDesk, spec: ModelSpec, *, later: bool = False) -> None:
        """With ``later`` the list is filled once the screen stands: it reads all makers' files."""
        super().__init__(classes="model-picker")
        self.filled = False
        """Whether the models were asked for yet."""
        self._later = later
        self._desk = desk
        self._spec = spec
        self._models: dict[str, ModelInfo] = {}
        self._field = Field("filter…", handed_on=STEPS | {"asterisk"}, id="model-filter")
        self._list = RowList(id="model-list", can_focus=False)
        self._facts = Static("", markup=False, id="model-facts")

    def compose(self) -> ComposeResult:
        """Filter over list over facts."""
        yield self._field
        yield self._list
        yield self._facts

    def on_mount(self) -> None:
        """Draw, at once or later."""
        if self._later:
            self.set_timer(FILL_AFTER_S, self._fill)
        else:
            self._fill()

    def _fill(self) -> None:
        if not self.filled:
            self.refresh_rows(at=key_of(self._spec))

    def on_resize(self) -> None:
        """Names are cut to the width."""
        if self.filled:
            self._draw_rows()

    def focus_filter(self) -> None:
        """Here one begins."""
        self._field.focus()

    def show(self, spec: ModelSpec) -> None:
        """Mark the model that is in use now."""
        if spec != self._spec:
            self._spec = spec
            if self.filled:
                self.refresh_rows(at=key_of(spec))

    def refresh_rows(self, at: str | None = None) -> None:
        """Ask for the models again."""
        at = key_of(self._spec) if at is None and not self.filled else at
        self.filled = True
        self._models = {key_of(model.spec): model for model in self._desk.models()}
        self._draw_rows(at)

    def _draw_rows(self, at: str | None = None) -> None:
        models = list(self._models.values())
        width = max(10, self._list.size.width - 2)
        self._list.show_rows(model_rows(models, self._field.value, self._spec, width), at=at)
        self._show_facts()

    def _show_facts(self) -> None:
        model = self._models.get(self._list.chosen or "")
        if model is None:
            none = "nothing fits" if self._models else "no models"
            self._facts.update(Content.styled(f"{none}\n", "$muted-text"))
            return
        width = max(12, self.size.width - 2)
        facts, trouble = (one_line(line, width) for line in facts_of(model))
        style = "$error" if not model.available else "$warning"
        self._facts.update(Content.styled(facts, "$muted-text") + Content("\n") + Content.styled(trouble, style))

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self.refresh_rows(at="" if event.value else key_of(self._spec))

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        event.stop()
        self._pick(self._list.chosen)

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_facts()

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._pick(self._list.key_at(event.option_index))

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        event.stop()
        if event.key == "asterisk":
            self._mark(self._list.chosen)
        else:
            self._list.step(event.key)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """What was found may be more than a moment ago."""
        self.refresh_rows()

    def _pick(self, key: str | None) -> None:
        model = self._models.get(key or "")
        if model is None:
            return
        if not model.available and model.reason.startswith("no key"):
            self.post_message(self.KeyMissing(model.spec.provider, key_of(model.spec)))
        else:
            self.take(key_of(model.spec))

    @work(exclusive=True, group="pick")
    async def take(self, name: str) -> None:
        """Ask this model from now on."""
        try:
            said = await self._desk.set_model(name)
        except PonderError as error:
            self.post_message(self.Failed(error))
            return
        self._field.value = ""
        self.post_message(self.Picked(said))

    @work(exclusive=True, group="favourite")
    async def _mark(self, key: str | None) -> None:
        model = self._models.get(key or "")
        if model is not None:
            await self._desk.toggle_favourite(model.spec)
            self.refresh_rows(at=key)
