"""Stored messages to sections: how a conversation looks when it is opened."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from tui.domain.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.call_arguments import LONGEST_ARGUMENT, main_of, parsed_arguments
from tui.domain.citations import SourceNumbers, with_markers
from tui.domain.compression import CompressionView
from tui.domain.diffs import is_diff
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count, duration, file_size, noun, tokens
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.thinking import ThinkingForm
from tui.domain.web_search import WebSearch
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.pictures.picture import Picture, PromptPicture
from tui.ui.transcript.blocks import Answer, Caption, Fold, Prompt, Renderable, with_names
from tui.ui.transcript.plain_fallback import PlainText
from tui.ui.transcript.section import Section, SectionVisibility, Speaker
from tui.ui.transcript.thinking import Thinking
from tui.ui.transcript.tool_call import ToolCall, ToolState
from tui.ui.transcript.turn_steps import AnswerStep, is_discarded, steps_of
from tui.ui.transcript.usage_line import usage_line
from tui.ui.transcript.web_search import Sources, fill_search, search_call

if TYPE_CHECKING:
    from tui.ui.pictures.pictures import Pictures

SUMMARY = "summary:"
"""The key prefix of a summary's section; there is at most one."""
FAILED = "failed:"
"""The key prefix of the line below a prompt whose request failed."""
STOPPED = "⚠ stopped before the answer began"
COMPRESSED_HERE = "compressed:"
"""The key of the line where the last compression ran."""


class FoldedText(Renderable):
    """One line that unfolds to text."""

    def __init__(self, head: str, text: str) -> None:
        self._head = head
        self._text = text
        self._open = False
        self._lines: list[Line] = []
        self._laid: tuple[int, bool] = (0, False)

    @property
    def foldable(self) -> bool:
        return True

    @property
    def is_open(self) -> bool:
        """Whether more than the one line is shown."""
        return self._open

    def height(self, width: int) -> int:
        if self._laid != (width, self._open):
            self._laid = (width, self._open)
            self._lines = [self._first(width)]
            if self._open:
                from tui.ui.markdown.document import lay_markdown  # not loaded for the first screen

                self._lines.extend([Run("┊ ", "muted"), *line] for line in lay_markdown(self._text, max(1, width - 2)))
        return len(self._lines)

    def _first(self, width: int) -> Line:
        head = one_line(f"{'▾' if self._open else '▸'} {self._head}", width)
        room = width - width_of(head) - 3
        if self._open or room < 12:
            return [Run(head, "muted", Look.BOLD)]
        return [Run(head, "muted", Look.BOLD), Run("   " + line_within(self._beside(), room), "muted")]

    def _beside(self) -> str:
        """What stands right of the head while it is closed."""
        return self._text.strip()[:400]

    def line(self, number: int) -> Line:
        return self._lines[number]

    def estimate(self, width: int) -> int:
        """One line: it is closed until the user opens it."""
        return 1

    def text(self) -> str:
        """The text behind the line."""
        return self._text

    def fold(self) -> None:
        """Open or close."""
        self._open = not self._open


class Summary(FoldedText):
    """Text sent instead of the turns of these sections, which are hidden, or dimmed below it when it is open."""

    def __init__(self, view: CompressionView, behind: Sequence[Section], changed: Callable[[Section], None]) -> None:
        super().__init__(_summary_head(view), view.summary)
        self._behind = behind
        self._changed = changed
        self._show_or_hide_turns()

    def fold(self) -> None:
        """Open or close, and show or hide the turns."""
        super().fold()
        self._show_or_hide_turns()

    def _show_or_hide_turns(self) -> None:
        for section in self._behind:
            section.set_presence(SectionVisibility.DIMMED if self.is_open else SectionVisibility.HIDDEN)
            self._changed(section)


class CompressedHere(FoldedText):
    """The line at the end of the conversation as it was when it was compressed; it unfolds to the summary as well."""

    def __init__(self, view: CompressionView) -> None:
        turns = f"{count(len(view.compressed_turns), 'turn')} compressed"
        sizes = "" if view.before is None or view.after is None else f": {tokens(view.before)} → {tokens(view.after)}"
        super().__init__(turns + sizes, view.summary)

    def _beside(self) -> str:
        return "/uncompress undoes it"

    def text(self) -> str:
        """Nothing: find and copies have the summary where it is sent."""
        return ""


