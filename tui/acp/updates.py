"""Events of a session as updates for an editor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from acp import helpers, schema

from tui.domain.assemble import whole_text
from tui.domain.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
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
from tui.domain.messages import Role, Turn
from tui.domain.printable import one_line
from tui.domain.stream import TextDelta, ThinkingDelta

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


class Updates:
    """Translates the events of one turn. Text that a repeated attempt sends again is not repeated."""

    def __init__(self) -> None:
        self._sent = ""
        """The answer's text that the editor has of this message."""
        self._repeated = ""
        """The part of it that the new attempt has not sent again yet."""

    def of(self, event: AppEvent) -> Iterator[Update]:
        """The updates for an event; none for what an editor does not show."""
        match event:
            case Streamed(event=TextDelta(_, text)):
                yield from self._text(text)
            case Streamed(event=ThinkingDelta(_, text)):
                yield helpers.update_agent_thought_text(whole_text([text]))
            case AttemptReset():
                self._repeated = self._sent
            case MessageCompleted(_, _, message) if not message.superseded:
                self._sent = self._repeated = ""
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
            case TitleChanged(title):
                yield schema.SessionInfoUpdate(session_update="session_info_update", title=title)
            case MeterChanged(reading) if reading.limit:
                yield schema.UsageUpdate(session_update="usage_update", used=reading.effective, size=reading.limit)
            case _:
                pass

    def _text(self, text: str) -> Iterator[Update]:
        if self._repeated:
            common = min(len(text), len(self._repeated))
            if text[:common] == self._repeated[:common]:
                self._repeated, text = self._repeated[common:], text[common:]
            else:  # the new attempt says something else: it follows as a paragraph of its own
                said = self._sent[: len(self._sent) - len(self._repeated)]
                self._sent, self._repeated, text = "", "", f"\n\n{said}{text}"
        if text:
            self._sent += text
            yield helpers.update_agent_message_text(whole_text([text]))


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


def _as_it_is(text: str) -> schema.ContentToolCallContent:
    """Output of a tool; editors read it as markdown."""
    return helpers.tool_content(helpers.text_block(fenced(text.rstrip("\n"))))


def replayed(turns: Sequence[Turn]) -> Iterator[Update]:
    """A stored conversation, as if it happened again."""
    for turn in turns:
        for message in turn.messages:
            for block in () if message.superseded else message.blocks:
                yield from _of_model(block) if message.role is Role.ASSISTANT else _of_user(block)


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
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _short(arguments: str) -> str:
    """The value of a call that has one, else its arguments as they are."""
    found = _json(arguments)
    texts = [value for value in found.values() if isinstance(value, str)] if isinstance(found, dict) else []
    return texts[0] if texts else arguments
