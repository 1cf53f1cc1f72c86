"""Sends one prompt without a screen, follows the session's events and returns an exit code."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Protocol, TextIO

from tui.bus import Subscription
from tui.domain.blocks import Block, TextBlock
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import AppEvent, SaveFailed, SaveRecovered, Stamped, Streamed, TurnFailed, TurnFinished
from tui.domain.fast_dataclass import dataclass
from tui.domain.stream import StreamEvent, TextDelta, ThinkingDelta
from tui.engine.session import Session
from tui.engine.thread import EngineThread
from tui.headless.run_result import ExitCode, RunResult, exit_of, run_result_of, with_checked_answer
from tui.headless.text import TextWriter

LOG = logging.getLogger(__name__)
FRAME_S = 0.02
MOST_PIPED = 64_000_000
"""At most one write to stdout per interval; the first text is written at once."""
CLOSE_WITHIN_S = 2.0
SAME_PRESS_S = 0.5
"""Launchers also send a signal to the whole process group: two this close together count as one."""


class OutputFormat(StrEnum):
    """The output format on stdout."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessOptions:
    """Options from the command line."""

    prompt: str
    context: str | None = None
    """Text from stdin; sent before the prompt."""
    attachments: tuple[Block, ...] = ()
    output: OutputFormat = OutputFormat.TEXT
    show_thinking: bool = False
    private: bool = False
    """The session is not stored, so its id is of no use."""
    hide_thinking: bool = False
    """Thinking is omitted from ``--json`` and ``--jsonl``, too."""
    answer_schema: Mapping[str, object] | None = None
    """The JSON Schema that the answer must fit."""
    level_chosen: bool = True
    """The user chose a thinking level, or a setting that replaces it."""

    @property
    def text_events(self) -> tuple[type[StreamEvent], ...]:
        """The events whose text is written as it arrives."""
        thinking = self.show_thinking or (self.output is OutputFormat.JSONL and not self.hide_thinking)
        return (TextDelta, ThinkingDelta) if thinking else (TextDelta,)

    def blocks(self) -> tuple[Block, ...]:
        """The user's message."""
        texts = [text for text in (self.context, self.prompt) if text]
        return (*self.attachments, *(TextBlock(text=text) for text in texts))


class Writer(Protocol):
    """Writes the events of a turn."""

    def take(self, event: AppEvent) -> None:
        """Process one event."""
        ...

    def end(self, result: RunResult) -> None:
        """Write the end of the run."""
        ...

    def flush(self) -> None:
        """Flush the output streams."""
        ...


def piped_text(stream: BinaryIO | None) -> str | None:
    """All text piped to stdin; None if stdin is a terminal, closed or empty. Raises UsageError if it does not end."""
    if stream is None or stream.isatty():
        return None
    text = stream.read(MOST_PIPED + 1)
    if len(text) > MOST_PIPED:
        raise UsageError(
            f"The input is larger than {MOST_PIPED // 1_000_000} MB, which no model can read.",
            advice="Pipe a part of it, for example with `head -c 1M`.",
        )
    return text.decode("utf-8", "replace") or None


def run_headless(
    engine: EngineThread,
    session: Session,
    options: HeadlessOptions,
    *,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Send the prompt, write the answer, return the exit code. The caller starts and stops the engine."""
    stdout, stderr = out or _ready(sys.stdout), err or _ready(sys.stderr)
    view, subscription = session.attach()
    writer = _writer(options, stdout, stderr, "" if options.private else view.session)
    signals: list[int] = []
    try:
        for notice in view.notices:
            writer.take(notice)
        with asyncio.Runner() as runner:
            result = runner.run(_ask(engine, session, subscription, options, writer, signals))
        if options.answer_schema is not None:
            result = with_checked_answer(result, options.answer_schema)
        writer.end(result)
    except BrokenPipeError:
        _abandon(stdout)
        return ExitCode.CANCELLED
    except OSError as fault:  # for example a full disk behind stdout
        _abandon(stdout)
        with contextlib.suppress(OSError):
            stderr.write(f"ponder: the answer cannot be written: {fault.strerror}\n")
        return ExitCode.FAILURE
    except KeyboardInterrupt:
        return ExitCode.CANCELLED
    return 128 + signals[0] if signals and result.cancelled else result.exit


def _ready(stream: TextIO | None) -> TextIO:
    """A standard stream that accepts any text: UTF-8 for files and pipes, the terminal's encoding on a terminal.

    For a stream that the caller closed, output is discarded.
    """
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    return stream


def _writer(options: HeadlessOptions, out: TextIO, err: TextIO, session: str) -> Writer:
    match options.output:
        case OutputFormat.TEXT:
            return TextWriter(
                out,
                err,
                show_thinking=options.show_thinking,
                level_chosen=options.level_chosen,
                checked=options.answer_schema is not None,
            )
        case OutputFormat.JSON:
            from tui.headless.jsonl import JsonWriter

            return JsonWriter(out, session=session, hide_thinking=options.hide_thinking)
        case OutputFormat.JSONL:
            from tui.headless.jsonl import JsonLinesWriter

            return JsonLinesWriter(out, session=session, hide_thinking=options.hide_thinking)


async def _ask(
    engine: EngineThread,
    session: Session,
    subscription: Subscription[Stamped],
    options: HeadlessOptions,
    writer: Writer,
    signals: list[int],
) -> RunResult:
    life = engine.call(session.run())
    ended = asyncio.wrap_future(life)
    try:
        with _stopped_by_signals(engine, session, signals):
            await asyncio.wrap_future(engine.call(session.submit(options.blocks())))
            if signals:  # they came before there was a turn to cancel
                engine.call(session.cancel())
            # A session that failed publishes nothing more.
            ended.add_done_callback(lambda _: subscription.close())
            result = await _follow(subscription, writer, options.text_events)
    except PonderError as error:
        result = RunResult(exit=exit_of(error), error=error)
    finally:
        subscription.close()
        engine.call(session.close())
        await asyncio.wait({ended}, timeout=CLOSE_WITHIN_S)
        life.cancel()
    return _with_fault(result, ended.exception()) if ended.done() and not ended.cancelled() else result


def _with_fault(result: RunResult, fault: BaseException | None) -> RunResult:
    """Report an internal error that ended the session: the answer may not be stored."""
    if fault is None:
        return result
    LOG.error("the session ended by a fault of ours", exc_info=fault)
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    sentence = f"An internal error ended the session ({type(fault).__name__})."
    return RunResult(exit=ExitCode.FAILURE, turn=result.turn, error=PonderError(sentence, advice="Please report it."))


async def _follow(
    subscription: Subscription[Stamped], writer: Writer, text_events: tuple[type[StreamEvent], ...]
) -> RunResult:
    begun = not_saved = False

    async def frame(seconds: float) -> None:
        # Events before the first text, such as the start of the turn, must not delay it.
        if begun:
            await asyncio.sleep(seconds)

    async for batch in subscription.batches(FRAME_S, frame):
        for stamped in batch:
            if isinstance(stamped.event, TurnFinished | TurnFailed):
                return run_result_of(stamped.event, saved=not not_saved)
            if isinstance(stamped.event, SaveFailed | SaveRecovered):
                not_saved = isinstance(stamped.event, SaveFailed)
            writer.take(stamped.event)
            begun = begun or (isinstance(stamped.event, Streamed) and isinstance(stamped.event.event, text_events))
        writer.flush()
    return RunResult(exit=ExitCode.CANCELLED, cancelled=True)


@contextlib.contextmanager
def _stopped_by_signals(engine: EngineThread, session: Session, signals: list[int]) -> Iterator[None]:
    """Stop the turn and keep the answer so far on Ctrl+C, SIGTERM and SIGHUP; a second signal ends the program at once.

    Adds the signals to ``signals``.
    """
    first: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        signals.append(number)
        if not first:
            first.append(now)
            engine.call(session.cancel())
        elif now - first[0] > SAME_PRESS_S:
            # The session had its chance to end in order, and what was saved is saved.
            os._exit(128 + number)

    before = {}
    try:
        for number in ending_signals():
            before[number] = signal.signal(number, stop)
    except ValueError:  # only the main thread receives signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that end the program, without those that its parent ignores (nohup)."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    known = (getattr(signal, name) for name in names if hasattr(signal, name))
    return tuple(number for number in known if signal.getsignal(number) is not signal.SIG_IGN)


def _abandon(out: TextIO) -> None:
    """Redirect stdout to /dev/null when its reader is gone, so that the interpreter does not fail while exiting."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