def _summary_head(view: CompressionView) -> str:
    turns = count(len(view.compressed_turns), "turn")
    if view.before is None or view.after is None:
        return f"Compressed {turns} into a summary"
    return (
        f"Compressed {turns} into a summary · {tokens(view.before)} → {tokens(view.after)} {noun(view.after, 'token')}"
    )


def folded_into(
    view: CompressionView | None,
    turns: Sequence[Turn],
    sections: Sequence[Section],
    changed: Callable[[Section], None],
) -> list[Section]:
    """All sections, with those of the compressed turns behind a summary; without one, show all.

    A line says where the compression ran, unless the summary itself is there.
    """
    shown = [section for section in sections if section.key not in (SUMMARY, COMPRESSED_HERE)]
    for section in shown:
        if section.presence is not SectionVisibility.SHOWN:
            section.set_presence(SectionVisibility.SHOWN)
            changed(section)
    indexes = [] if view is None else _indexes_of(view.compressed_turns, turns, shown)
    if view is None or not indexes:
        return shown
    finished = _indexes_of(view.finished or frozenset(), turns, shown)
    after = shown[indexes[-1] + 1 :]
    if finished and finished[-1] > indexes[-1]:
        here = Section(COMPRESSED_HERE, Speaker.NOTICE)
        here.add(CompressedHere(view))
        after.insert(finished[-1] - indexes[-1], here)
    # Sections between them, such as a notice, belong to them.
    behind = shown[indexes[0] : indexes[-1] + 1]
    standing = Section(SUMMARY, Speaker.NOTICE)
    standing.add(Summary(view, behind, changed))
    return [*shown[: indexes[0]], standing, *behind, *after]


def _indexes_of(ids: Set[str], turns: Sequence[Turn], sections: Sequence[Section]) -> list[int]:
    """Where the messages of these turns are."""
    keys = {message.id for turn in turns if turn.id in ids for message in turn.messages}
    return [index for index, section in enumerate(sections) if section.key.removeprefix(FAILED) in keys]


LOG = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
"""Enough for a number that is marked as an estimate and replaced by a reported one."""

