"""The events of a conversation, as published on the bus.

Each event is stamped with its session and a sequence number (``Stamped``). A subscriber gets a snapshot with the
last number it includes and ignores events up to that number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.blocks import ToolResultBlock
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid
from tui.domain.errors import PonderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Turn
from tui.domain.stream import StreamEvent
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.domain.usage import MeterReading


class Severity(StrEnum):
    """Severity of a notice."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A prompt was accepted; ``turn`` holds its user message."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """A request was sent. The time until the first token is measured from here."""

    turn_id: str
    round: int
    attempt: int
    spec: ModelSpec
    plan: ThinkingPlan


@dataclass(frozen=True, slots=True)
class Streamed:
    """One event of the response stream, unchanged from the decoder."""

    turn_id: str
    round: int
    attempt: int
    event: StreamEvent


@dataclass(frozen=True, slots=True)
class AttemptReset:
    """The output of this attempt is discarded. The next attempt starts with none."""

    turn_id: str
    round: int
    attempt: int
    error: PonderError


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """The next attempt starts in ``wait_s`` seconds. The user can skip the wait or cancel."""

    turn_id: str
    wait_s: float
    attempt: int
    error: PonderError
    needs_consent: bool = False
    """The wait is long, so the user must agree to it."""
    attempts: int = 0
    """The most attempts if all fail like this one; 0 if unknown."""
    provider: str = ""
    """The provider's title."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """No data has arrived for ``seconds``."""

    turn_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class MessageCompleted:
    """A message is complete as it will be stored: an answer with provider state and usage, or tool results."""

    turn_id: str
    round: int
    message: Message


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A tool call, or a request under a spending limit, waits for the user's decision."""

    turn_id: str
    """"" for a command that the user typed."""
    call_id: str
    tool: str
    summary: str
    detail: str
    """What the call would do, in full: the command, the diff, the URL."""
    patterns: tuple[str, ...] = ()
    """Rules that "always" could save, narrowest first; empty if the decision cannot be saved."""
    note: str = ""
    """Facts about the call, one per line: the folder, the address, why no rule allowed it."""
    answers: tuple[tuple[str, str], ...] = ()
    """(answer, text of its row) if the question is not about a tool call; otherwise the usual answers apply."""
    session: str = ""
    """The rule that the answer ``session`` gives; empty if that would allow no more than this call."""


@dataclass(frozen=True, slots=True)
class ApprovalSettled:
    """The user or the policy decided on a tool call."""

    turn_id: str
    call_id: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call started."""

    turn_id: str
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A running tool printed output."""

    turn_id: str
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended, successfully or not."""

    turn_id: str
    call_id: str
    result: ToolResultBlock
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn ended. ``turn`` is stored as it is here."""

    turn: Turn
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn ended with an error. ``turn`` contains what arrived."""

    turn: Turn
    error: PonderError


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The queued prompts, in the order in which they will be sent after the running turn."""

    prompts: tuple[str, ...]
    held: bool = False
    """The prompts wait for the user, because the turn before them was stopped or failed."""
    after_step: tuple[bool, ...] = ()
    """For each prompt, whether it is sent with the next tool results instead of after the turn; () if none is."""


@dataclass(frozen=True, slots=True)
class HistoryChanged:
    """Turns were edited, forked, undone or replaced. Views must redraw all turns."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class MeterChanged:
    """The meter has a new reading."""

    reading: MeterReading


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """The model or level changed. ``note`` is the text for the user."""

    spec: ModelSpec
    plan: ThinkingPlan
    note: str


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """These settings have new values."""

    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompressionStarted:
    """A summary of finished turns was requested."""

    turns: int
    before: int


@dataclass(frozen=True, slots=True)
class CompressionFinished:
    """The summary took effect, or ``error`` says why nothing changed."""

    before: int
    after: int
    summary: str = ""
    error: str = ""
    runs: tuple[SummaryRun, ...] = ()
    """The requests made for it, including failed ones."""


@dataclass(frozen=True, slots=True)
class CompressionChanged:
    """The compression view changed; None means the whole history is sent."""

    compression: CompressionView | None


@dataclass(frozen=True, slots=True)
class SideAnswersPaid:
    """Answers beside the conversation were paid for; they are on no path."""

    paid: tuple[Paid, ...]
    replaced: frozenset[str] = frozenset()
    """Ids of requests that were counted before and are counted in another place from now on."""


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """The session's title changed."""

    title: str


@dataclass(frozen=True, slots=True)
class SaveFailed:
    """The session could not be stored."""

    message: str


@dataclass(frozen=True, slots=True)
class SaveRecovered:
    """Everything that could not be saved before is saved."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user."""

    severity: Severity
    text: str
    advice: str = ""
    until_turn_ends: bool = False
    """Whether it concerns only the running turn."""


AppEvent = (
    TurnStarted
    | RequestStarted
    | Streamed
    | AttemptReset
    | RetryScheduled
    | Stalled
    | MessageCompleted
    | ApprovalAsked
    | ApprovalSettled
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | TurnFinished
    | TurnFailed
    | QueueChanged
    | HistoryChanged
    | MeterChanged
    | ModelChanged
    | SettingsChanged
    | CompressionStarted
    | CompressionFinished
    | CompressionChanged
    | SideAnswersPaid
    | TitleChanged
    | SaveFailed
    | SaveRecovered
    | Notice
)


@dataclass(frozen=True, slots=True)
class Stamped:
    """An event with its session and sequence number."""

    session: str
    seq: int
    event: AppEvent
