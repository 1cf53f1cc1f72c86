"""The text area for prompts, with the prompt history under its arrow keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock
from tui.domain.events import RetryScheduled
from tui.domain.format_numbers import count
from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import one_line, printable
from tui.ui.input.repeated_keys import RepeatedKeys

if TYPE_CHECKING:
    from tui.ui.input.vim_keys import VimKeys

TOO_SHORT_TO_KEEP = ("", "/", "@")
"""Drafts too short to keep."""


class PromptHistory:
    """Earlier prompts, newest last, and the draft after them."""

    def __init__(self, prompts: Sequence[str] = ()) -> None:
        self._prompts = list(prompts)
        self._at: int | None = None
        self._draft = ""

    @property
    def prompts(self) -> Sequence[str]:
        return self._prompts

    @property
    def at_draft(self) -> bool:
        """Whether the draft itself is shown."""
        return self._at is None

    def remember(self, prompt: str) -> None:
        """Add a sent prompt or a cleared draft as the newest."""
        if prompt.strip() not in TOO_SHORT_TO_KEEP and (not self._prompts or self._prompts[-1] != prompt):
            self._prompts.append(prompt)
        self._at = None

    def earlier(self, shown: str) -> str | None:
        """The prompt before the one shown; None at the oldest."""
        if self._at is None:
            self._draft = shown
            self._at = len(self._prompts)
        if self._at == 0:
            return None
        self._at -= 1
        return self._prompts[self._at]

    def later(self) -> str | None:
        """The next prompt, after the newest the draft; None if the draft is already shown."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._prompts):
            self._at = None
            return self._draft
        return self._prompts[self._at]


PASTE_LINES = 12
PASTE_CHARACTERS = 1_200
"""A paste longer than either becomes a chip."""
MAX_PASTE = 1_000_000
"""Most characters of a paste that are accepted."""
MAX_IN_PLACE = 50_000
"""Most characters of an edited draft that are shown as text."""

MOST_SENT = 100
"""Most drafts whose chips are remembered."""

CHIP = lazy_regex(r"⟦[^⟦⟧\n]{1,120}⟧")


T = TypeVar("T")


def _is_long(text: str) -> bool:
    return text.count("\n") >= PASTE_LINES or len(text) > PASTE_CHARACTERS


def _of_chip(name: str, longest: int) -> str:
    """A name that can be a part of a placeholder."""
    return one_line(name.replace("⟦", "(").replace("⟧", ")"), longest)


