"""The text area the user writes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from tui.domain.printable import printable
from tui.ui.input.attachment_chips import AttachmentChips
from tui.ui.input.prompt_history import PromptHistory

MAX_ROWS = 10


def shown(text: str) -> str:
    """Words as they can be edited: tabs are the user's own and stay; all else that a terminal obeys becomes visible."""
    return "\t".join(printable(part) for part in text.split("\t"))


class Composer(TextArea):
    """Enter sends, ctrl+j breaks the line; arrows at the edges leaf through history; long pastes become chips."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter,alt+enter", "new_line", "new line", show=False, priority=True),
        Binding("ctrl+d", "delete_or_leave", "delete, or quit when empty", show=False),
    ]

    @dataclass
    class Sent(Message):
        """The user wants this sent."""

        text: str

    @dataclass
    class Typed(Message):
        """The draft changed."""

        text: str

    @dataclass
    class Pressed(Message):
        """A key that the popup or the dock handles: its name, or ``help``, ``end``, ``take_back``, ``resume``."""

        key: str

    @dataclass
    class Trimmed(Message):
        """A paste was too long and was cut."""

        kept: int

    def __init__(self, past: PromptHistory, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder="Write a message, / for commands, @ for files",
            id=id,
            compact=True,
        )
        self.past = past
        self.chips = AttachmentChips()
        self.popup_open = False
        self.queued = 0
        """Queued prompts: in an empty composer ↑ takes the last one back, and enter sends a held queue."""
        self.on_draft: Callable[[], None] | None = None
        """Called in the same step in which the draft changes. ``TextArea.Changed`` arrives only after the keys that are
        already queued, so it would miss a draft that is emptied and written anew."""

    def put(self, text: str) -> None:
        """Replace the draft; the cursor goes to its end."""
        self.load_text(shown(text))
        self.move_cursor(self.document.end)

    def recall(self, prompt: str) -> None:
        """Put a prompt of the past here; a long paste in it is a chip again."""
        self.put(self.chips.recalled(prompt))

    def take(self) -> str:
        """Empty the composer and remember what stood in it."""
        text = self.text
        self.past.remember(self.chips.remember(text))
        self.load_text("")
        return text

    def load_text(self, text: str) -> None:
        """Replace the draft."""
        super().load_text(text)
        self._note_draft()

    def edit(self, edit: Edit) -> EditResult:
        """Change the draft."""
        result = super().edit(edit)
        self._note_draft()
        return result

    def undo(self) -> None:
        """Undo the last change."""
        super().undo()
        self._note_draft()

    def redo(self) -> None:
        """Redo what was undone."""
        super().redo()
        self._note_draft()

    def _note_draft(self) -> None:
        if self.on_draft is not None:
            self.on_draft()

    def action_new_line(self) -> None:
        """Break the line."""
        self.insert("\n")

    async def action_delete_or_leave(self) -> None:
        """What ctrl+d means in a shell: delete the next character, or quit if there is no text."""
        if self.text:
            self.action_delete_right()
        else:
            await self.run_action("app.command('program.quit')")

    async def _on_key(self, event: events.Key) -> None:
        if self._takes(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    def _takes(self, key: str) -> bool:
        pressed = self._meant_for_others(key)
        if pressed:
            self.post_message(self.Pressed(pressed))
            return True
        match key:
            case "enter":
                if self.text.strip():
                    self.post_message(self.Sent(self.text))
                return True
            case "up":
                return self._at_first_row() and self._leaf(self.past.earlier(self.text))
            case "down":
                return self._at_last_row() and self._leaf(self.past.later())
            case _:
                return False

    def _meant_for_others(self, key: str) -> str:
        """What the popup or the dock does with the key; "" for a key of the composer itself."""
        if self.popup_open and key in ("up", "down", "tab", "enter", "escape"):
            return key
        if self.text.strip():
            return "end" if key == "end" and self.cursor_location == self.document.end else ""
        keys = {"end": "end", "question_mark": "" if self.text else "help"}
        if self.queued:
            keys |= {"enter": "resume", "up": "take_back"}
        return keys.get(key, "")

    def _at_first_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    def _at_last_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == self.wrapped_document.height - 1

    def _leaf(self, text: str | None) -> bool:
        if text is None:
            return False
        if self.past.at_draft:
            self.put(text)  # as it was left: its chips are still there
        else:
            self.recall(text)
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        word, cut = self.chips.paste(shown(text))
        self.insert(word)
        if cut:
            self.post_message(self.Trimmed(len(event.text)))

    def fit_height(self) -> int:
        """Make it as tall as its wrapped text; the rows."""
        rows = max(1, min(MAX_ROWS, self.wrapped_document.height))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        return rows

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Grow with the text, and tell."""
        self.fit_height()
        self.post_message(self.Typed(self.text))
