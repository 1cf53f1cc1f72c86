"""What travels on the bus: one conversation's life, as facts in the past tense.

The bus stamps every event with the session and a sequence number (``Stamped``); whoever attaches gets a
snapshot with the last number it contains and ignores what is not newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.blocks import ToolResultBlock
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.errors import PonderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Turn
from tui.domain.stream import StreamEvent
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.domain.usage import MeterReading


class Severity(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A prompt was accepted; ``turn`` holds its user message."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """A request went out: the clock of "waiting for the first token" starts here."""

    turn_id: str
    round: int
    attempt: int
    spec: ModelSpec
    plan: ThinkingPlan


@dataclass(frozen=True, slots=True)
class Streamed:
    """One event of the response, as the decoder made it."""

    turn_id: str
    round: int
    attempt: int
    event: StreamEvent


@dataclass(frozen=True, slots=True)
class AttemptReset:
    """What this attempt showed is void; the next attempt starts clean."""

    turn_id: str
    round: int
    attempt: int
    error: PonderError


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """The next attempt comes in ``wait_s``; the user may skip the wait or cancel."""

    turn_id: str
    wait_s: float
    attempt: int
    error: PonderError
    needs_consent: bool = False
    """The wait is long: it only happens if the user agrees."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """Nothing has come for this long."""

    turn_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class MessageCompleted:
    """A message stands as it will be stored: an answer with seals and usage, or tool results."""

    turn_id: str
    round: int
    message: Message


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A tool call waits for the user's word."""

    turn_id: str
    call_id: str
    tool: str
    summary: str
    detail: str
    """What would be done, in full and in the model's words: the command, the diff, the URL."""
    patterns: tuple[str, ...] = ()
    """What "always" would allow, narrowest first; empty when it may not be remembered."""
    note: str = ""
    """What ponder says about the call, one fact a line: the folder, the address, why a rule did not allow it."""


@dataclass(frozen=True, slots=True)
class ApprovalSettled:
    """The user (or the policy) answered."""

    turn_id: str
    call_id: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call runs."""

    turn_id: str
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A running tool said something."""

    turn_id: str
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended, well or not."""

    turn_id: str
    call_id: str
    result: ToolResultBlock
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over; ``turn`` is what is stored."""

    turn: Turn
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn is over with an error; what arrived is kept in ``turn``."""

    turn: Turn
    error: PonderError


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """Prompts that are queued behind the running turn, in the order they will be sent."""

    prompts: tuple[str, ...]
    held: bool = False
    """They are not sent by themselves: the turn before them was stopped or failed."""


@dataclass(frozen=True, slots=True)
class HistoryChanged:
    """Turns were edited, forked, undone or replaced: whoever draws them draws anew."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class MeterChanged:
    """The meter has a new reading."""

    reading: MeterReading


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model or level, with the plan and the sentences for the user."""

    spec: ModelSpec
    plan: ThinkingPlan
    note: str


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """These settings have new values."""

    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompressionStarted:
    """Finished turns are being folded into a summary."""

    turns: int
    before: int


@dataclass(frozen=True, slots=True)
class CompressionFinished:
    """The summary stands (or ``error`` says why nothing changed)."""

    before: int
    after: int
    summary: str = ""
    error: str = ""
    runs: tuple[SummaryRun, ...] = ()
    """What was asked for it, failed requests included."""


@dataclass(frozen=True, slots=True)
class FoldingChanged:
    """Finished turns are looked at through this view from now on; None is the whole history."""

    view: CompressionView | None


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """The session has another title."""

    title: str


@dataclass(frozen=True, slots=True)
class SaveFailed:
    """The store could not keep what the screen shows."""

    message: str


@dataclass(frozen=True, slots=True)
class SaveRecovered:
    """What was not saved is saved now."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the user."""

    severity: Severity
    text: str
    advice: str = ""


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
    | FoldingChanged
    | TitleChanged
    | SaveFailed
    | SaveRecovered
    | Notice
)


@dataclass(frozen=True, slots=True)
class Stamped:
    """An event with its place in the session's life."""

    session: str
    seq: int
    event: AppEvent