Results = Mapping[str, ToolResultBlock]
NO_RESULT = "No result: the program ended before the call finished."


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How thinking and pictures are shown."""

    thinking: bool = True
    fold: Fold = Fold.FOLDED
    pictures: Pictures | None = None
    """Draws pictures; without it only their captions are shown."""
    still: bool = False
    """Nothing moves: no spinner and no clock."""
    bare: bool = False
    """The model of a turn and what it took are shown elsewhere."""


def sections_of(turns: Sequence[Turn], options: DisplayOptions) -> Iterator[Section]:
    """Sections for turns in order; their blocks are built when first looked at."""
    for turn in turns:
        results = results_in(turn.messages)
        if not turn.open:
            results = {**_missing_results(turn.messages), **results}
        for message, step in steps_of(turn, bare=options.bare):
            section = section_of(message, results, options, step)
            if section is not None:
                yield section
            if message.role is Role.USER and message.interrupted:
                yield failure_of(message)
        if is_unanswered(turn):
            yield stop_of(turn)


def is_unanswered(turn: Turn) -> bool:
    """Whether the turn was stopped before any part of an answer came; the prompt is sent with later ones."""
    shown = [message for message in turn.messages if not is_discarded(message)]
    return not turn.open and bool(shown) and all(one.role is Role.USER and not one.interrupted for one in shown)


def stop_of(turn: Turn) -> Section:
    """The line below a prompt to which no answer began."""
    section = Section(f"{FAILED}{turn.messages[-1].id}", Speaker.NOTICE)
    section.add(Caption(Run(STOPPED, "warning")))
    return section


def failure_of(message: Message) -> Section:
    """The line below a prompt whose request failed without an answer."""
    section = Section(f"{FAILED}{message.id}", Speaker.NOTICE)
    words = one_line(message.interrupted or "", LONGEST_ARGUMENT)
    section.add(Caption(*with_names(f"✗ {words}", "error"), hang=2))
    section.add(Caption(Run("↳ This prompt is not sent with later ones.", "muted")))
    return section


def results_in(messages: Sequence[Message]) -> dict[str, ToolResultBlock]:
    """Tool results by call."""
    return {
        block.call_id: block
        for message in messages
        if message.role is Role.TOOL
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    }


def _missing_results(messages: Sequence[Message]) -> dict[str, ToolResultBlock]:
    """Substitute results for calls whose results are missing because the program ended."""
    return {
        block.call_id: ToolResultBlock(
            call_id=block.call_id, name=block.name, content=(TextBlock(text=NO_RESULT),), failed=True
        )
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolCallBlock)
    }


def section_of(message: Message, results: Results, options: DisplayOptions, step: AnswerStep) -> Section | None:
    """The section of a message; tool results are shown with their calls and have no section."""
    if message.role is Role.TOOL:
        return None
    guess = sum(_length_of(block) for block in message.blocks)
    if message.role is Role.USER:
        return Section(
            message.id, Speaker.USER, lambda: _built_or_plain(message, lambda: prompt_blocks(message, options)), guess
        )

    def build() -> list[Renderable]:
        if is_discarded(message):
            return superseded_blocks(message, step)
        if message.superseded:
            return ended_blocks(message, options, step)
        return answer_blocks(message, results, options, step)

    guess = 0 if message.superseded else guess
    section = Section(message.id, Speaker.MODEL, lambda: _built_or_plain(message, build), guess)
    section.is_continued = step.is_continued
    return section


def _built_or_plain(message: Message, build: Callable[[], list[Renderable]]) -> list[Renderable]:
    try:
        return build()
    except Exception:  # boundary of a message: an error in it must not end the program
        LOG.exception("the blocks of %s could not be made", message.id)
        return [PlainText(message_text(message))]


def message_text(message: Message) -> str:
    """All text of a message, in order."""
    return "\n\n".join(filter(None, map(_text_of, message.blocks)))


def _text_of(block: Block) -> str:
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text
        case ToolCallBlock(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case ToolResultBlock(content=content):
            return "\n".join(part.text for part in content if isinstance(part, TextBlock))
        case _:
            return ""


ENDED_WORD = "ended early, not sent"


def ended_blocks(message: Message, options: DisplayOptions, step: AnswerStep) -> list[Renderable]:
    """Thinking that the user ended to get the answer."""
    renderables: list[Renderable] = []
    for block in message.blocks:
        if isinstance(block, ThinkingBlock) and options.thinking:
            made = thinking_block(block, options)
            made.word = f"{made.word} · {ENDED_WORD}" if made.word else ENDED_WORD
            renderables.append(made)
    if not renderables:
        after = f" after {duration(message.seconds)}" if message.seconds is not None else ""
        renderables.append(Caption(Run(f"· Thinking{after} · {ENDED_WORD}", "muted")))
    return step.blocks(renderables)


def superseded_blocks(message: Message, step: AnswerStep) -> list[Renderable]:
    """A failed attempt that was repeated: one line that unfolds to its text."""
    why = one_line(message.interrupted or "repeated", 80)
    folded = FoldedText(f"Discarded attempt: {why}", message_text(message))
    folded.on_rail = step.after_calls
    return [folded]


def _length_of(block: Block) -> int:
    return len(block.text) if isinstance(block, TextBlock) else 0


def prompt_blocks(message: Message, options: DisplayOptions) -> list[Renderable]:
    """The user's prompt and its pictures."""
    text = "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))
    pictures = [PromptPicture(block, options.pictures) for block in message.blocks if isinstance(block, ImageBlock)]
    documents = [document(block) for block in message.blocks if isinstance(block, DocumentBlock)]
    return [Prompt(text), *documents, *pictures]


def document(block: DocumentBlock) -> Caption:
    """One line for an attached PDF."""
    pages = f" · {count(block.pages, 'page')}" if block.pages else ""
    length = len(block.data) * 3 // 4 - block.data[-2:].count("=")
    return Caption(Run(f"  ▤ {one_line(block.name, 60)}{pages} · {file_size(length)}", "muted"))


