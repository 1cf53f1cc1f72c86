"""Textual's Linux driver and parser, corrected.

- Bytes that are not UTF-8 would end the program; they are shown as U+FFFD.
- A late answer about the background would be typed into the composer; it is removed and applied.
- Nothing is read before the screen can take keys, so that early keys are handled as if typed then.
- A paste is one event, whatever it contains: escapes and control characters in it are not keys.
- Alt+enter is recognised also where it arrives as an escape and a return.
- A key waits until the one before it is handled (``key_delivery``).
- On keyboards with non-Latin letters, ctrl and alt use the key's Latin letter (``ctrl+с`` is ctrl+c).
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterable
from threading import Event
from typing import TYPE_CHECKING

from textual import constants, events
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys, _character_to_key
from textual.message import Message

from tui.domain.lazy_regex import lazy_regex
from tui.ui.terminal.background import LAST_WAIT_S, TerminalBackground, background_in, read_answers
from tui.ui.terminal.graphics import QUESTIONS, GraphicsAnswers
from tui.ui.terminal.key_delivery import KeyDelivery

if TYPE_CHECKING:
    from tui.ui.services import UiServices
    from tui.ui.terminal.background import BackgroundQuestion
    from tui.ui.terminal.graphics import Graphics

MOST_COLUMNS, MOST_ROWS = 1000, 500
"""The largest window that is laid out. No screen shows more, and 60,000 by 60,000 cells would take gigabytes."""
ALTERNATE_KEYS = "\x1b[=4;2u"
"""Kitty's protocol: besides what Textual requests, report the key's letter on a Latin keyboard."""
NAMED = lazy_regex(r"\x1b\[\?[0-9;]*c")
"""A terminal's answer to ``ASK_NAME``."""
ASK_NAME = "\x1b[c"
"""Every terminal answers this, and in order: earlier questions have been answered by then."""
ASK_CLUSTERS, CLUSTERS_ON, CLUSTERS_OFF = "\x1b[?2027$p", "\x1b[?2027h", "\x1b[?2027l"
CLUSTERS_ARE_OFF = "\x1b[?2027;2$y"
"""The answer of a terminal that could count the columns of clusters, but does not."""
ALT_KEYS = {"\x1b\r": "alt+enter", "\x1b\n": "alt+enter"} | {f"\x1b{digit}": f"alt+{digit}" for digit in range(10)}
"""Sequences of terminals without kitty's protocol. Textual would take the first for enter, which sends, and a digit
for the character option types with it on a Mac: `alt+1` would type `¡`."""
_STRINGS = r"\x1b(?:P(?:[01][$+]r|>\||!\|)|_G|\](?!1[01];)[0-9]+;)[^\x1b\x07]*"
"""The beginning of what terminals answer in words: DCS, graphics, OSC. Colours 10 and 11 are read elsewhere."""
_PRIVATE = r"\x1b[X^][^\x1b\x07]"
_PRIVATE_STRING = rf"{_PRIVATE}*\x1b\\"
"""SOS and PM. They begin like alt+shift+x and alt+^: what follows only counts as a string if its end comes."""
REPORTS = lazy_regex(
    rf"{_STRINGS}(?:\x07|\x1b\\)|{_PRIVATE_STRING}"
    r"|\x1b\[[>=?][0-9;]*[A-Za-z]|\x1b\[(?!48;)[0-9]+(?:;[0-9]+)*t"
)
"""Answers to questions of an earlier program, such as a shell or an editor; Textual would type them."""
BEGUN_REPORT = lazy_regex(
    rf"(?:{_STRINGS}\x1b?|{_PRIVATE}+\x1b?|\x1bP[01>!][$+]?|\x1b\][0-9]+|\x1b\[(?:[>=?]|[0-9])[0-9;]*)\Z"
)
KEY_BEFORE_LETTERS = lazy_regex(r"\x1b[X^]")
LONGEST_REPORT = 4_096
LOST_REPORT_S = 1.0
"""Time after which the end of a report is given up."""
PASTE, PASTED = "\x1b[200~", "\x1b[201~"
LOST_S = 10.0
"""Time after which the end of a paste is given up."""
COLOUR_ANSWERS = ("\x1b]10;", "\x1b]11;")
LONGEST_ANSWER = 64
"""Characters of an answer; an endless one must not swallow what is typed."""
TICK_S = 0.1
"""Interval of looks at the clock while a sequence, a report or a paste is unfinished."""
KEY_WITH_ALTERNATES = lazy_regex(r"\x1b\[(\d+):(\d*)(?::(\d*))?(?:;(\d*)((?:;[\d:]*)?))?([u~ABCDEFHPQRS])")
CTRL_ALT_SUPER = 2 | 4 | 8


