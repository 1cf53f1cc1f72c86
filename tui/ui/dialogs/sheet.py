"""The base of sheets, which open over the chat: title above, keys below; escape closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from tui.commands.keymap import key_words
from tui.domain.errors import PonderError
from tui.domain.events import Severity
from tui.domain.printable import one_line

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

R = TypeVar("R")

Keys = Sequence[tuple[str, str]]


def keys_content(keys: Keys, width: int, kept: str) -> Content:
    """As many keys with their labels as fit; ``kept`` is the key that is named in any case."""
    named = [(_key_name(key), word, key == kept) for key, word in keys]
    left = width + 2 - sum(_columns(name, word) for name, word, is_kept in named if is_kept)
    content, is_full = Content(""), False
    for name, word, is_kept in named:
        if not is_kept:
            left -= _columns(name, word)
            is_full = is_full or left < 0
        if is_kept or not is_full:
            content = content + Content.styled(name, "bold $foreground") + Content.styled(f" {word}  ", "$quiet")
    return content


def _key_name(key: str) -> str:
    parts = [key_words(part) for part in key.split(" ")]
    return ("" if all(len(part) == 1 for part in parts) else " ").join(parts)


def _columns(name: str, word: str) -> int:
    return len(name) + len(word) + 3


LEAST_ROWS = 5
"""Rows that a sheet has for its content, however little that is."""
FITTING_S = 0.1
"""How long a sheet waits for what it shows before it is painted."""
STYLES = Path(__file__).parents[1] / "styles"


class SheetBox(Vertical):
    """The frame of a sheet; says when it has another size."""

    def __init__(self, resized: Callable[[], None], classes: str) -> None:
        super().__init__(classes=classes)
        self._resized = resized

    def on_resize(self) -> None:
        """Pass it on."""
        self._resized()


class Sheet(ModalScreen[R], Generic[R]):
    """A modal screen; subclasses define ``inside`` and ``keys``."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "close", show=False)]
    CSS_PATH: ClassVar = [str(STYLES / name) for name in ("dialogs.tcss", "screens.tcss")]
    """Loaded with the first sheet: the chat needs none of them."""
    TITLE_WORDS: ClassVar[str] = ""
    KEYS: ClassVar[Keys] = ()
    ESCAPE: ClassVar[str] = "close"
    """The label of escape."""
    ESCAPE_KEYS: ClassVar[str] = "esc"
    """How escape is pressed for that: twice where once is not enough."""
    OPENS_OVER: ClassVar[frozenset[str]] = frozenset()
    """Commands whose keys work while the sheet is open."""
    LAST_KEYS: ClassVar[Keys] = ()
    """Named after escape, so that a narrow screen cuts them first."""
    SHAPE: ClassVar[str] = "-wide"
    """The sheet's class in the style sheet: -wide, -middle, -small or -page."""
    KEYS_IN_FOOTER: ClassVar[bool] = False
    """The keys are on the last row of the screen, instead of those of the chat, which the sheet leaves in view."""
    FITS: ClassVar[bool] = False
    """Whether ``fit`` is called with what the sheet shows first."""

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.head = Static("", markup=False, classes="sheet-title")
        self._note = Static("", markup=False, classes="sheet-note")
        self._foot = Static("", markup=False, classes="sheet-keys")
        self._most_rows = 0
        self._most_height = 0
        self._watched: set[Widget] = set()
        """Widgets that are fitted again when what they hold has grown."""
        self.is_fitting = self.FITS
        """It is not painted yet, because it would be seen to shrink."""
        self._keys: Keys = (*self.KEYS, (self.ESCAPE_KEYS, self.ESCAPE), *self.LAST_KEYS)

    @property
    def ponder(self) -> PonderApp:
        return cast("PonderApp", self.app)

    def compose(self) -> ComposeResult:
        """Title, content, keys."""
        plain = bool(self.ponder.services.settings.layers().value("ui.plain"))
        with SheetBox(self._box_resized, f"sheet {self.SHAPE}{' -plain' if plain else ''}"):
            with Horizontal(classes="sheet-head"):
                yield self.head
                yield self._note
            yield from self.inside()
            if not self.KEYS_IN_FOOTER:
                yield self._foot
        if self.KEYS_IN_FOOTER:
            self._foot.add_class("-footer")
            yield self._foot

    def begin_keys_at(self, column: int) -> None:
        """Let the keys in the footer begin with the conversation."""
        self._foot.styles.padding = (0, 1, 0, 1 + column)

    def inside(self) -> Sequence[Widget]:
        """The widgets of the sheet."""
        return ()

    def on_mount(self) -> None:
        """Set the title. Textual calls this after a subclass's own ``on_mount``, not instead of it."""
        if self.TITLE_WORDS:
            self.retitle(self.TITLE_WORDS)
        if self.is_fitting:
            self.set_timer(FITTING_S, self._paint)

    def retitle(self, text: str) -> None:
        """Change the title."""
        self.head.update(Content.styled(one_line(text, 80), "bold $primary"))

    def note(self, text: str, style: str = "$quiet") -> None:
        """Show a note at the right of the title."""
        self._note.update(Content.styled(one_line(text, 60), style))

    @property
    def shown_keys(self) -> Keys:
        """The sheet's own keys as they are now, without escape."""
        return self._keys[: len(self._keys) - 1 - len(self.LAST_KEYS)]

    def show_keys(self, keys: Keys | None = None, escape: str | None = None) -> None:
        """Show these keys, or fit the current ones to the width."""
        if keys is not None:
            self._keys = (*keys, (self.ESCAPE_KEYS, escape or self.ESCAPE), *self.LAST_KEYS)
        width = self._foot.size.width or self.app.size.width
        self._foot.update(keys_content(self._keys, width, self.ESCAPE_KEYS))

    def on_resize(self, event: events.Resize) -> None:
        """Show as many keys as fit."""
        self.call_after_refresh(self.show_keys)

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def fit(self, lines: Widget) -> None:
        """Make the sheet no higher than *lines* needs, where the style sheet gives it more; then it only grows."""
        if lines not in self._watched:
            self._watched.add(lines)
            self.watch(lines, "virtual_size", lambda: self._fit_again(lines), init=False)
        box = lines.parent
        while isinstance(box, Widget) and not box.has_class("sheet"):
            box = box.parent
        if not isinstance(box, Widget) or not lines.size.height or not box.size.height:
            return
        around = box.outer_size.height - lines.size.height
        self._most_rows = max(self._most_rows, lines.virtual_size.height, LEAST_ROWS)
        self._most_height = min(around + self._most_rows, self.app.size.height)
        box.styles.max_height = self._most_height
        self._paint_fitted(box.outer_size.height)  # or else when the layout makes it lower

    def _fit_again(self, lines: Widget) -> None:
        if lines.is_attached:
            self.call_after_refresh(self.fit, lines)

    def _box_resized(self) -> None:
        self.show_keys()  # a sheet may get another width while the screen keeps its own
        self._paint_fitted(self.query_one(SheetBox).outer_size.height)

    def _paint_fitted(self, height: int) -> None:
        if height <= self._most_height:
            self._paint()

    def _paint(self) -> None:
        if self.is_fitting:
            self.is_fitting = False
            self.refresh()

    def say(self, text: str) -> None:
        """Show a toast."""
        self.ponder.say(text)

    def show_error(self, error: PonderError) -> None:
        """Show an error."""
        self.ponder.say(error.message, Severity.ERROR, error.advice)
