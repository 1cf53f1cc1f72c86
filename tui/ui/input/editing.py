"""Sends prompts, edits earlier ones, takes queued ones back, and opens $EDITOR."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from textual.selection import Selection

from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock
from tui.domain.errors import UsageError
from tui.domain.messages import Role, Turn
from tui.domain.search_terms import SearchTerms

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


class Editing:
    """Moves prompts into and out of the composer."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._failed: tuple[str, tuple[Block, ...]] | None = None
        """The turn whose prompt was restored last, and the prompt."""

    def begin(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        """Put an earlier prompt into the composer; what is sent replaces its turn."""
        composer = self._app.chat.composer
        if composer.text:
            composer.take()  # ↑ recalls the draft
        self._put_back(blocks)
        self._app.chat.edit_mode.begin(turn_id)

    def restore(self, turn: Turn) -> None:
        """Put a prompt that got no answer back into the composer, unless the user is writing something else."""
        answered = any(message.role is not Role.USER for message in turn.messages)
        if answered or self._app.chat.composer.text:
            return
        self._put_back(turn.user_blocks)
        if self._app.chat.composer.vim is None:
            self._app.chat.composer.select_all()  # typing begins another prompt
        self._failed = (turn.id, turn.user_blocks)
        self._app.chat.edit_mode.restored(turn.id)

    async def take_last_queued(self) -> None:
        """Put the last queued prompt into the composer."""
        blocks = await self._app.services.chat.take_last_queued()
        if blocks:
            self._put_back(blocks)

    async def remove_queued(self, prompt: str) -> None:
        """Remove the last queued prompt, or this one; ↑ recalls it."""
        blocks = await self._app.services.chat.take_last_queued(prompt)
        text = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        if text:
            self._app.chat.composer.past.remember(text)
            self._app.say("Removed from the queue. ↑ recalls it.")

    async def take_all_queued(self) -> None:
        """Put all queued prompts into the composer, below the draft."""
        composer = self._app.chat.composer
        queued: tuple[Block, ...] = ()
        while blocks := await self._app.services.chat.take_last_queued():
            queued = (*blocks, *queued)
        self._put_back((*composer.chips.blocks(composer.text), *queued), between="\n\n")

    def _put_back(self, blocks: tuple[Block, ...], between: str = "\n") -> None:
        composer = self._app.chat.composer
        text = between.join(block.text for block in blocks if isinstance(block, TextBlock))
        images = [block for block in blocks if isinstance(block, ImageBlock | DocumentBlock)]
        composer.chips.clear()
        chips = " ".join(composer.chips.attach(image.name or "image", image) for image in images)
        composer.put(f"{chips} {composer.chips.recalled(text)}".strip())
        composer.focus()

    async def submit(self, blocks: tuple[Block, ...], replaced: str | None, *, after_step: bool = False) -> None:
        """Send in place of a turn, or at the end.

        The prompt of a failed last turn, as it was or as the user has corrected it, replaces that turn.
        """
        view = self._app.chat.view()
        turns = [turn.id for turn in view.turns] if view is not None else []
        if replaced is None and turns and self._failed == (turns[-1], blocks):
            replaced = turns[-1]
        self._failed = None
        if replaced in turns and replaced is not None:
            await self._app.services.chat.edit(replaced, blocks)
        else:
            await self._app.services.chat.submit(blocks, after_step=after_step)

    async def in_editor(self) -> None:
        """Suspend the screen, run the editor on the draft, and resume."""
        if self._app.services.sessions.private:
            raise UsageError(
                "The editor needs a file, and nothing of this conversation is written to one.",
                advice="ctrl+j breaks the line in the composer.",
            )
        from tui.ui.input.external_editor import EditedDraft, edit_file, editor_command

        shutdown = self._app.shutdown
        is_ending = shutdown.is_requested if shutdown is not None else lambda: False
        command = editor_command(os.environ)
        composer = self._app.chat.composer
        folder = Path(tempfile.mkdtemp(prefix="ponder-"))
        path = folder / "draft.md"
        edited = EditedDraft()
        try:
            await asyncio.to_thread(path.write_text, composer.chips.written_out(composer.text), "utf-8")
            with self._app.suspend():  # an exception in this block would leave the screen suspended
                edited = edit_file(command, path, is_ending)
                if edited.text is not None:  # now: the loop of a program that ends does not come back here
                    composer.edited(edited.text)
        except OSError as error:
            told = f"The draft cannot be written to {path}: {error.strerror}."
            raise UsageError(told, advice="It is unchanged.") from None
        finally:
            if not edited.is_kept:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            self._app.refresh(layout=True)
        if edited.problem is not None:
            raise edited.problem


class FindSteps:
    """The last search and its current match."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self.terms = SearchTerms()
        self._at = 0

    def remember(self, terms: SearchTerms, at: int) -> None:
        """Remember the search when the find bar closes."""
        self.terms, self._at = terms, at

    def step(self, step: int) -> None:
        """Go to the next or previous match; searches again, because the conversation may have grown."""
        from tui.ui.transcript.search_hits import hits_in, reveal

        chat = self._app.chat
        view = chat.view()
        hits = hits_in(chat.transcript.column.sections, view, self.terms) if view is not None and self.terms else []
        if not hits:
            self._app.say("No search yet. Find with ctrl+f.")
            return
        self._at = (self._at + step) % len(hits)
        span = reveal(chat.transcript, hits[self._at], self.terms)
        chat.selections = {} if span is None else {chat.transcript: Selection(*span)}