class AttachmentChips:
    """The chips of one draft: placeholders for long pastes, files and images."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}
        self._sent: dict[str, tuple[str, dict[str, str], dict[str, Block]]] = {}
        """Sent drafts by their text in history: the composer's text, and the contents of its chips."""

    def paste(self, text: str, name: str = "pasted") -> tuple[str, bool]:
        """The text to insert for a paste, and whether the paste was cut."""
        cut = len(text) > MAX_PASTE
        text = text[:MAX_PASTE]
        if not _is_long(text):
            return text, cut
        return self._fold(text, name), cut

    def attach(self, name: str, block: Block) -> str:
        """Register a file or image; returns its placeholder."""
        word = self._free(_of_chip(name, 100))
        self._blocks[word] = block
        return word

    def blocks(self, text: str) -> tuple[Block, ...]:
        """The draft as sent: text chips expanded, images as blocks of their own."""
        images: list[Block] = []
        pieces: list[str] = []
        at = 0
        for found in CHIP.finditer(text):
            word = found.group()
            pieces.append(text[at : found.start()])
            at = found.end()
            if word in self._texts:
                pieces.append(self._texts[word])
            elif (block := self._blocks.get(word)) is not None:
                if isinstance(block, ImageBlock | DocumentBlock):
                    images.append(block)
                elif isinstance(block, TextBlock):
                    pieces.append(block.text)
            else:
                pieces.append(word)
        pieces.append(text[at:])
        rest = "".join(pieces).strip()
        return (*images, TextBlock(text=rest)) if rest else tuple(images)

    def written_out(self, text: str) -> str:
        """The draft with text chips expanded, for history and the meter."""
        return CHIP.sub(lambda found: self._texts.get(found.group(), found.group()), text)

    def remember(self, draft: str) -> str:
        """Remember the chips of a draft that leaves the composer; returns the text for history."""
        written = self.written_out(draft)
        used = set(CHIP.findall(draft))
        texts = {word: text for word, text in self._texts.items() if word in used}
        blocks = {word: block for word, block in self._blocks.items() if word in used}
        if texts or blocks:
            self._sent[written.strip()] = (draft, texts, blocks)
            while len(self._sent) > MOST_SENT:
                del self._sent[next(iter(self._sent))]
        return written

    def recalled(self, written: str) -> str:
        """The composer text for a prompt from history; prompts of an earlier run have no chips, only a length."""
        kept = self._sent.get(written.strip())
        if kept is None:
            return self._fold(written) if _is_long(written) else written
        draft, texts, blocks = kept
        chips = {word: self._reinsert(word, texts[word], self._texts) for word in texts}
        chips |= {word: self._reinsert(word, blocks[word], self._blocks) for word in blocks}
        return CHIP.sub(lambda found: chips.get(found.group(), found.group()), draft)

    def _reinsert(self, word: str, content: T, among: dict[str, T]) -> str:
        """A placeholder for a recalled chip, renumbered if the draft already has one of that name."""
        if among.get(word) is not content:
            word = self._free(word.strip("⟦⟧"))
            among[word] = content
        return word

    def _fold(self, text: str, name: str = "pasted") -> str:
        lines = text.count("\n") + 1
        length = count(lines, "line") if lines > 1 else count(len(text), "character")
        word = self._free(f"{_of_chip(name, 60)} {length}")
        self._texts[word] = text
        return word

    def clear(self) -> None:
        """Forget the chips."""
        self._texts.clear()
        self._blocks.clear()

    def _free(self, name: str) -> str:
        word = f"⟦{name}⟧"
        number = 2
        while word in self._texts or word in self._blocks:
            word = f"⟦{name} #{number}⟧"
            number += 1
        return word


MAX_ROWS = 10
HINT = "Write a message · / commands · @ files · ? help"
HINT_ASKED = "Answer above · typing begins a message for later"
BLINKS_S = 10.0
"""How long the cursor blinks after the last key."""
WORD_S = 0.6
"""A letter that is also a key does what it does as a key after this time, unless another letter makes both a word."""


def editable_text(text: str) -> str:
    """Text that can be edited: tabs are kept, other control characters are made visible."""
    return "\t".join(printable(part) for part in text.split("\t"))


