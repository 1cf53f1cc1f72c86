"""Sending, editing an earlier prompt, writing in $EDITOR."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tui.domain.blocks import Block, ImageBlock, TextBlock
from tui.domain.errors import UsageError

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


class Editing:
    """The next send goes to the end of the conversation, or replaces a turn."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._turn: str | None = None

    @property
    def active(self) -> bool:
        """Whether the next send replaces a turn."""
        return self._turn is not None

    def begin(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        """Put a prompt back into the composer."""
        composer = self._app.chat.composer
        words = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        images = [block for block in blocks if isinstance(block, ImageBlock)]
        composer.chips.clear()
        chips = " ".join(composer.chips.attach(image.name or "image", image) for image in images)
        composer.put(f"{chips} {words}".strip())
        composer.focus()
        self._turn = turn_id
        self._app.say("Sending starts a new branch from here; esc leaves things as they are.")

    def leave(self) -> None:
        """The next send goes to the end after all."""
        self._turn = None

    async def submit(self, blocks: tuple[Block, ...]) -> None:
        """Send."""
        turn, self._turn = self._turn, None
        if turn is not None:
            await self._app.desk.chat.edit(turn, blocks)
        else:
            await self._app.desk.chat.submit(blocks)

    async def in_editor(self) -> None:
        """Suspend the screen, run the editor on the draft, come back."""
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not command:
            raise UsageError("No editor is set.", advice="Set EDITOR, for example to `vim`, and try again.")
        composer = self._app.chat.composer
        folder = Path(tempfile.mkdtemp(prefix="ponder-"))
        path = folder / "draft.md"
        try:
            await asyncio.to_thread(path.write_text, composer.chips.written_out(composer.text), "utf-8")
            with self._app.suspend():
                subprocess.run([*shlex.split(command), str(path)], check=False)  # noqa: ASYNC221 - the screen is asleep
            composer.put((await asyncio.to_thread(path.read_text, "utf-8")).rstrip("\n"))
        except OSError as error:
            raise UsageError(f"`{command}` cannot be run: {error.strerror}.") from None
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        self._app.refresh(layout=True)