def answer_blocks(message: Message, results: Results, options: DisplayOptions, step: AnswerStep) -> list[Renderable]:
    """The blocks of the model's message, with the head of its turn if it is the first, and the bill if the last."""
    renderables: list[Renderable] = []
    numbers = SourceNumbers()
    searches = Searches()
    for block in with_markers(message.blocks, numbers):
        if isinstance(block, OpaqueBlock) and block.search is not None:
            made: Renderable | None = searches.shown(block.search)
        else:
            made = answer_block(block, results, options)
        if made is not None:
            renderables.append(made)
    if numbers.sources:
        renderables.append(Sources(numbers.sources))
    foot = usage_line(message, step.bill)
    return [*step.blocks(renderables), *([foot] if foot is not None else [])]


class Searches:
    """The searches of an answer: a call and its result may be two blocks, and are one row."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[WebSearch, ToolCall]] = {}

    def shown(self, search: WebSearch) -> ToolCall | None:
        """A new row, or None if a row that is shown already was completed."""
        known = self._rows.get(search.id) if search.id else None
        if known is None:
            made = search_call(search)
            self._rows[search.id] = (search, made)
            return made
        both = known[0].with_result(search)
        self._rows[search.id] = (both, known[1])
        fill_search(known[1], both)
        return None


def answer_block(block: Block, results: Results, options: DisplayOptions) -> Renderable | None:
    """One block of an answer; None for blocks that are not shown."""
    match block:
        case TextBlock(text=text):
            return Answer(text, closed=True) if text and not text.isspace() else None
        case ThinkingBlock():
            return thinking_block(block, options) if options.thinking else None
        case ToolCallBlock():
            return tool_call(block, results.get(block.call_id), options)
        case ImageBlock():
            return Picture(block, options.pictures)
        case OpaqueBlock(label=label):
            return Caption(Run(f"◇ {one_line(label, 60)}", "muted"), space=0)
        case ToolResultBlock() | DocumentBlock():
            return None


def thinking_block(block: ThinkingBlock, options: DisplayOptions) -> Thinking:
    """A finished thinking block."""
    made = Thinking(block.text, folded=options.fold)
    made.seconds = block.seconds
    made.word = block.nature
    made.narrates = block.form is ThinkingForm.NARRATION
    count_tokens(made, block.tokens)
    return made


def count_tokens(renderable: Thinking, reported: int | None) -> None:
    """Use the reported count, else estimate from the length. The length of a summary says nothing about the count."""
    renderable.tokens, renderable.tokens_estimated = reported, reported is None
    if reported is None and renderable.has_text and not renderable.word:
        renderable.tokens = renderable.size // CHARACTERS_PER_TOKEN


def tool_call(block: ToolCallBlock, result: ToolResultBlock | None, options: DisplayOptions) -> ToolCall:
    """A call with its result, if it has one."""
    renderable = ToolCall(block.name)
    fill_arguments(renderable, block.arguments)
    if result is not None:
        fill_result(renderable, result, options)
    elif block.partial:
        renderable.state = ToolState.FAILED
    return renderable


def fill_arguments(renderable: ToolCall, arguments: str) -> None:
    """Show the arguments of a call, indented if they are a JSON object of usual size."""
    parsed = parsed_arguments(arguments)
    renderable.main_argument = main_of(parsed, arguments)
    try:
        indented = json.dumps(parsed, indent=2, ensure_ascii=False) if parsed is not None else None
    except RecursionError:
        indented = None
    renderable.detail = [("json", indented)] if indented is not None else [("", arguments)]


def state_of(result: ToolResultBlock) -> ToolState:
    """How a call that has a result is marked."""
    if result.denied:
        return ToolState.DENIED
    if result.stopped:
        return ToolState.STOPPED
    return ToolState.FAILED if result.failed else ToolState.DONE


def fill_result(renderable: ToolCall, result: ToolResultBlock, options: DisplayOptions) -> None:
    """Show the result of a call."""
    for picture in renderable.pictures:
        picture.drop_layout()
    renderable.pictures = [Picture(part, options.pictures) for part in result.content if isinstance(part, ImageBlock)]
    renderable.state = state_of(result)
    renderable.seconds = result.seconds
    renderable.note = result.note
    renderable.has_diff = bool(result.diff)
    if result.diff:
        renderable.detail = [("diff", result.diff)]
        return
    text = "\n".join(part.text for part in result.content if isinstance(part, TextBlock))
    language = "diff" if is_diff(text) else ""
    renderable.detail = [*renderable.detail[:1], (language, text)]
