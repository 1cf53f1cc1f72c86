"""The key dialog: asks for a provider's key, masked, and whether to store it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.domain.errors import PonderError
from tui.domain.listing import KeyCheck
from tui.domain.printable import one_line, printable
from tui.ui.chat.toasts import toast_text
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.input.field import Field


class KeyDialog(Sheet[bool]):
    """Gives whether a key was saved. The key leaves the field only for the services."""

    SHAPE: ClassVar[str] = "-small"
    KEYS: ClassVar[Keys] = (("enter", "use it"), ("tab", "keep or not"))

    def __init__(self, provider: str, hint: str) -> None:
        super().__init__()
        self._provider = provider
        self._hint = hint
        self._keep = True
        self._doubted = ""
        """A key that the provider rejected; entering it a second time saves it anyway."""

    def inside(self) -> Sequence[Widget]:
        """Hint, field, and whether to store the key."""
        self._field = Field("paste the key here", password=True, handed_on=frozenset({"tab", "shift+tab"}))
        self._kept = Static("", markup=False)
        hint = Static(Content.styled(printable(self._hint), "$quiet"), markup=False)
        self._wrong = Static("", markup=False)
        return (hint, self._field, self._kept, self._wrong)

    def on_mount(self) -> None:
        self.retitle(f"Key for {one_line(self._provider, 40)}")
        self._draw()
        self._field.focus()

    def _draw(self) -> None:
        mark = "[x]" if self._keep else "[ ]"
        text = "keep it on this machine" if self._keep else "keep it on this machine (no: for this run only)"
        self._kept.update(Content.styled(f"{mark} {text}", "$foreground"))

    @on(Field.Pressed)
    def _pressed(self) -> None:
        self._keep = not self._keep
        self._draw()

    def on_click(self) -> None:
        """A click on the line toggles it."""
        if self._kept.is_mouse_over:
            self._pressed()

    @on(Input.Submitted)
    def _entered(self) -> None:
        if self._field.value.strip():
            self._check(self._field.value.strip())

    @on(Input.Changed)
    def _changed(self) -> None:
        self._wrong.update("")

    @work(exclusive=True)
    async def _check(self, key: str) -> None:
        """Check the key with the provider; a rejected key is used only if it is entered again."""
        keys = self.ponder.services.keys
        self._wrong.update(Content.styled("checking the key…", "$quiet"))
        try:
            checked = (
                KeyCheck(works=True, message="") if key == self._doubted else await keys.check_key(self._provider, key)
            )
            if not checked.works:
                self._doubted = key
                self._wrong.update(
                    Content.styled(f"✗ {toast_text(checked.message)}\n", "$error")
                    + Content.styled(
                        "Not saved. Paste another key, or press enter again to use this one.", "$foreground"
                    )
                )
                return
            said = await keys.save_key(self._provider, key, keep=self._keep)
        except PonderError as error:
            self._wrong.update(Content.styled(f"✗ {toast_text(error.message)}", "$error"))
            return
        self._field.value = ""
        self.ponder.chat.refresh_models()
        self.say(f"{checked.message} {said}".strip())
        self.dismiss(result=True)
