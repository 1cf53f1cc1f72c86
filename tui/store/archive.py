"""The lossless JSON form of a session: writing, reading and importing; and importing exports of ChatGPT and Claude.

The form is versioned and holds every branch, signature and unknown block. An import is checked against the schema. It
keeps only settings about thinking and context, and closes turns that were unfinished. Of a conversation from ChatGPT
or Claude, it keeps text and thinking only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from tui.domain.blocks import Block, TextBlock, ThinkingBlock
from tui.domain.compression import SummaryRun
from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ModelSpec, ThinkingForm
from tui.store import sessions, summaries
from tui.store.blocks import encodable, read_blocks
from tui.store.codec import (
    Json,
    Unreadable,
    checked_block,
    dumps,
    loads,
    message_from,
    number_of,
    spec_from,
    text_of,
    to_object,
)
from tui.store.export import ExportParts
from tui.store.sessions import LAST_DATE
from tui.store.turns import WritePosition, close_turn, head_of, names_of, path_to, set_path, write_objects

FORMAT = "ponder-session"
VERSION = 1
KEPT_SETTINGS = ("reasoning.", "context.")
"""Prefixes of the settings an import keeps: none that control tool permissions or where requests are sent."""
_EXACT = frozenset({"signature", "encrypted", "data"})
"""Fields of opaque bytes, which are not searched for keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMessage:
    """A message as JSON objects."""

    id: str
    role: str
    meta: Mapping[str, object]
    blocks: Sequence[Mapping[str, object]]
    created: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTurn:
    """A turn and the id of its parent."""

    id: str
    parent: str | None
    messages: tuple[ArchivedMessage, ...]
    created: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedSession:
    """A session as read from a file."""

    title: str
    turns: tuple[ArchivedTurn, ...]
    head: str | None
    """The last turn of the active path."""
    spec: ModelSpec | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    view: Mapping[str, object] | None = None
    summaries: tuple[SummaryRun, ...] = ()
    created: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The parts of an exported session other than its turns."""

    head: Mapping[str, object]
    """Fields written before the turns."""
    turns: Sequence[int]
    tail: Mapping[str, object]
    """Fields written after the turns."""


def frame_of(connection: sqlite3.Connection, session: int, parts: ExportParts) -> Frame:
    """Collect the fields and turns to export: all branches for ``ExportParts.ALL``, else only the active path."""
    identity, title, created, updated = connection.execute(
        "SELECT id, title, created, updated FROM session WHERE seq = ?", (session,)
    ).fetchone()
    spec, settings = sessions.settings_of(connection, session)
    view = summaries.view_of(connection, session)
    head = head_of(connection, session)
    if parts is ExportParts.ALL:
        numbers = [
            row[0] for row in connection.execute("SELECT seq FROM turn WHERE session = ? ORDER BY seq", (session,))
        ]
    else:
        numbers = path_to(connection, head)
    found: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "parts": parts.value,
        "id": identity,
        "title": title,
        "created": created,
        "updated": updated,
        "spec": None if spec is None else to_object(spec),
        "settings": settings,
        "view": None if view is None else summaries.view_object(view),
        "head": None if head is None else names_of(connection, [head])[0],
    }
    runs = [summaries.run_object(run) for run in summaries.runs_of(connection, session, numbers)]
    return Frame(head=found, turns=numbers, tail={"summaries": runs})


def export_json(frame: Frame, turns: Iterable[object], conceal: Callable[[str], str]) -> Iterator[str]:
    """Serialize a session as JSON, one turn at a time."""

    def serialized(value: object) -> str:
        return dumps(_concealed(value, conceal))

    yield f'{serialized(dict(frame.head))[:-1]},"turns":['
    for number, turn in enumerate(turns):
        yield f"{',' if number else ''}{serialized(turn)}"
    yield f"],{serialized(dict(frame.tail))[1:]}"


def turn_object(connection: sqlite3.Connection, turn: int, parts: ExportParts) -> dict[str, object]:
    """A turn and its messages as JSON objects."""
    identity, created, parent = connection.execute(
        "SELECT turn.id, turn.created, parent.id FROM turn LEFT JOIN turn AS parent ON parent.seq = turn.parent"
        " WHERE turn.seq = ?",
        (turn,),
    ).fetchone()
    heads = connection.execute(
        "SELECT seq, id, role, meta, created FROM message WHERE turn = ? ORDER BY position, seq", (turn,)
    ).fetchall()
    blocks = read_blocks(connection, [head[0] for head in heads])
    messages = []
    for seq, name, role, meta_text, when in heads:
        meta = _meta(meta_text)
        kept = [block for block in blocks[seq] if _is_exported(block, parts)]
        if kept or parts is ExportParts.ALL:
            messages.append({"id": name, "role": role, "created": when, "meta": meta, "blocks": kept})
    return {"id": identity, "parent": parent, "created": created, "messages": messages}


def _meta(text: str) -> object:
    try:
        return loads(text)
    except Unreadable:
        return {}


def _is_exported(block: Json, parts: ExportParts) -> bool:
    kinds = {ExportParts.ANSWERS: ("text", "image"), ExportParts.THINKING: ("text", "image", "thinking")}
    return parts is ExportParts.ALL or block.get("kind") in kinds[parts]


def _concealed(value: object, conceal: Callable[[str], str]) -> object:
    match value:
        case str():
            return conceal(value)
        case list():
            return [_concealed(item, conceal) for item in value]
        case dict():
            return {name: item if name in _EXACT else _concealed(item, conceal) for name, item in value.items()}
        case _:
            return value


def parse_file(content: bytes) -> tuple[ArchivedSession, ...]:
    """Parse the conversations in a file of this or another program. Raises UsageError."""
    try:
        found = loads(content.decode("utf-8-sig"))
        if isinstance(found, dict) and found.get("format") == FORMAT:
            conversations: tuple[ArchivedSession, ...] = (_read_session(found),)
        else:
            conversations = foreign_conversations(found)
    except UnicodeDecodeError:
        raise UsageError("This file is not text.", advice="Import a JSON file; unpack a zip first.") from None
    except (Unreadable, RecursionError) as fault:
        raise UsageError(f"This is not a conversation that can be read: {fault}.") from None
    if not conversations:
        raise UsageError("There is no conversation in this file.")
    return conversations


def _read_session(found: Json) -> ArchivedSession:
    version = found.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise Unreadable(f"version {version}, and this program knows {VERSION}")
    turns = tuple(_read_turn(item) for item in objects(found, "turns"))
    names = {turn.id for turn in turns}
    messages = [message.id for turn in turns for message in turn.messages]
    if len(names) < len(turns) or len(set(messages)) < len(messages):
        raise Unreadable("a turn or a message is there twice")
    head = found.get("head")
    before: set[str | None] = {None}
    for turn in turns:
        if turn.parent not in before:
            raise Unreadable("a turn comes before the one it follows")
        before.add(turn.id)
    spec, view, settings = found.get("spec"), found.get("view"), found.get("settings")
    if isinstance(view, dict):
        summaries.view_from(view)
    return ArchivedSession(
        title=text_of(found, "title", ""),
        turns=turns,
        head=head if isinstance(head, str) and head in names else (turns[-1].id if turns else None),
        spec=spec_from(spec) if isinstance(spec, dict) else None,
        settings=_kept_settings(settings) if isinstance(settings, dict) else {},
        view=view if isinstance(view, dict) else None,
        summaries=tuple(
            summaries.run_from(_name(item), text_of(item, "turn"), item) for item in objects(found, "summaries", [])
        ),
        created=_date(found),
    )


def _date(found: Json) -> float | None:
    """The creation time, or None if it is missing or implausible."""
    value = number_of(found, "created")
    return float(value) if value is not None and 0 < value < sessions.LAST_DATE else None


def _kept_settings(settings: Json) -> dict[str, object]:
    return {name: value for name, value in settings.items() if name.startswith(KEPT_SETTINGS)}


def _read_turn(found: Json) -> ArchivedTurn:
    parent = found.get("parent")
    if parent is not None and not isinstance(parent, str):
        raise Unreadable("`parent` is not a text")
    return ArchivedTurn(
        id=_name(found),
        parent=parent,
        messages=tuple(_read_message(item) for item in objects(found, "messages")),
        created=_date(found),
    )


def _name(found: Json) -> str:
    name = text_of(found, "id")
    if not encodable(name):
        raise Unreadable("an `id` is not text")
    return name


def _read_message(found: Json) -> ArchivedMessage:
    meta = found.get("meta", {})
    if not isinstance(meta, dict):
        raise Unreadable("`meta` is not an object")
    blocks = objects(found, "blocks")
    message = message_from(_name(found), text_of(found, "role"), meta, tuple(map(checked_block, blocks)))
    return ArchivedMessage(id=message.id, role=message.role.value, meta=meta, blocks=blocks, created=_date(found))


def objects(found: Json, name: str, default: list[object] | None = None) -> list[dict[str, object]]:
    """A list of objects; required unless a default is given. Raises Unreadable."""
    items = found.get(name, default)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreadable(f"`{name}` is not a list of objects")
    return items


def store(connection: sqlite3.Connection, archived: ArchivedSession, identity: str, now: float) -> str:
    """Store the session as a new one and return its id."""
    beginning = sessions.NewSession(id=identity, spec=archived.spec, settings=archived.settings, title=archived.title)
    session = sessions.ensure(connection, beginning, archived.created or now)
    numbers: dict[str, int] = {}
    for turn in archived.turns:
        created = turn.created or now
        numbers[turn.id] = number = _add_turn(connection, session, turn, numbers, created)
        for message in turn.messages:
            head = (message.id, message.role, message.meta)
            write_objects(connection, WritePosition(session, number, message.created or created), head, message.blocks)
        close_turn(connection, session, number)
    path = path_to(connection, numbers.get(archived.head or ""))
    set_path(connection, session, path)
    if archived.view is not None:
        summaries.set_view(connection, session, summaries.view_from(archived.view))
    for run in archived.summaries:
        summaries.add_run(connection, session, run, now)
    sessions.touch(connection, session, now)
    return identity


def _add_turn(
    connection: sqlite3.Connection, session: int, turn: ArchivedTurn, numbers: Mapping[str, int], created: float
) -> int:
    parent = None if turn.parent is None else numbers[turn.parent]
    number = connection.execute(
        "INSERT INTO turn (id, session, parent, created) VALUES (?, ?, ?, ?)", (turn.id, session, parent, created)
    ).lastrowid
    assert number is not None
    if parent is not None:
        connection.execute("UPDATE turn SET chosen = ? WHERE seq = ?", (number, parent))
    return number


def foreign_conversations(found: object) -> tuple[ArchivedSession, ...]:
    """The conversations of an export that have messages, oldest first. Raises Unreadable if it is not one."""
    items = objects({"": found if isinstance(found, list) else [found]}, "")
    return tuple(found for item in reversed(items) if (found := _conversation(item)).turns)


def _conversation(found: Json) -> ArchivedSession:
    if isinstance(found.get("mapping"), dict):
        return _archived(_string(found, "title"), _chatgpt(found), found.get("create_time"))
    if isinstance(found.get("chat_messages"), list):
        return _archived(_string(found, "name"), _claude(found), found.get("created_at"))
    raise Unreadable("it is neither a session of ponder nor an export of ChatGPT or Claude")


def _archived(title: str, messages: Iterator[ArchivedMessage], created: object) -> ArchivedSession:
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
    return ArchivedSession(
        title=title, turns=tuple(turns), head=turns[-1].id if turns else None, created=_time(created)
    )


def _chatgpt(found: Json) -> Iterator[ArchivedMessage]:
    mapping = found["mapping"]
    assert isinstance(mapping, dict)
    path: dict[str, Json] = {}
    name = found.get("current_node", next(reversed(mapping), None))
    while isinstance(name, str) and isinstance(node := mapping.get(name), dict) and name not in path:
        path[name] = node
        name = node.get("parent")
    for number, node in enumerate(reversed(path.values())):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        role = _string(_object(message, "author"), "role")
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
                yield ThinkingBlock(text=_string(thought, "content"), form=ThinkingForm.SUMMARY)
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
        if text := _string(message, "text"):
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


def _string(found: Json, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _time(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return None
    return float(value) if isinstance(value, int | float) and 0 < value < LAST_DATE else None
