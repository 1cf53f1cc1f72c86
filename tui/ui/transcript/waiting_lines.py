"""What the user waits for, where the answer will be: a clock before its first words, and a line before a retry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.domain.errors import ErrorKind, PonderError, ProviderError
from tui.domain.events import RetryScheduled
from tui.domain.format_numbers import duration
from tui.domain.printable import one_line
from tui.domain.stream import (
    ModelLoading,
    PromptRead,
    ProviderRemark,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    UsageReported,
)
from tui.ui.markdown.runs import Line, Run
from tui.ui.transcript.blocks import Caption
from tui.ui.transcript.section import Section, Speaker

if TYPE_CHECKING:
    from tui.ui.transcript.transcript import Transcript

Clock = Callable[[], float]

THROBBER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_A_SECOND = 4

RETRY = "retry:"
"""The key prefix of the section that announces a retry."""
NOW, STOP = "retry:now", "retry:stop"
"""Where its words lead that can be clicked."""
LONGEST_WORDS = 160
"""Most characters of a provider's message that are quoted."""

_NOT_SHOWN = (ResponseStarted, UsageReported, ProviderRemark, ModelLoading, PromptRead, ResponseFinished)


def remove_section(transcript: Transcript, section: Section) -> None:
    """Remove a section, mostly the last one."""
    sections = transcript.column.sections
    if sections and sections[-1] is section:
        transcript.column.remove_last(section.key)
    else:  # something was added below it meanwhile
        transcript.rearrange([other for other in sections if other is not section])


class WaitingLines:
    """Shows what is awaited: a line in the live answer, or a section at the end of the conversation."""

    def __init__(self, transcript: Transcript, now: Clock) -> None:
        self._transcript = transcript
        self._now = now
        self._waiting: WaitingLine | None = None
        self._retry: RetryLine | None = None
        self.still = False
        """Nothing moves: no spinner and no clock."""
        self.key_for_now: Callable[[], str] = lambda: "n"
        """Names the key that skips the wait."""

    @property
    def is_shown(self) -> bool:
        """Whether there is such a line."""
        return self._waiting is not None or self._retry is not None

    def begin(self, section: Section, *, on_rail: bool) -> None:
        """A request was sent, and this section will hold its answer; ``on_rail`` within a tool run."""
        self.end()
        self._waiting = WaitingLine(section, self._now(), still=self.still, on_rail=on_rail)

    def take(self, event: StreamEvent) -> None:
        """End the waiting if the answer has words now."""
        if self._waiting is None:
            return
        if not self._waiting.takes(event):
            self._end_waiting()
        elif isinstance(event, ModelLoading | PromptRead):
            self._waiting.tick(self._now())
            self._transcript.column.changed(self._waiting.section)

    def stalled(self, section: Section, seconds: float) -> None:
        """Nothing has arrived for so long."""
        if self._waiting is None:
            self._waiting = WaitingLine(section, self._now() - seconds, still=self.still)
        self._waiting.stalled(self._now())
        self._transcript.column.changed(section)

    def retry(self, retry: RetryScheduled, *, from_now: bool) -> None:
        """A retry is awaited; ``from_now`` is False if it is unknown when the wait began."""
        self.end()
        began = self._now() if from_now else None
        self._retry = RetryLine(retry, began, self.key_for_now, still=self.still)
        self._transcript.column.append(self._retry.section)

    def agree(self) -> None:
        """The user accepts the long wait before a retry."""
        if self._retry is not None:
            self._retry.agree(self._now())
            self._transcript.column.changed(self._retry.section)
            self._transcript.settle()

    def tick(self) -> None:
        """Advance the clocks."""
        for line in (self._waiting, self._retry):
            if line is not None:
                line.tick(self._now())
                self._transcript.column.changed(line.section)

    def show_keys(self) -> None:
        """The draft changed, and with it perhaps the key that skips the wait."""
        if self._retry is not None and self._retry.shows_other_key(self._now()):
            self._transcript.column.changed(self._retry.section)
            self._transcript.settle()

    def forget(self) -> None:
        """The sections were replaced."""
        self._waiting = self._retry = None

    def end(self) -> None:
        """Nothing is awaited any more."""
        self._end_waiting()
        retry, self._retry = self._retry, None
        if retry is not None:
            remove_section(self._transcript, retry.section)

    def _end_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.end()
            self._transcript.column.changed(waiting.section)


