"""The arriving answer: turns stream events into blocks of one section, with running clocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tui.domain.blocks import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.citations import SourceNumbers, marked_group, marker, text_groups
from tui.domain.messages import CANCELLED, Message
from tui.domain.printable import one_line
from tui.domain.stream import (
    BlockFinished,
    BlockNamed,
    BlockStarted,
    CitationsReceived,
    ImageData,
    ResponseStarted,
    SearchReported,
    StreamEvent,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.domain.web_search import WHOLE, Citation, WebSearch
from tui.engine.timers import ThinkingTimer
from tui.ui.markdown.runs import Run
from tui.ui.pictures.picture import Picture
from tui.ui.transcript.blocks import Answer, Caption, Fold, Renderable
from tui.ui.transcript.build_sections import (
    DisplayOptions,
    count_tokens,
    fill_arguments,
)
from tui.ui.transcript.section import Section
from tui.ui.transcript.thinking import Thinking
from tui.ui.transcript.tool_call import ToolCall, ToolState
from tui.ui.transcript.turn_steps import AnswerStep, put_on_rail
from tui.ui.transcript.usage_line import usage_line
from tui.ui.transcript.web_search import Sources, fill_search, search_call

Clock = Callable[[], float]
ARRIVING_ARGUMENTS = 200
"""Characters of a call's arguments used for the line that shows them arriving."""

D = TypeVar("D", Answer, Thinking)


def message_texts(message: Message, kind: type[TextBlock] | type[ThinkingBlock]) -> list[str]:
    """The text of a message's blocks of one type."""
    return [block.text for block in message.blocks if isinstance(block, kind)]


def is_blank(text: str) -> bool:
    """Whether a text has only whitespace; a long one is not copied to find out."""
    return not text or text.isspace()