class Composer(RepeatedKeys):
    """Enter sends, ctrl+j breaks the line; arrows at the edges browse history; long pastes become chips."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter,alt+enter", "new_line", "new line", show=False, priority=True),
        Binding("ctrl+d", "delete_or_leave", "delete, or quit when empty", show=False),
    ]

    class Sent(Message):
        """The user sends the draft."""

        def __init__(self, text: str, *, after_step: bool = False) -> None:
            super().__init__()
            self.text = text
            self.after_step = after_step
            """It goes in with the next tool results of the running turn."""

    class Typed(Message):
        """The draft changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Pressed(Message):
        """A key for the popup or the input area: its name or what it does (``help``, ``end``, ``resume`` …)."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Trimmed(Message):
        """A paste was too long and was cut."""

        def __init__(self, kept: int) -> None:
            super().__init__()
            self.kept = kept

    def __init__(self, past: PromptHistory, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=HINT,
            id=id,
            compact=True,
        )
        self.past = past
        self.chips = AttachmentChips()
        self.popup_open = False
        self.queued = 0
        """Queued prompts: with an empty composer ↑ takes the last one back, and enter sends a paused queue."""
        self.turn_runs = False
        """While a turn runs, tab sends the draft with the next tool results."""
        self.retry: RetryScheduled | None = None
        """The retry that is awaited: with an empty composer n sends it now, and enter accepts a long wait."""
        self._held: Timer | None = None
        """Runs after n was pressed for a retry: it is a letter if the user types on."""
        self._pressed_at = 0.0
        self._rests = False
        self.vim: VimKeys | None = None
        """With ``ui.vim``, the keys of vim."""
        self.when_asked: Sequence[Callable[[bool], None]] = ()
        """Called when a question above takes or gives back the keys."""
        self.was_replaced = False
        """The last change replaced the whole draft, as when it was selected."""
        self.on_draft: Callable[[], None] | None = None
        """Called synchronously when the draft changes. ``TextArea.Changed`` arrives only after keys that are already
        queued, so it would miss a draft that is emptied and rewritten."""

    @property
    def has_normal_keys(self) -> bool:
        """Whether keys are commands of vim now."""
        return self.has_focus and self.vim is not None and not self.vim.is_inserting

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Whether a key is text; commands of vim are not, and so arrive one by one."""
        return not self.has_normal_keys and super().check_consume_key(key, character)

    def blink(self, *, on: bool) -> None:
        """Let the cursor blink, or not."""
        self._rests = False
        self.cursor_blink = on

    def rest(self) -> None:
        """Stop blinking if nothing was typed for a while: it would be nearly all that an idle program does."""
        if self.cursor_blink and time.monotonic() - self._pressed_at > BLINKS_S:
            self.blink(on=False)
            self._rests = True

    def show_asked(self, *, asked: bool) -> None:
        """Say that a question above has the keys, or that they are the composer's again."""
        self.placeholder = HINT_ASKED if asked else HINT
        self.set_class(asked, "-asked")
        for tell in self.when_asked:
            tell(asked)

    def put(self, text: str, at: tuple[int, int] | None = None) -> None:
        """Replace the draft; the cursor moves to its end, or to this line and column."""
        self.load_text(editable_text(text))
        self.move_cursor(self.document.end if at is None else at)

    def edited(self, text: str) -> None:
        """Take the draft back from an editor; only a text that would slow down typing becomes a chip."""
        self.put(text if len(text) <= MAX_IN_PLACE else self.chips.paste(text)[0])

    def recall(self, prompt: str) -> None:
        """Insert a prompt from history; long pastes become chips again."""
        self.put(self.chips.recalled(prompt))

    def take(self) -> str:
        """Empty the composer; returns and remembers the draft."""
        text = self.text
        self.past.remember(self.chips.remember(text))
        self.load_text("")
        if self.vim is not None:
            self.vim.begin_again()
        return text

    def load_text(self, text: str) -> None:
        self.was_replaced = False
        super().load_text(text)
        self._note_draft()

    def edit(self, edit: Edit) -> EditResult:
        start, end = sorted((edit.from_location, edit.to_location))
        self.was_replaced = start == (0, 0) and end == self.document.end
        result = super().edit(edit)
        if len(edit.text) > self.size.width:  # Textual scrolled to the cursor before it knew of the new rows
            self.scroll_cursor_visible()
        self._note_draft()
        return result

    def undo(self) -> None:
        super().undo()
        self._note_draft()

    def redo(self) -> None:
        super().redo()
        self._note_draft()

    def _note_draft(self) -> None:
        if self.on_draft is not None:
            self.on_draft()

    def get_cursor_line_start_location(self, smart_home: bool = False) -> Location:  # noqa: FBT001, FBT002 - Textual's
        """The start of the row. Textual goes to its first letter instead, but only in lines that are not wrapped."""
        return super().get_cursor_line_start_location()

    def action_new_line(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    async def action_delete_or_leave(self) -> None:
        """Like ctrl+d in a shell: delete the next character, or quit if there is no text."""
        if self.text:
            self.action_delete_right()
        else:
            await self.run_action("app.command('program.quit')")

    async def on_key(self, event: events.Key) -> None:
        self._pressed_at = time.monotonic()
        if self._rests:
            self.blink(on=True)
        if self._held is not None:
            self._held.stop()
            self._held = None
            if event.is_printable and not self.text:
                self.insert("n")
            elif event.key != "escape":
                self.post_message(self.Pressed("now"))
        if (self.vim is not None and self.vim.press(event)) or self._takes(event.key):
            event.stop()
            event.prevent_default()

    def _takes(self, key: str) -> bool:
        def skip_wait() -> None:
            self._held = None
            if not self.text:
                self.post_message(self.Pressed("now"))

        pressed = self._meant_for_others(key)
        if pressed:
            if pressed == "now":
                self._held = self.set_timer(WORD_S, skip_wait)
            else:
                self.post_message(self.Pressed(pressed))
            return True
        match key:
            case "enter":
                if self.text.strip():
                    self.post_message(self.Sent(self.text))
                return True
            case "tab" if self.turn_runs and self.text.strip() and not self.text.startswith("/"):
                self.post_message(self.Sent(self.text, after_step=True))
                return True
            case "up":
                return self.show_earlier()
            case "down":
                return self.show_later()
            case _:
                return False

    def press_repeatedly(self, key: str, times: int) -> int:
        return 0 if self.has_normal_keys or self._meant_for_others(key) else super().press_repeatedly(key, times)

    def browse(self, key: str) -> bool:
        return self.show_earlier() if key == "up" else self.show_later()

    def _meant_for_others(self, key: str) -> str:
        """What the popup or the input area does with the key; "" if the key is the composer's own."""
        if self.popup_open and key in ("up", "down", "tab", "enter", "escape"):
            return key
        if self.text.strip():
            at_end = self.selection.is_empty and self.cursor_location == self.document.end
            return "end" if key == "end" and at_end else ""  # with a selection, end first ends that
        keys = {"end": "end", "question_mark": "" if self.text else "help"}
        if self.retry is not None and not self.text:
            keys |= {"n": "now"} | ({"enter": "agree"} if self.retry.needs_consent else {})
        elif self.queued:
            keys |= {"enter": "resume", "up": "take_last_queued"}
            keys |= {"tab": "move"} if self.turn_runs else {}
        return keys.get(key, "")

    def show_earlier(self) -> bool:
        """Show the prompt before this one if the cursor is on the first row; False if there is none."""
        row = self.wrapped_document.location_to_offset(self.cursor_location).y
        return row == 0 and self._browse_history(self.past.earlier(self.text))

    def show_later(self) -> bool:
        """Show the prompt after this one if the cursor is on the last row; False if there is none."""
        row = self.wrapped_document.location_to_offset(self.cursor_location).y
        return row == self.wrapped_document.height - 1 and self._browse_history(self.past.later())

    def _browse_history(self, text: str | None) -> bool:
        if text is None:
            return False
        if self.past.at_draft:
            self.put(text)  # as it was left: its chips still exist
        else:
            self.recall(text)
        return True

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste_text(event.text)

    def paste_text(self, pasted: str) -> None:
        """Insert pasted text; a long one becomes a chip."""
        # What is cut off below costs no time: at most every second character goes with the line ends.
        text = pasted[: 2 * MAX_PASTE + 2].replace("\r\n", "\n").replace("\r", "\n")
        word, cut = self.chips.paste(editable_text(text))
        self.insert(word)
        if cut:
            self.post_message(self.Trimmed(len(pasted)))

    def fit_height(self) -> int:
        """Fit the height to the wrapped text; returns the rows."""
        rows = max(1, min(MAX_ROWS, self.wrapped_document.height))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        return rows

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Fit the height and report the change."""
        self.fit_height()
        self.post_message(self.Typed(self.text))