def plain_key(sequence: str) -> str:
    """A kitty key sequence without its alternates: the Latin letter if a modifier makes it a command."""
    found = KEY_WITH_ALTERNATES.fullmatch(sequence)
    if found is None:
        return sequence
    code, _, latin, modifiers, text, end = found.groups(default="")
    foreign = code.isdecimal() and int(code) > 0x7F
    if latin and foreign and (int(modifiers or "1") - 1) & CTRL_ALT_SUPER and not text.strip(";"):
        code = latin
    return f"\x1b[{code};{modifiers or '1'}{text}{end}"


class Keyboard(XTermParser):
    """Textual's parser with alternate keys and late answers."""

    def __init__(self, on_background: Callable[[TerminalBackground], object], *, debug: bool = False) -> None:
        self._on_background = on_background
        self._answer: str | None = None
        self._before = ""
        self._paste: list[str] | None = None
        """What arrived of a paste, in pieces: joining at each read would take quadratic time."""
        self._paste_end = ""
        """Its last characters, which may be the beginning of its end."""
        self._pasting = 0.0
        self._report, self._reporting = "", 0.0
        super().__init__(debug)

    def feed(self, data: str) -> Iterable[Message]:
        """Parse input, outside and inside of pastes; "" means end of input."""
        if not data:
            yield from super().feed("")
            return
        if not self._report:
            self._reporting = time.monotonic()
        data, self._report = self._report + data, ""
        while data:
            if self._paste is None:
                data = yield from self._typed(data)
            else:
                data = yield from self._pasted(data)

    @property
    def is_waiting(self) -> bool:
        """Whether something is unfinished that time alone ends."""
        return self._paste is not None or bool(self._report) or self._timeout_time is not None

    def tick(self) -> Iterable[Message]:
        """End a paste that was given up, and Textual's own timeouts."""
        if self._paste is not None and time.monotonic() - self._pasting > LOST_S:
            yield from self._pasted(PASTED)
        if self._report and time.monotonic() - self._reporting > LOST_REPORT_S:
            lost, self._report = self._report, ""
            if KEY_BEFORE_LETTERS.match(lost):
                yield from super().feed(lost)
        yield from super().tick()

    def _typed(self, data: str) -> Generator[Message, None, str]:
        """Parse keys and answers up to the start of a paste; returns the rest."""
        text = self._before + data
        begins = text.find(PASTE)
        end = len(text) if begins < 0 else begins + len(PASTE)
        typed, rest = text[len(self._before) : end], text[end:]
        # The start of a paste may be divided between two reads: keep enough of the end to recognise it.
        self._before = "" if begins >= 0 else text[1 - len(PASTE) :]
        self._paste, self._paste_end = (None if begins < 0 else []), ""
        self._pasting = time.monotonic()
        # Textual's limit for sequences is shorter than a terminal's name; the rest of the name would be typed.
        kept = REPORTS.sub("", typed)
        if self._paste is None and (begun := BEGUN_REPORT.search(kept)) and len(begun[0]) < LONGEST_REPORT:
            kept, self._report = kept[: begun.start()], begun[0]
        if kept:
            for message in super().feed(kept):
                yield _with_bounded_size(message)
        return rest

    def _pasted(self, data: str) -> Generator[Message, None, str]:
        """Collect a paste up to its end; returns the rest. Textual's parser sees an empty paste."""
        pieces = [] if self._paste is None else self._paste
        self._pasting = time.monotonic()
        pieces.append(data)
        searched = self._paste_end + data
        ends = searched.find(PASTED)
        if ends < 0:
            self._paste_end = searched[1 - len(PASTED) :]
            return ""
        whole = "".join(pieces)
        ends += len(whole) - len(searched)
        text, rest = whole[:ends], whole[ends + len(PASTED) :]
        self._paste = None
        # Textual's parser saw only the start of the paste: its own event is empty, and ours has the text.
        for event in super().feed(PASTED):
            if not isinstance(event, events.Paste):
                yield event
        yield events.Paste(text.replace("\x00", ""))
        return rest

    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # type: ignore[override]  # not cached
        try:
            return super()._parse_extended_key(plain_key(sequence))
        except (ValueError, OverflowError):  # a number that is no character
            return [_ignored(sequence)]

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:  # noqa: FBT001, FBT002 - Textual's
        if self._answer is not None and self._goes_on(sequence):
            return [_ignored(sequence)]
        if sequence in COLOUR_ANSWERS:
            self._answer = sequence
            return [_ignored(sequence)]
        if NAMED.fullmatch(sequence):
            return [_ignored(sequence)]
        if sequence in ALT_KEYS:
            return [events.Key(ALT_KEYS[sequence], None)]
        if alt and len(sequence) == 1 and sequence.isprintable() and not sequence.isalnum():
            # Textual drops alt before punctuation: `alt+.` would type a dot.
            return [events.Key(f"alt+{_character_to_key(sequence)}", None)]
        return super()._sequence_to_key_events(sequence, alt)

    def _goes_on(self, sequence: str) -> bool:
        """Whether the sequence belongs to the answer being received; reports the background at its end."""
        answer = self._answer or ""
        if sequence in ("\x07", "\x1b\\"):
            self._answer = None
            background = background_in(answer.encode() + b"\x07")
            if background is not None:
                self._on_background(background)
            return True
        if sequence.startswith("\x1b") or len(answer) > LONGEST_ANSWER:
            self._answer = None
            return False
        self._answer = answer + sequence
        return True


