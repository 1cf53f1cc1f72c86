"""Events of a session as updates for an editor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import orjson
from acp import helpers, schema

from tui.domain.assemble import RepeatedText, whole_text
from tui.domain.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.citations import searches_of, shown_address, shown_title, source_lines, sources_of
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    MessageCompleted,
    MeterChanged,
    Streamed,
    TitleChanged,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)
from tui.domain.fenced import fenced
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.stream import ResponseStarted, SearchReported, TextDelta, ThinkingDelta
from tui.domain.web_search import WEB_SEARCH, WebSearch, error_sentence

Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)
ToolKind = Literal["read", "edit", "search", "execute", "fetch", "other"]
TOOL_KINDS: Mapping[str, ToolKind] = {
    "read_file": "read",
    "list_dir": "read",
    "glob": "search",
    "grep": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "shell": "execute",
    "fetch_url": "fetch",
}
LONGEST_TITLE = 120
DEEPEST = 50
"""Deeper arguments are passed on as text: readers of JSON have limits, and an editor would lose the whole line."""


class Updates:
    """Translates the events of one turn. Text that a repeated attempt sends again is not repeated."""

    def __init__(self) -> None:
        self._answer = RepeatedText()
        self._searches: dict[str, WebSearch] = {}

    def of(self, event: AppEvent) -> Iterator[Update]:
        """The updates for an event; none for what an editor does not show."""
        match event:
            case Streamed(event=TextDelta(_, text)):
                yield from self._text(text)
            case Streamed(event=ThinkingDelta(_, text)):
                yield helpers.update_agent_thought_text(whole_text([text]))
            case AttemptReset() | Streamed(event=ResponseStarted(restarted=True)):
                self._answer.begin_again()
            case Streamed(_, round_, attempt, SearchReported(index, search)):
                yield self._searched(search.id or f"{WEB_SEARCH}_{round_}_{attempt}_{index}", search)
            case MessageCompleted(_, _, message) if not message.superseded:
                self._answer = RepeatedText()
                yield from _sources(message)
            case ToolStarted(_, call_id, name, arguments):
                yield started(call_id, name, arguments)
            case ToolProgressed(_, call_id, text):
                yield schema.ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=call_id,
                    status="in_progress",
                    content=[_as_it_is(whole_text([text]))],
                )
            case ToolFinished(_, call_id, result):
                yield finished(call_id, result)
            case TitleChanged() | MeterChanged():
                yield from _of_session(event)
            case _:
                pass

    def _searched(self, search_id: str, search: WebSearch) -> Update:
        known = self._searches.get(search_id)
        both = self._searches[search_id] = search if known is None else known.with_result(search)
        return _search_started(search_id, both) if known is None else _search_changed(search_id, both)

    def _text(self, text: str) -> Iterator[Update]:
        fresh, is_new = self._answer.take(text)
        if fresh:  # an attempt that differs follows as a paragraph of its own
            yield helpers.update_agent_message_text(whole_text(["\n\n", fresh] if is_new else [fresh]))


def _of_session(event: TitleChanged | MeterChanged) -> Iterator[Update]:
    if isinstance(event, TitleChanged):
        yield schema.SessionInfoUpdate(session_update="session_info_update", title=event.title)
    elif event.reading.limit:
        yield schema.UsageUpdate(session_update="usage_update", used=event.reading.effective, size=event.reading.limit)


def started(call_id: str, name: str, arguments: str) -> schema.ToolCallStart:
    """A tool call that runs."""
    return helpers.start_tool_call(
        call_id,
        one_line(f"{name} {_short(arguments)}", LONGEST_TITLE),
        kind=TOOL_KINDS.get(name, "other"),
        status="in_progress",
        raw_input=_json(arguments),
    )


def finished(call_id: str, result: ToolResultBlock) -> schema.ToolCallProgress:
    """The end of a tool call with its output."""
    content = [
        _as_it_is(whole_text([part.text]))
        if isinstance(part, TextBlock)
        else helpers.tool_content(helpers.image_block(part.data or "", part.media_type))
        for part in result.content
        if isinstance(part, TextBlock) or part.data
    ]
    return helpers.update_tool_call(call_id, status="failed" if result.failed else "completed", content=content)


def _search_started(search_id: str, search: WebSearch) -> schema.ToolCallStart:
    """A search that the provider runs itself: the user is not asked."""
    return helpers.start_tool_call(
        search_id,
        _search_title(search),
        kind="search",
        status=_search_status(search),
        content=_search_results(search),
        raw_input={"queries": list(search.queries), "page": search.page or None},
    )


def _search_changed(search_id: str, search: WebSearch) -> schema.ToolCallProgress:
    return helpers.update_tool_call(
        search_id, title=_search_title(search), status=_search_status(search), content=_search_results(search)
    )


def _search_title(search: WebSearch) -> str:
    return one_line(f"{WEB_SEARCH} {search.subject}", LONGEST_TITLE)


def _search_status(search: WebSearch) -> Literal["in_progress", "completed", "failed"]:
    return "failed" if search.error else "completed" if search.done else "in_progress"


def _search_results(search: WebSearch) -> list[schema.ContentToolCallContent]:
    pages = [f"{shown_title(page)}\n  {shown_address(page)}" for page in search.results or ()]
    text = error_sentence(search.error) if search.error else "\n".join(pages)
    return [_as_it_is(text)] if text else []


def _searches(message: Message) -> Iterator[Update]:
    """The searches of a stored answer."""
    for number, search in enumerate(searches_of(message.blocks)):
        yield _search_started(search.id or f"{WEB_SEARCH}_{message.id}_{number}", search)


def _sources(message: Message) -> Iterator[Update]:
    """The cited sources, as a paragraph below the answer."""
    if message.role is Role.ASSISTANT and (cited := sources_of(message.blocks)):
        lines = "\n".join(["Sources:", *source_lines(cited)])
        yield helpers.update_agent_message_text(whole_text([f"\n\n{lines}"]))


def _as_it_is(text: str) -> schema.ContentToolCallContent:
    """Output of a tool; editors read it as markdown."""
    return helpers.tool_content(helpers.text_block(fenced(text.rstrip("\n"))))


def replayed(turns: Sequence[Turn]) -> Iterator[Update]:
    """A stored conversation, as if it happened again."""
    for turn in turns:
        for message in turn.messages:
            if message.superseded:
                continue
            yield from _searches(message)
            for block in message.blocks:
                yield from _of_model(block) if message.role is Role.ASSISTANT else _of_user(block)
            yield from _sources(message)


def _of_user(block: Block) -> Iterator[Update]:
    match block:
        case TextBlock():
            yield helpers.update_user_message_text(whole_text([block.text]))
        case ImageBlock() if block.data:
            yield helpers.update_user_message(helpers.image_block(block.data, block.media_type))
        case ToolResultBlock():
            yield finished(block.call_id, block)
        case _:
            pass


def _of_model(block: Block) -> Iterator[Update]:
    match block:
        case TextBlock():
            yield helpers.update_agent_message_text(whole_text([block.text]))
        case ThinkingBlock() if block.text:
            yield helpers.update_agent_thought_text(whole_text([block.text]))
        case ToolCallBlock():
            yield started(block.call_id, block.name, block.arguments)
        case _:
            pass


def _json(arguments: str) -> object:
    """The arguments as JSON, or as the text that the model wrote if an editor may not be able to read them."""
    try:
        value = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return arguments
    return value if _is_shallow(value) else arguments


def _is_shallow(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


def _short(arguments: str) -> str:
    """The value of a call that has one, else its arguments as they are."""
    found = _json(arguments)
    texts = [value for value in found.values() if isinstance(value, str)] if isinstance(found, dict) else []
    return texts[0] if texts else arguments