class LiveAnswer:
    """One attempt at an answer."""

    def __init__(
        self, section: Section, now: Clock, options: DisplayOptions, step: AnswerStep, thinking_rows: Callable[[], int]
    ) -> None:
        """``thinking_rows`` says how many rows live thinking takes at most."""
        self.section = section
        self._thinking_rows = thinking_rows
        section.add(Caption(*step.head))
        self._step = step
        self.calls: dict[str, ToolCall] = {}
        self._now = now
        self._display_options = options
        self._time = ThinkingTimer(now())
        self._blocks: dict[int, Renderable] = {}
        self._arguments: dict[int, list[str]] = {}
        self._cited: set[int] = set()
        """Indexes of texts whose sources the provider names."""
        self._lengths: dict[int, int] = {}
        """Characters of each text so far."""
        self._last = ""
        """The last character that came."""
        self._marked: dict[int, int] = {}
        """How many citations of each text have a marker."""
        self._numbers = SourceNumbers()
        self._searches: dict[int | str, tuple[WebSearch, ToolCall]] = {}
        """By index, and by the id that joins a call and its result."""
        self._running: Thinking | None = None
        self._index = 0
        """The block's index in the stream."""

    def feed(self, event: StreamEvent) -> None:
        """Apply an event."""
        self._time.take(event, self._now())
        match event:
            case TextDelta(index, text):
                self._answer(index).append(text)
                self._lengths[index] = self._lengths.get(index, 0) + len(text)
                self._last = text[-1:]
            case ThinkingDelta(index, text):
                thinking = self._thinking(index)
                thinking.append(text)
                thinking.seconds = self._time.of(index, self._now())
                thinking.note_pace()
            case ToolArgsDelta(index, text):
                pieces = self._arguments.setdefault(index, [])
                pieces.append(text)
                self._call(index).main_argument = one_line(
                    "".join(piece[-ARRIVING_ARGUMENTS:] for piece in pieces[-40:])[-ARRIVING_ARGUMENTS:], 200
                )
            case ThinkingBreak(index):
                self._thinking(index).append("\n\n")
            case _:
                self._structure(event)

    def written(self) -> tuple[TextBlock | ThinkingBlock, ...]:
        """The text and the thinking so far."""
        drawn = dict.fromkeys(self._blocks.values())
        return tuple(
            ThinkingBlock(text=block.text(), form=ThinkingForm.FULL)
            if isinstance(block, Thinking)
            else TextBlock(text=block.text())
            for block in drawn
            if isinstance(block, Answer | Thinking)
        )

    def tick(self) -> bool:
        """Advance the clocks; returns whether any runs."""
        running = self._running
        if running is None:
            return False
        running.seconds = self._time.of(self._index, self._now())
        count_tokens(running, None)
        return True

    def finish(self, message: Message, step: AnswerStep) -> None:
        """Replace running numbers by those of the complete message, in its place in the turn."""
        if message.interrupted == CANCELLED and self._running is not None:
            self._running.shown_after = Fold.FULL  # it was being read
        self._fold_thinking()
        self._show_reported_counts(message)
        for answer, text in zip(self._drawn(Answer), message_texts(message, TextBlock), strict=False):
            answer.adopt(text)
        for thinking, text in zip(self._drawn(Thinking), message_texts(message, ThinkingBlock), strict=False):
            thinking.words.adopt(text)
        for written in message.blocks:
            call = self.calls.get(written.call_id) if isinstance(written, ToolCallBlock) else None
            if isinstance(written, ToolCallBlock) and call is not None and call.detail[:1] == [("", written.arguments)]:
                call.detail[0] = ("", written.arguments)  # the same string instead of an equal one
        # Blank blocks are not drawn when the message is opened again, either.
        said = [block for block in self.section.blocks if not isinstance(block, Answer) or not is_blank(block.text())]
        self.section.blocks[:] = said
        for block in self._blocks.values():
            if isinstance(block, Answer):
                block.close()
        self._show_sources(message)
        self.section.blocks[:] = step.blocks(self.section.blocks[1:])
        foot = usage_line(message, step.bill)
        if foot is not None:
            self.section.add(foot)
        self.section.touch()

    def _show_sources(self, message: Message) -> None:
        """Draw the texts as they are drawn when the message is opened again: with markers, parts of a text as one."""
        groups = text_groups(message.blocks)
        texts = sum(map(len, groups))
        drawn = [block for block in self._blocks.values() if isinstance(block, Answer) and block.size]
        several = len({id(block) for block in drawn}) != len(groups)
        if len(drawn) != texts or not (several or any(part.citations for group in groups for part in group)):
            return
        numbers, blocks = SourceNumbers(), self.section.blocks
        for group in groups:
            old, drawn = drawn[: len(group)], drawn[len(group) :]
            text = marked_group(group, numbers)
            if is_blank(text):
                continue  # not drawn when the message is opened again, either
            blocks[blocks.index(old[0])] = Answer(text, closed=True) if text != old[0].text() else old[0]
            for part in old[1:]:
                if part in blocks and part is not old[0]:
                    blocks.remove(part)
        if numbers.sources:
            self.section.add(Sources(numbers.sources))

    def abandon(self) -> None:
        """End an attempt that gave no message."""
        self._fold_thinking()
        for block in self._blocks.values():
            if isinstance(block, Answer):
                block.close()

    def _drawn(self, kind: type[D]) -> list[D]:
        return [block for block in self._blocks.values() if isinstance(block, kind)]

    def _show_reported_counts(self, message: Message) -> None:
        drawn = [block for block in self._blocks.values() if isinstance(block, Thinking)]
        stored = [block for block in message.blocks if isinstance(block, ThinkingBlock)]
        for block, kept in zip(drawn, stored, strict=False):
            block.word = kept.nature
            block.seconds = kept.seconds if kept.seconds is not None else block.seconds
            count_tokens(block, kept.tokens)
        if len(drawn) == 1:
            self._bill(drawn[0], message.usage, message.cost)

    def _bill(self, thinking: Thinking, usage: Usage | None, cost: float | None) -> None:
        if usage is None or usage.thinking is None:
            return
        thinking.tokens, thinking.tokens_estimated = usage.thinking, False
        if cost and usage.output:
            thinking.cost = None

    def _structure(self, event: StreamEvent) -> None:
        match event:
            case ResponseStarted(restarted=True):
                self._start_over()
            case BlockStarted(index, "thinking", form=form):
                thinking = self._thinking(index)
                thinking.word = "summary" if form in (ThinkingForm.SUMMARY, ThinkingForm.NARRATION) else ""
                thinking.narrates = form is ThinkingForm.NARRATION
            case BlockStarted(index, "tool_call", name, call_id):
                self._named(index, name, call_id)
            case SearchReported() | CitationsReceived():
                self._on_web(event)
            case BlockStarted(_, "opaque", name):
                self._add(Caption(Run(f"◇ {one_line(name or 'provider item', 60)}", "muted")))
            case BlockNamed(index, name, call_id):
                self._named(index, name, call_id)
            case ImageData(_, data, url):
                self._add(Picture(ImageBlock(media_type="", data=data, url=url), self._display_options.pictures))
            case BlockFinished(index):
                self._finished(index)
            case _:
                pass

    def _on_web(self, event: SearchReported | CitationsReceived) -> None:
        if isinstance(event, SearchReported):
            self._search(event.index, event.search)
            return
        self._cited.add(event.index)
        if not event.in_bytes:
            self._mark(event.index, event.citations)

    def _start_over(self) -> None:
        """The server restarted its answer: discard what came before."""
        del self.section.blocks[1:]
        self._blocks.clear()
        self._arguments.clear()
        self.calls.clear()
        self._cited.clear()
        self._lengths.clear()
        self._marked.clear()
        self._numbers = SourceNumbers()
        self._searches.clear()
        self._running = None

    def _named(self, index: int, name: str | None, call_id: str | None) -> None:
        self._fold_thinking()
        call = self._call(index)
        call.name = name or call.name
        if call_id:
            self.calls[call_id] = call

    def _finished(self, index: int) -> None:
        block = self._blocks.get(index)
        if isinstance(block, Answer):
            block.close()
        elif isinstance(block, Thinking) and block is self._running:
            self._fold_thinking()
        elif isinstance(block, ToolCall):
            fill_arguments(block, "".join(self._arguments.pop(index, ())))

    def _fold_thinking(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.seconds = self._time.of(self._index, self._now())
            running.finish()

    def _add(self, block: Renderable) -> None:
        self.section.add(block)
        put_on_rail(self.section.blocks[1:], after_calls=self._step.after_calls)

    def _answer(self, index: int) -> Answer:
        block = self._blocks.get(index)
        if not isinstance(block, Answer):
            self._fold_thinking()
            block = self._blocks[index] = self._text_before(index) or Answer()
            if block not in self.section.blocks:
                self._add(block)
        return block

    def _mark(self, index: int, citations: Sequence[Citation]) -> None:
        """Put the numbers of new sources at the end of the text, if that is their place; ``finish`` puts the others."""
        known, answer = self._marked.get(index, 0), self._blocks.get(index)
        fresh, end = citations[known:], self._lengths.get(index, 0)
        if (
            fresh
            and isinstance(answer, Answer)
            and not self._last.isspace()
            and all(one.end in (WHOLE, end) for one in fresh)
        ):
            numbers = dict.fromkeys(self._numbers.number(one.source) for one in fresh)
            answer.append(f" {marker(list(numbers))}")
        self._marked[index] = len(citations)

    def _text_before(self, index: int) -> Answer | None:
        """The text that the text with this index continues: providers cut a text at its citations."""
        last = self.section.blocks[-1]
        before = max((at for at, block in self._blocks.items() if block is last), default=None)
        continues = before is not None and not self._cited.isdisjoint((before, index))
        return last if isinstance(last, Answer) and continues else None

    def _search(self, index: int, search: WebSearch) -> None:
        known = self._searches.get(index) or (self._searches.get(search.id) if search.id else None)
        if known is None:
            self._fold_thinking()
            row = search_call(search)
            self._add(row)
        else:
            search, row = known[0].with_result(search), known[1]
            fill_search(row, search)
        self._searches[index] = (search, row)
        if search.id:
            self._searches[search.id] = (search, row)

    def _thinking(self, index: int) -> Thinking:
        block = self._blocks.get(index)
        if not isinstance(block, Thinking):
            self._fold_thinking()
            block = self._blocks[index] = Thinking(
                live=True, folded=self._display_options.fold, most_rows=self._thinking_rows
            )
            self._running, self._index = block, index
            if self._display_options.thinking:
                self._add(block)
        return block

    def _call(self, index: int) -> ToolCall:
        block = self._blocks.get(index)
        if not isinstance(block, ToolCall):
            block = self._blocks[index] = ToolCall("")
            self._add(block)
        return block


__all__ = ["Clock", "Fold", "LiveAnswer", "ToolState"]
