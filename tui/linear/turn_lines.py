"""The events of a session as lines, in the order in which they happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tui.domain.assemble import RepeatedText, whole_text
from tui.domain.blocks import TextBlock
from tui.domain.call_arguments import LONGEST_ARGUMENT, main_argument
from tui.domain.citations import sources_of
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    CompressionFinished,
    CompressionStarted,
    MessageCompleted,
    ModelChanged,
    Notice,
    QueueChanged,
    RequestStarted,
    RetryScheduled,
    SaveFailed,
    SaveRecovered,
    Severity,
    Stalled,
    Streamed,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.format_numbers import count, duration, noun, tokens
from tui.domain.messages import ENDED_EARLY, Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    ImageData,
    ModelLoading,
    ProviderRemark,
    ResponseStarted,
    SearchReported,
    StreamEvent,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
)
from tui.domain.thinking import ModelSpec, PlanState, ThinkingForm, ThinkingPlan, model_title
from tui.domain.web_search import WebSearch
from tui.linear.plain_markdown import PlainMarkdown
from tui.linear.sentences import (
    LONGEST_NAME,
    bare,
    error_text,
    result_text,
    retry_text,
    search_text,
    source_texts,
    stop_text,
    thought_text,
    usage_text,
    with_advice,
)

CHARACTERS_PER_TOKEN = 4
LONGEST_REMARK = 1_000


class TurnLines:
    """Follows one session."""

    def __init__(self, now: Callable[[], float], *, names_hint: bool = True) -> None:
        """``names_hint``: mention once how to read thinking."""
        self._now = now
        self.streams_thinking = False
        """Print thinking as it arrives, not only its length."""
        self.skips = False
        """The user wants no more of what arrives now."""
        self.queued: tuple[str, ...] = ()
        self._left_queue: list[str] = []
        """Prompts that were taken from the queue last."""
        self._names_hint = names_hint
        self._answerer = ""
        """The model that answered last."""
        self._named = ""
        """The model that the head of the next answer names."""
        self._head = "Answer:"
        """What the answer that begins is headed with."""
        self._text: PlainMarkdown | None = None
        self._thinking: PlainMarkdown | None = None
        self._thought_at: float | None = None
        self._thought_size = 0
        self._repeated = RepeatedText()
        self._warned: set[str] = set()
        self._index = 0
        """Of the block that the text belongs to."""
        self._cited: set[int] = set()
        self._searches: set[tuple[str, str]] = set()
        self._is_loading = False
        self._next_stall_s = 0.0
        """Only a silence of this length is reported: twice the one reported before."""

    @property
    def is_thinking(self) -> bool:
        return self._thought_at is not None

    def take(self, event: AppEvent) -> list[str]:
        """The lines of an event."""
        return list(self._lines(event))

    def stream(self, event: StreamEvent) -> list[str]:
        """The lines of an event of an answer."""
        return list(self._stream(event))

    def _lines(self, event: AppEvent) -> Iterator[str]:
        match event:
            case Streamed(event=inner):
                yield from self._stream(inner)
            case TurnStarted(turn):
                yield from self._turn_started(turn)
            case RequestStarted(spec=spec, plan=plan):
                yield from self._request_started(spec, plan)
            case AttemptReset():
                self._repeated.begin_again()
                yield from self._end_thinking()
            case MessageCompleted(message=message) if message.role is Role.ASSISTANT:
                yield from self._completed(message)
            case TurnFinished(turn):
                yield from self._end_blocks()
                yield from filter(None, [usage_text(turn)])
            case TurnFailed(_, error):
                yield from self._end_blocks()
                yield error_text(error)
            case _:
                yield from self._beside(event)

    def _beside(self, event: AppEvent) -> Iterator[str]:
        """The lines of an event that is not part of an answer."""
        match event:
            case ToolStarted(_, _, name, arguments):
                yield from self._end_blocks()
                yield f"Tool {one_line(name, LONGEST_NAME)}: {main_argument(arguments)}".rstrip(": ")
            case ToolFinished(_, _, result, seconds):
                text = "\n".join(part.text for part in result.content if isinstance(part, TextBlock))
                yield result_text(result.name, result, result.seconds or seconds, text)
            case RetryScheduled():
                yield from self._end_thinking()
                yield retry_text(event)
            case Stalled(_, seconds) if seconds >= self._next_stall_s:
                self._next_stall_s = 2 * seconds
                yield f"No data for {duration(seconds)}. Ctrl+c stops."
            case Notice(severity, text, advice):
                word = {Severity.WARNING: "Note: ", Severity.ERROR: "Error: "}.get(severity, "")
                yield f"{word}{with_advice(text, advice)}"
            case QueueChanged(prompts):
                self._left_queue = [prompt for prompt in self.queued if prompt not in prompts]
                self.queued = prompts
            case ModelChanged():
                self._answerer = ""
            case _:
                yield from rare_lines(event)

    # The turn

    def _turn_started(self, turn: Turn) -> Iterator[str]:
        self.skips = False
        prompt = " ".join(block.text for block in turn.user_blocks if isinstance(block, TextBlock))
        if any(label.startswith(prompt) for label in self._left_queue):
            self._left_queue = []
            yield f"From the queue: {one_line(prompt, LONGEST_ARGUMENT)}"

    def _request_started(self, spec: ModelSpec, plan: ThinkingPlan) -> Iterator[str]:
        name = answerer(spec, plan)
        self._next_stall_s = 0.0
        if self._text is None:
            self._head = "Answer:" if name == self._answerer else f"Answer by {name}:"
            self._named = name
        if plan.state in (PlanState.UNSUPPORTED, PlanState.UNCONTROLLED):
            return  # the user chose nothing that the model lacks
        for warning in plan.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                yield f"Note: {bare(warning)}"

    def _completed(self, message: Message) -> Iterator[str]:
        yield from self._end_blocks()
        if message.superseded:
            if message.interrupted == ENDED_EARLY:
                yield "The thinking was ended early and is not sent again."
            return
        self._repeated = RepeatedText()
        if message.answered_by is not None:
            yield f"Answered by {one_line(message.answered_by, LONGEST_NAME)}."
        self._cited.clear()
        self._searches.clear()
        yield from source_texts(sources_of(message.blocks))
        yield from filter(None, [stop_text(message)])

    # What streams

    def _stream(self, event: StreamEvent) -> Iterator[str]:
        match event:
            case TextDelta(index, text):
                yield from self._text_arrived(index, text)
            case ThinkingDelta(_, text):
                yield from self._thinking_arrived(text)
            case ThinkingBreak() if self._thought_size:
                yield from self._thinking_arrived("\n\n")
            case BlockStarted(_, "thinking", form=form):
                yield from self._end_open()
                yield from self._begin_thinking(form)
            case CitationsReceived(index):
                self._cited.add(index)
            case SearchReported(_, search):
                yield from self._searched(search)
            case ProviderRemark(_, text):
                yield f"Note: {with_advice(one_line(text, LONGEST_REMARK))}"
            case _:
                yield from self._structure(event)

    def _structure(self, event: StreamEvent) -> Iterator[str]:
        match event:
            case BlockStarted(_, "text") | BlockFinished() if self._text is not None:
                yield from self._end_thinking()
            case BlockStarted() | BlockFinished():
                yield from self._end_open()
            case ImageData():
                yield from self._end_open()
                yield "A picture."
            case ResponseStarted(restarted=True):
                yield from self._end_blocks()
                yield "The server begins its answer again."
            case ModelLoading(done=False) if not self._is_loading:
                self._is_loading = True
                yield "Loading the model."
            case ModelLoading(done=True):
                self._is_loading = False
            case _:
                pass

    def _searched(self, search: WebSearch) -> Iterator[str]:
        said = search_text(search)
        if said and (search.id, said) not in self._searches:
            self._searches.add((search.id, said))
            yield from self._end_open()
            yield said

    def _text_arrived(self, index: int, text: str) -> Iterator[str]:
        fresh, is_new = self._repeated.take(text)
        if self._thought_at is not None:
            yield from self._end_thinking()
        # A provider that cites cuts its text at every citation; other texts are paragraphs of their own.
        if index != self._index and self._cited.isdisjoint((index, self._index)) and not self._repeated.is_repeating:
            yield from self._end_blocks()
        self._index = index
        if is_new:
            yield from self._end_blocks()
            yield "The stream broke and the answer began anew. It follows in full."
        if self._text is None:
            if not fresh or fresh.isspace():
                return
            self._text = PlainMarkdown()
            yield from filter(None, [self._head])
            self._head, self._answerer = "", self._named
        yield from self._unless_skipped(self._text.feed(whole_text([fresh])))

    def _unless_skipped(self, lines: list[str]) -> list[str]:
        return [] if self.skips else lines

    def _begin_thinking(self, form: ThinkingForm | None) -> Iterator[str]:
        self._thought_at, self._thought_size = self._now(), 0
        self._thinking = PlainMarkdown()
        summary = " (a summary)" if form is ThinkingForm.SUMMARY else ""
        yield f"Thinking{summary}:" if self.streams_thinking else "Thinking…"

    def _thinking_arrived(self, text: str) -> Iterator[str]:
        if self._thinking is None:
            yield from self._end_open()
            yield from self._begin_thinking(None)
        self._thought_size += len(text)
        if self._thinking is not None and self.streams_thinking:
            yield from self._unless_skipped(self._thinking.feed(whole_text([text])))

    def _end_open(self) -> Iterator[str]:
        """End what is open where a block ends; a line that a repeated attempt may complete stays open."""
        yield from self._end_thinking()
        if not self._repeated.is_repeating:
            yield from self._end_blocks()

    def _end_blocks(self) -> Iterator[str]:
        text, self._text = self._text, None
        if text is not None:
            yield from self._unless_skipped(text.close())
        yield from self._end_thinking()

    def _end_thinking(self) -> Iterator[str]:
        if self._thought_at is None:
            return
        seconds, self._thought_at = self._now() - self._thought_at, None
        thinking, self._thinking = self._thinking, None
        if thinking is not None and self.streams_thinking:
            yield from self._unless_skipped(thinking.close())
        size = self._thought_size // CHARACTERS_PER_TOKEN or None
        said = thought_text(seconds, size, is_estimated=True)
        if not self.streams_thinking and self._names_hint and self._thought_size:
            self._names_hint = False
            said += " /thinking show prints it."
        yield said


def rare_lines(event: AppEvent) -> Iterator[str]:
    """The lines of events about compression and saving."""
    match event:
        case CompressionStarted(turns):
            yield f"Compressing {count(turns, 'turn')}."
        case CompressionFinished(error=error) if error:
            yield with_advice(f"Not compressed: {error}")
        case CompressionFinished(before, after, summary=summary) if summary:
            yield f"Compressed {tokens(before)} to {tokens(after)} {noun(after, 'token')}. /uncompress undoes it."
        case SaveFailed(message):
            yield f"NOT SAVED: {with_advice(message)}"
        case SaveRecovered():
            yield "Everything is saved again."
        case _:
            pass


def answerer(spec: ModelSpec, plan: ThinkingPlan) -> str:
    """The model and level of an answer; the demo is labelled."""
    name = model_title(spec.model)
    level = f", thinking {plan.level}" if plan.level else ""
    return f"the demo, not a real model{level}" if spec.provider == "demo" else f"{name}{level}"
