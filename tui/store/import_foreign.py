"""Reads conversations exported by ChatGPT and Claude: text and thinking only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from tui.domain.blocks import Block, TextBlock, ThinkingBlock
from tui.domain.thinking import ThinkingForm
from tui.store.archive import Archived, ArchivedMessage, ArchivedTurn, objects
from tui.store.codec import Json, Unreadable, to_object
from tui.store.sessions import LAST_DATE

LONGEST = 1_000_000
"""Messages per conversation; stops the walk when a forged file contains a cycle."""


def foreign_conversations(found: object) -> tuple[Archived, ...]:
    """The conversations of an export that have messages, oldest first. Raises Unreadable if it is not one."""
    items = objects({"": found if isinstance(found, list) else [found]}, "")
    return tuple(found for item in reversed(items) if (found := _conversation(item)).turns)


def _conversation(found: Json) -> Archived:
    if isinstance(found.get("mapping"), dict):
        return _archived(_word(found, "title"), _chatgpt(found), found.get("create_time"))
    if isinstance(found.get("chat_messages"), list):
        return _archived(_word(found, "name"), _claude(found), found.get("created_at"))
    raise Unreadable("it is neither a session of ponder nor an export of ChatGPT or Claude")


def _archived(title: str, messages: Iterator[ArchivedMessage], created: object) -> Archived:
    turns: list[ArchivedTurn] = []
    for message in messages:
        if message.role == "user" or not turns:
            parent = turns[-1].id if turns else None
            turn = ArchivedTurn(
                id=f"turn-{len(turns) + 1}", parent=parent, messages=(message,), created=message.created
            )
            turns.append(turn)
        else:
            last = turns[-1]
            turns[-1] = ArchivedTurn(
                id=last.id, parent=last.parent, messages=(*last.messages, message), created=last.created
            )
    return Archived(title=title, turns=tuple(turns), head=turns[-1].id if turns else None, created=_time(created))


def _chatgpt(found: Json) -> Iterator[ArchivedMessage]:
    mapping = found["mapping"]
    assert isinstance(mapping, dict)
    path: list[Json] = []
    name = found.get("current_node", next(reversed(mapping), None))
    while isinstance(name, str) and isinstance(node := mapping.get(name), dict) and len(path) < LONGEST:
        path.append(node)
        name = node.get("parent")
    for number, node in enumerate(reversed(path)):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        role = _word(_object(message, "author"), "role")
        blocks = tuple(_chatgpt_blocks(_object(message, "content")))
        if blocks and role in ("user", "assistant"):
            yield _message(number, role, blocks, message.get("create_time"))


def _chatgpt_blocks(content: Json) -> Iterator[Block]:
    match content.get("content_type"):
        case "text" | "multimodal_text":
            parts = content.get("parts")
            text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
            if text:
                yield TextBlock(text=text)
        case "thoughts":
            for thought in objects(content, "thoughts"):
                yield ThinkingBlock(text=_word(thought, "content"), form=ThinkingForm.SUMMARY)
        case _:
            return


def _claude(found: Json) -> Iterator[ArchivedMessage]:
    for number, message in enumerate(objects(found, "chat_messages")):
        blocks = tuple(_claude_blocks(message))
        role = "user" if message.get("sender") == "human" else "assistant"
        if blocks:
            yield _message(number, role, blocks, message.get("created_at"))


def _claude_blocks(message: Json) -> Iterator[Block]:
    content = message.get("content")
    if not isinstance(content, list) or not content:
        if text := _word(message, "text"):
            yield TextBlock(text=text)
        return
    for item in content:
        match item:
            case {"type": "text", "text": str(text)} if text:
                yield TextBlock(text=text)
            case {"type": "thinking", "thinking": str(text)}:
                yield ThinkingBlock(text=text, form=ThinkingForm.FULL)
            case _:
                continue


def _message(number: int, role: str, blocks: tuple[Block, ...], created: object) -> ArchivedMessage:
    return ArchivedMessage(
        id=f"message-{number + 1}",
        role=role,
        meta={},
        blocks=[to_object(block) for block in blocks],
        created=_time(created),
    )


def _object(found: Json, name: str) -> Mapping[str, object]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _word(found: Json, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _time(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return None
    return float(value) if isinstance(value, int | float) and 0 < value < LAST_DATE else None
