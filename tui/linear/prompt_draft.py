"""The prompt that is being entered: one line, or several, with attachments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock
from tui.domain.format_numbers import count
from tui.linear.line_reader import TypedText

if TYPE_CHECKING:
    from tui.app.services import DraftService

YOU, MORE = "you> ", "more> "
BEGIN, END = "<<", ">>"
"""Lines around a prompt of several lines."""


class PromptDraft:
    """Collects lines until the prompt is complete, and keeps what is not sent yet as the draft of its session."""

    def __init__(self, drafts: DraftService) -> None:
        self._drafts = drafts
        self._session = ""
        self._lines: list[str] = []
        self._is_block = False
        self._is_paste = False
        self._attached: list[tuple[str, Block]] = []
        self.kept = ""
        """A prompt that was put back, or not sent: /draft sends it."""
        self.kept_for: str | None = None
        """The turn that ``kept`` replaces when it is sent."""
        self.edited: str | None = None
        """The turn that the next prompt replaces, whatever it is."""

    @property
    def is_open(self) -> bool:
        """Whether lines were entered that are not a whole prompt."""
        return bool(self._lines) or self._is_block

    @property
    def prompt(self) -> str:
        return MORE if self.is_open else YOU

    @property
    def attached(self) -> Sequence[str]:
        """The names of the attachments."""
        return [name for name, _ in self._attached]

    def enter(self, session: str) -> None:
        """Another session: it has a draft of its own.

        Lines that were begun go along: they were entered after the command that leads here, or during the start.
        """
        if session == self._session:
            return
        if self._session:
            self._drafts.keep_draft(self._session, self.kept)
        self._session = session
        self._attached, self.kept_for, self.edited = [], None, None
        self.kept = self._drafts.kept_draft(session)

    def keep(self, unfinished: str = "") -> None:
        """Save what is not sent yet."""
        if self._session:
            text = "\n".join(filter(None, (*self._lines, unfinished))) or self.kept
            self._drafts.keep_draft(self._session, text)

    def clear(self) -> None:
        """Drop the lines, the attachments, the draft and the edit."""
        self._lines, self._is_block, self._is_paste = [], False, False
        self._attached, self.kept, self.kept_for, self.edited = [], "", None, None

    def drop_lines(self) -> None:
        """Drop the lines that are not a whole prompt."""
        self._lines, self._is_block, self._is_paste = [], False, False
        self.keep()

    def put_back(self, blocks: Sequence[Block], turn: str | None) -> None:
        """Keep an earlier prompt, with its files; when it is sent it replaces its turn."""
        self.clear()
        self._attached = [
            (block.name or "picture", block) for block in blocks if isinstance(block, ImageBlock | DocumentBlock)
        ]
        self.kept = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        self.kept_for = turn
        self.keep()

    def sent(self, text: str) -> None:
        """A prompt was sent. Another one remains, unless this one was typed in its place."""
        kept, kept_for = ("", None) if text == self.kept or self.edited else (self.kept, self.kept_for)
        self.clear()
        self.kept, self.kept_for = kept, kept_for
        self.keep()

    def attach(self, name: str, block: Block) -> None:
        """Add a file to the next prompt."""
        self._attached.append((name, block))

    def take(self, typed: TypedText) -> str | None:
        """The whole prompt; None if more lines follow."""
        text = typed.text
        if typed.pasted and not self._is_block:
            self._is_paste = True
            self._lines += text.split("\n")
        elif self._is_block and END in text.split("\n"):
            lines = text.split("\n")
            return self._whole([*self._lines, *lines[: lines.index(END)]])
        elif self._is_paste and not text:
            return self._whole(self._lines)
        elif text.strip() == BEGIN and not self.is_open:
            self._is_block = True
        elif self._is_block or self._is_paste:
            self._lines += text.split("\n")
        elif _goes_on(text):
            self._lines.append(text[:-1])
        else:
            return self._whole([*self._lines, text])
        self.keep()
        return None

    def hint(self) -> str:
        """How lines that were pasted are sent."""
        lines = count(len(self._lines), "line")
        return f"Pasted {lines}. An empty line sends them, ctrl+c drops them." if self._is_paste else ""

    def blocks(self, text: str) -> tuple[Block, ...]:
        """The prompt with its attachments as it is sent."""
        files = [block for _, block in self._attached if isinstance(block, ImageBlock | DocumentBlock)]
        texts = [block.text for _, block in self._attached if isinstance(block, TextBlock)]
        whole = "\n".join([*texts, text]).strip()
        return (*files, TextBlock(text=whole)) if whole else tuple(files)

    def _whole(self, lines: Sequence[str]) -> str:
        self._lines, self._is_block, self._is_paste = [], False, False
        self.keep()
        return "\n".join(lines).strip()


def _goes_on(text: str) -> bool:
    """Whether a line ends with a backslash that is not itself escaped."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
