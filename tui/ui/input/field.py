"""A one-line input: pastes are made printable; arrows and other keys can be passed to the list beside it."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import Input

from tui.domain.printable import one_line, printable

LONGEST = 2_000


class Field(Input):
    """One line. ``handed_on`` keys are sent as ``Pressed`` instead of typed."""

    @dataclass
    class Pressed(Message):
        """A key for the widget beside the field."""

        field: Field
        key: str

    def __init__(
        self,
        placeholder: str = "",
        *,
        value: str = "",
        handed_on: frozenset[str] = frozenset(),
        password: bool = False,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(
            value=one_line(value, LONGEST),
            placeholder=placeholder,
            password=password,
            max_length=LONGEST,
            select_on_focus=False,
            compact=True,
            id=id,
        )
        self._handed_on = handed_on

    def on_mount(self) -> None:
        """The cursor blinks only where things may move."""
        self.cursor_blink = self.app.animation_level != "none"

    def hand_on(self, keys: frozenset[str]) -> None:
        """Send these keys as ``Pressed`` instead of typing them."""
        self._handed_on = keys

    def validate_value(self, value: str) -> str:
        """Make control characters visible, whatever the text's source: they are drawn and never executed."""
        return printable(value, keep_newlines=False)

    async def on_key(self, event: events.Key) -> None:
        if event.key in self._handed_on:
            event.stop()
            event.prevent_default()
            self.post_message(self.Pressed(self, event.key))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(one_line(event.text, LONGEST))
