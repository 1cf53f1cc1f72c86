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
from tui.domain.messages import Role, Turn

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
        self._put_back(blocks)
        self._turn = turn_id
        self._app.say("Sending starts a new branch from here; esc leaves things as they are.")

    def restore(self, turn: Turn) -> None:
        """A prompt that got no answer stands in the composer again, unless something else does; sending asks anew."""
        view, composer = self._app.chat.view(), self._app.chat.composer
        answered = any(message.role is not Role.USER for message in turn.messages)
        if answered or composer.text or view is None or view.queue:
            return
        self._put_back(tuple(block for message in turn.messages for block in message.blocks))
        self._turn = turn.id

    def _put_back(self, blocks: tuple[Block, ...]) -> None:
        composer = self._app.chat.composer
        words = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        images = [block for block in blocks if isinstance(block, ImageBlock)]
        composer.chips.clear()
        chips = " ".join(composer.chips.attach(image.name or "image", image) for image in images)
        composer.put(f"{chips} {composer.chips.recalled(words)}".strip())
        composer.focus()

    def leave(self) -> None:
        """The next send goes to the end after all."""
        self._turn = None

    async def submit(self, blocks: tuple[Block, ...]) -> None:
        """Send."""
        turn, self._turn = self._turn, None
        view = self._app.chat.view()
        if view is not None and any(turn == known.id for known in view.turns) and turn is not None:
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