class WaitingLine:
    """``⠋ waiting 1.6 s`` in an answer that has no words yet; ``still`` shows neither spinner nor clock."""

    def __init__(self, section: Section, now: float, *, still: bool, on_rail: bool = False) -> None:
        self.section = section
        self._since = now
        self._still = still
        self._what = "waiting"
        self._stalled = False
        self._block = Caption()
        self._block.on_rail = on_rail
        section.add(self._block)
        self.tick(now)

    def takes(self, event: StreamEvent) -> bool:
        """Whether the answer still has no words after this event."""
        if isinstance(event, ModelLoading):
            self._what = "waiting" if event.done else _with_share("loading the model", event.share)
        elif isinstance(event, PromptRead):
            self._what = "waiting" if event.share >= 1 else _with_share("reading the prompt", event.share)
        return isinstance(event, _NOT_SHOWN)

    def stalled(self, now: float) -> None:
        """It takes long: name the key that stops it."""
        self._stalled = True
        self.tick(now)

    def tick(self, now: float) -> None:
        """Advance spinner and clock."""
        stops = " · esc stops" if self._stalled else ""
        if self._still:
            text = f"· {self._what}{stops}"
        else:
            spent = max(0.0, now - self._since)
            text = f"{THROBBER[int(spent * FRAMES_A_SECOND) % len(THROBBER)]} {self._what} {duration(spent)}{stops}"
        self._block.show(Run(text, "muted"))
        self.section.touch()

    def end(self) -> None:
        """Remove the line: there are words, or no answer."""
        if self._block in self.section.blocks:
            self.section.blocks.remove(self._block)
            self.section.touch()


def _with_share(what: str, share: float | None) -> str:
    return what if share is None else f"{what} {share:.0%}"


class RetryLine:
    """Why the request failed, in the provider's words, and when it is sent again; the keys can be clicked."""

    def __init__(self, retry: RetryScheduled, now: float | None, key: Callable[[], str], *, still: bool) -> None:
        """``now`` is None where it is unknown when the wait began; ``key`` names the key that skips the wait."""
        self._retry = retry
        self._key = key
        self._shown_key = ""
        self._at = now + retry.wait_s if now is not None and not still else None
        self._agreed = not retry.needs_consent
        self._block = Caption(hang=2)
        self.section = Section(f"{RETRY}{retry.turn_id}:{retry.attempt}", Speaker.NOTICE)
        self.section.add(self._block)
        self.tick(now or 0.0)

    def agree(self, now: float) -> None:
        """The user accepts the long wait."""
        self._agreed = True
        self.tick(now)

    def shows_other_key(self, now: float) -> bool:
        """Name the key again; False if it is the same."""
        if self._key() == self._shown_key:
            return False
        self.tick(now)
        return True

    def tick(self, now: float) -> None:
        """Advance the clock."""
        retry = self._retry
        parts = [f"attempt {retry.attempt} of {retry.attempts}"] if retry.attempts else []
        if not self._agreed:
            parts.append(f"asks to wait {duration(retry.wait_s)}: enter waits")
        elif self._at is not None:
            parts.append(_left(self._at - now))
        line: Line = [Run(f"⚠ {failure_words(retry.provider, retry.error)}", "warning")]
        for part in parts:
            whole = part.replace(" ", UNBROKEN) if len(part) <= LONGEST_UNIT else part
            line.append(Run(f" ·{UNBROKEN}{whole}", "muted"))
        self._shown_key = self._key()
        for key, word, href in ((self._shown_key, "now", NOW), ("esc", "stop", STOP)):
            line.extend((Run(f" ·{UNBROKEN}", "muted"), Run(f"{key}\u00a0{word}", "text", href=href)))
        self._block.show(*line)
        self.section.touch()


UNBROKEN = "\u00a0"
LONGEST_UNIT = 20
"""Parts up to this length (``attempt 2 of 5``) are never broken over two rows, nor parted from the dot before them."""


def _left(seconds: float) -> str:
    """The time left in whole seconds."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 60 else duration(whole)


_FAILURES = {
    ErrorKind.RATE_LIMIT: "Rate limited by {}",
    ErrorKind.OVERLOADED: "{} is overloaded",
    ErrorKind.SERVER: "Server error at {}",
    ErrorKind.CONFLICT: "Conflict at {}",
}
"""Failures that providers report in words of their own. Messages about the others are ours."""


_EXPLAINED = frozenset(
    {
        *_FAILURES,
        *(ErrorKind.AUTH, ErrorKind.PERMISSION, ErrorKind.BILLING, ErrorKind.TIMEOUT, ErrorKind.INVALID_REQUEST),
        *(ErrorKind.CONTEXT_OVERFLOW, ErrorKind.TOO_LARGE, ErrorKind.CONTENT_FILTER),
    }
)
"""Failures whose advice begins with what happened, in a plain sentence."""


def sentences_of(error: PonderError) -> tuple[str, str]:
    """The sentence about a failure, and the details below it. A provider's own message follows a plain sentence."""
    is_reply = isinstance(error, ProviderError) and error.status is not None and error.kind in _EXPLAINED
    if not is_reply or not error.advice:
        return error.message, error.advice
    return error.advice, f"The provider says: {error.message}"


def failure_words(provider: str, error: PonderError) -> str:
    """``Rate limited by OpenAI: "try again in 20 s"``."""
    said = one_line(error.message, LONGEST_WORDS)
    if not isinstance(error, ProviderError) or error.kind not in _FAILURES or not provider:
        return said
    name = one_line(provider.partition(" (")[0], 40)
    head = _FAILURES[error.kind].format(name)
    return f'{head}: "{said}"' if said else head