class Ending(Event):
    """An event that a selector can wait for, as long as the process lives."""

    def __init__(self) -> None:
        super().__init__()
        self._hears, self._tells = os.pipe()

    def fileno(self) -> int:
        return self._hears

    def set(self) -> None:
        """Set it, and wake who waits."""
        super().set()
        os.write(self._tells, b"x")

    def clear(self) -> None:
        """Reset it."""
        super().clear()
        while select.select([self._hears], [], [], 0)[0]:
            os.read(self._hears, 64)


def _with_bounded_size(message: Message) -> Message:
    """A report of an absurd size is one of the largest size."""
    if isinstance(message, events.Resize) and message.size != (bounded := _bounded(*message.size)):
        return events.Resize.from_dimensions(bounded, message.pixel_size)
    return message


def _bounded(columns: int, rows: int) -> tuple[int, int]:
    return min(columns, MOST_COLUMNS), min(rows, MOST_ROWS)


def reported_size(fileno: int) -> tuple[int, int] | None:
    """The terminal's size, ignoring COLUMNS and LINES from the shell; a serial line may not report one."""
    with contextlib.suppress(OSError):
        width, height = os.get_terminal_size(fileno)
        if width and height:
            return _bounded(width, height)
    return None


class TerminalDriver(LinuxDriver):
    """Textual's driver; starts reading when ``listen`` is called and delivers one key at a time."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        # With no size, Textual would begin with that of COLUMNS and LINES, and lay out for both in turns.
        known = size or (reported_size(sys.__stdin__.fileno()) if sys.__stdin__ is not None else None)
        super().__init__(app, debug=debug, mouse=mouse, size=known)
        self.exit_event = self._ending = Ending()
        self._ready = Event()
        self._delivery = KeyDelivery(app, self.process_message)
        self._heard = b""
        self._on_background: Callable[[TerminalBackground], object] = lambda background: None
        self._asked: str | None = None
        self._counts_clusters = False
        self._keeps_input = False
        self._owed = 0
        """Answers to ``ASK_NAME`` still to come."""
        self._said = ""
        self._graphics: GraphicsAnswers | None = None
        self._is_up = self._continued = False
        self._woken: Callable[..., object] = lambda **_: None

    def start_application_mode(self) -> None:
        """Enable the keyboard and cluster modes too."""
        self._is_up = True
        question: BackgroundQuestion | None = getattr(self._app, "question", None)
        if question is not None:
            self._owed += question.is_unanswered
            question.close()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # it is Textual's
        if not constants.DISABLE_KITTY_KEY and self._writer_thread is not None:
            self.write(ALTERNATE_KEYS)
            self.flush()
        if self.input_tty and self._writer_thread is not None and os.environ.get("TERM_PROGRAM") != "Apple_Terminal":
            self._asked = ""
            self._owed += 1
            self.write(ASK_CLUSTERS + ASK_NAME)
            self.flush()

    def stop_application_mode(self) -> None:
        """Reset what Textual leaves set: the pointer's shape, mouse reports in pixels, and a marked title."""
        self._is_up = False
        ui_services: UiServices | None = getattr(self._app, "ui_services", None)
        if ui_services is not None:
            ui_services.notifications.restore_title()
            self.write(ui_services.pictures.leave())
        if self._counts_clusters:
            self._counts_clusters = False
            self.write(CLUSTERS_OFF)
        self.write("\x1b]22;default\x07\x1b[?1016l")
        super().stop_application_mode()

    def call_when_woken(self, woken: Callable[..., object]) -> None:
        """Call ``woken(slept=...)`` after the terminal has been set up again."""
        self._woken = woken

    def _sigtstp_application(self, *_: object) -> None:
        if not self._auto_restart:  # another program has the terminal, and the loop waits for it
            self._stop_if_possible(os.getpid())
            return
        # As in ``_sigcont_application``: the interrupted code may hold the lock needed to write.
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        """Give the terminal back and stop the process, as ``kill -TSTP`` asks: its sender can continue it."""
        self._app.app_suspend_signal.publish(self._app)
        super()._sigtstp_application()

    def sleep(self) -> None:
        """Give the terminal back and stop, as ctrl+z asks; without a shell that could continue us, go on."""
        self._app.app_suspend_signal.publish(self._app)
        self.suspend_application_mode()
        self._must_signal_resume = True
        # The whole group: a script around the program would keep the terminal.
        self._stop_if_possible(0)
        self._loop.call_soon(self._go_on_unless_stopped)

    def _stop_if_possible(self, process: int) -> None:
        """The signal's own action: unlike Textual's SIGSTOP, the kernel ignores it where no shell could continue us."""
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            os.kill(process, signal.SIGTSTP)
        finally:
            signal.signal(signal.SIGTSTP, self._sigtstp_application)

    def _go_on_unless_stopped(self) -> None:
        """Set the terminal up again if the signal was ignored."""
        if self._must_signal_resume and not self._continued:
            self.resume_application_mode()
            self._woken(slept=False)

    def _sigcont_application(self, *_: object) -> None:
        # The interrupted code may hold the lock needed to write, so the work is left to the loop.
        self._continued = True
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        """The process was stopped and continued; a shell may have changed the terminal's modes meanwhile."""
        if not self._continued:
            return
        self._continued = False
        if self._must_signal_resume:
            self.resume_application_mode()
        elif self._is_up:
            self._set_up_again()
        else:
            return  # nothing to resume, or another program has the terminal
        self._woken(slept=True)

    def _set_up_again(self) -> None:
        # Textual's own way discards what was typed meanwhile (``tcflush`` in ``disable_input``), and returns to the
        # shell's modes for a moment: a key typed then would be echoed into the middle of what is being drawn.
        self._keeps_input = True
        shells_modes, self.attrs_before = self.attrs_before, None
        try:
            self.suspend_application_mode()
        finally:
            self._keeps_input = False
        self.resume_application_mode()
        self.attrs_before = shells_modes

    def disable_input(self) -> None:
        """Stop reading; unread input is kept if the terminal is only set up again."""
        if self._keeps_input or self._owed:
            self.exit_event.set()
            if self._key_thread is not None:
                self._key_thread.join()
            self.exit_event.clear()
        if self._keeps_input:
            return
        if self._owed:  # an unread answer would be typed at the shell's prompt
            read_answers(self.fileno, self._said.encode(), LAST_WAIT_S, count=self._owed)
            self._owed = 0
        super().disable_input()

    def _get_terminal_size(self) -> tuple[int, int]:
        return reported_size(self.fileno) or super()._get_terminal_size()

    def listen(self, heard: bytes, on_background: Callable[[TerminalBackground], object]) -> None:
        """Start delivering keys: first the bytes received earlier, then new input."""
        self._heard, self._on_background = heard, on_background
        self._ready.set()

    def run_input_thread(self) -> None:
        """Read input and deliver it."""
        # Until ``listen`` is called, input stays in the kernel's buffer.
        while not self._ready.wait(TICK_S):
            if self.exit_event.is_set():
                return
        keyboard = Keyboard(self._on_background, debug=self._debug)
        # Incremental, because a read may end within a character; "replace", because Textual's strict decoder would end
        # the thread.
        decode = getincrementaldecoder("utf-8")("replace").decode
        heard, self._heard = self._heard, b""
        self._hand_on(keyboard.feed(decode(heard)) if heard else ())
        selector = selectors.SelectSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        selector.register(self._ending, selectors.EVENT_READ)
        try:
            while not self.exit_event.is_set():
                heard_from = selector.select(TICK_S if keyboard.is_waiting else None)
                if self.exit_event.is_set():
                    break
                if heard_from and (text := decode(os.read(self.fileno, 4096))):
                    self._look_for_clusters(text)
                    self._count_names(text)
                    self._hand_on(keyboard.feed(text))
                self._hand_on(keyboard.tick())
        finally:
            selector.close()
            with contextlib.suppress(EOFError, ParseError):
                self._hand_on(keyboard.feed(""))

    def _look_for_clusters(self, text: str) -> None:
        """Let the terminal count columns of clusters, as we do, if it reports that it can."""
        if self._asked is None:
            return
        # An answer may be divided between two reads.
        self._asked = (self._asked + text)[-LONGEST_ANSWER:]
        if CLUSTERS_ARE_OFF in self._asked:
            self._asked, self._counts_clusters = None, True
            self.write(CLUSTERS_ON)
            self.flush()

    def _count_names(self, text: str) -> None:
        """Count answers, because those still to come at exit must be read."""
        if self._owed:
            *names, self._said = NAMED.split(self._said + text)
            self._owed = max(0, self._owed - len(names))
            self._said = self._said[-LONGEST_ANSWER:]
        if self._graphics is not None and self._graphics.take(text, is_last=not self._owed):
            self._graphics = None

    def ask_graphics(self, answered: Callable[[Graphics], None]) -> None:
        """Ask what the terminal can draw; ``answered`` is called on the thread that reads."""
        self._graphics = GraphicsAnswers(self.fileno, answered)
        self._owed += 1
        self.write(QUESTIONS + ASK_NAME)
        self.flush()

    @property
    def is_behind(self) -> bool:
        """Whether the terminal has still to read what was written: much more would stop the screen."""
        return self._writer_thread is not None and self._writer_thread._queue.qsize() > 1

    def send_message(self, message: Message) -> None:
        """Post a message to the application, at once: messages are processed on its event loop."""
        self._app.post_message(message)

    def _hand_on(self, messages: Iterable[Message]) -> None:
        self._delivery.hand_on(messages, self._loop, self.exit_event.is_set)


def _ignored(sequence: str) -> events.Key:
    return events.Key(Keys.Ignore, sequence)
