"""Copies answers, code, thinking or the whole session: by a native tool, else by the terminal, else to a file."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tui.commands.registry import Copy
from tui.domain.blocks import ThinkingBlock
from tui.domain.citations import text_with_sources
from tui.domain.errors import UsageError
from tui.domain.events import Severity
from tui.domain.format_numbers import count
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import Message, Role
from tui.domain.printable import printable
from tui.ui.terminal.desktop_programs import desktop_environment
from tui.ui.terminal.textual_private import write_to_terminal

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

_OBEYED_WHEN_PASTED = lazy_regex("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
OSC52_LIMIT = 100_000
"""Terminals ignore or mishandle longer sequences."""

TOOLS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
"""The desktop's own tools, and the environment variable that shows that their desktop is present."""

SCREEN_PIECE = 240
"""Characters that GNU screen passes on at once, in any version."""

TOOL_S = 0.5
"""Time limit for such a tool, because the screen waits for it."""


class Clipboard:
    """Collects text and puts it on the clipboard."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app

    def copy(self, what: Copy) -> str:
        """Copy; returns the sentence for the user."""
        return self._copied(self._text(what), what)

    def _copied(self, text: str, what: Copy) -> str:
        text = printable(text)
        if not text.strip():
            raise UsageError("Nothing to copy.")
        return f"Copied {what.value} ({count(len(text), 'character')}){self.put(text)}."

    def put(self, text: str) -> str:
        """Put text on the clipboard; returns for the user how it was copied."""
        return put_on_clipboard(text, self._write, os.environ)

    def selection(self, text: str) -> None:
        """Copy the selection and show a message."""
        text = printable(text)
        try:
            self._app.say(f"Copied {count(len(text), 'character')}{self.put(text)}.")
        except UsageError as error:
            self._app.say(error.message, Severity.WARNING, error.advice)

    def code(self, text: str) -> None:
        """Copy a code block and show a message."""
        try:
            self._app.say(self._copied(text, Copy.CODE))
        except UsageError as error:
            self._app.say(error.message, Severity.WARNING, error.advice)

    def _write(self, sequence: str) -> None:
        write_to_terminal(self._app, sequence)

    def _text(self, what: Copy) -> str:
        if what is Copy.VISIBLE_CODE:
            return self._app.chat.transcript.code_to_copy() or self._text(Copy.CODE)
        chosen = list(self._messages(_thinking if what is Copy.THINKING else _words))
        if what is Copy.ALL:
            return "\n\n".join(_said(message) for message in self._all())
        answers = [message for message in chosen if message.role is Role.ASSISTANT]
        if what is Copy.THINKING:
            return "\n\n".join(_thinking(message) for message in answers)
        if what is Copy.WITH_THINKING:
            return "\n\n".join(f"{_thinking(message)}\n\n{_words(message)}".strip() for message in answers)
        text = "\n\n".join(filter(None, map(_words, answers or chosen)))
        if what is Copy.CODE:
            from tui.ui.markdown.document import Document, code_blocks

            blocks = code_blocks(Document(text, closed=True).chunks)
            return blocks[-1] if blocks else ""
        return text

    def _all(self) -> Iterator[Message]:
        view = self._app.chat.view()
        for turn in view.turns if view is not None else ():
            yield from turn.messages

    def _messages(self, content: Callable[[Message], str]) -> Iterator[Message]:
        """The message under the cursor, or the answers of the last turn that has such content.

        Of the running turn, that is what has come so far: it is on the screen.
        """
        view = self._app.chat.view()
        if view is None:
            return
        transcript = self._app.chat.transcript
        if transcript.cursor is not None and transcript.has_focus:
            under = [message for message in self._all() if message.id == transcript.cursor[0].key]
            if under:
                yield from under
                return
        so_far = [*view.open_turn.messages] if view.open_turn is not None else []
        so_far.append(Message(id="", role=Role.ASSISTANT, blocks=tuple(self._app.chat.conversation.arriving)))
        running = [message for message in so_far if message.role is Role.ASSISTANT and content(message)]
        last = view.turns[-1].messages if view.turns else ()
        yield from running or (message for message in last if message.role is Role.ASSISTANT)


def _words(message: Message) -> str:
    return text_with_sources(message.blocks)


def _thinking(message: Message) -> str:
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, ThinkingBlock) and block.text)


def _said(message: Message) -> str:
    who = "You" if message.role is Role.USER else message.origin.model if message.origin else "Answer"
    return f"## {who}\n\n{_words(message)}" if _words(message) else ""


def pasteable(text: str) -> str:
    """Text that cannot end a paste or type keys where it is pasted: control characters are made visible."""
    return _OBEYED_WHEN_PASTED.sub(lambda found: printable(found[0]), text.replace("\r\n", "\n"))


def put_on_clipboard(text: str, write: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> str:
    """Copy by the best available way; returns it in a few words for the user ("" if it certainly worked).

    Over ssh and in a browser the desktop is on another machine, so only the terminal can copy. tmux stores the text
    in a buffer of its own and passes it on (``-w``) to a terminal that supports it.
    """
    text = pasteable(text)
    browser = bool(environment.get("TEXTUAL_DRIVER"))
    far = browser or bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    for needed, command in () if far else TOOLS:
        if (not needed or environment.get(needed)) and shutil.which(command[0]) and _piped(command, text):
            return ""
    data = text.encode("utf-8", "replace")
    fits = len(data) <= OSC52_LIMIT
    load = ("tmux", "load-buffer", "-w", "-") if fits else ("tmux", "load-buffer", "-")
    if environment.get("TMUX") and not browser and _piped(load, text):
        return " through tmux" if fits else " into tmux's buffer; it is too long for the terminal's clipboard"
    if fits:
        write(_osc52(data, {} if browser else environment))
        return " through the browser" if browser else " through the terminal"
    raise UsageError(
        f"{count(len(data), 'byte')} are too much for the terminal's clipboard.",
        advice="`/export md` writes a file instead.",
    )


def _piped(command: Sequence[str], text: str) -> bool:
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            timeout=TOOL_S,
            # These tools keep running to serve the clipboard: a pipe of ours would never close.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=desktop_environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _osc52(data: bytes, environment: Mapping[str, str]) -> str:
    sequence = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if environment.get("TMUX"):
        # tmux accepts one or passes on the other, depending on its settings.
        return sequence + "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY"):
        # GNU screen would print the part that exceeds its buffer.
        pieces = (sequence[at : at + SCREEN_PIECE] for at in range(0, len(sequence), SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence
