"""Blocks as rows: text in its own column, large contents in a separate table keyed by their hash."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tui.domain.digests import sha256
from tui.domain.fast_dataclass import dataclass
from tui.store.codec import UNREADABLE, Json, Unreadable, dumps, loads

APART_FROM = 64 << 10
"""Characters: longer strings in a tool result, an image or an unknown item are stored as blobs."""
PICTURE_APART_FROM = 4 << 10
APART = "$blob"
PART_OF, PART_AT = "$part_of", "$part_at"
"""Keys of a row that continues a block: the block's index and the part's offset."""
ROOM = 1 << 20
"""Number of places reserved for the blocks of one message."""
PARTS_FROM = ROOM // 2
"""The place of the first continuation row."""
OF_MESSAGE = f"(block.place >= message.seq * {ROOM} AND block.place < (message.seq + 1) * {ROOM})"
"""SQL condition: the block belongs to the message."""
PART_SIZE = 1 << 20
"""Characters: a longer text is stored in rows of at most this size, because SQLite copies a row to write or read it."""
_WITH_WORDS = frozenset({"text", "thinking"})
_GROWING = frozenset({"text", "thinking", "tool_call"})
_WITH_CONTENTS = frozenset({"tool_result", "image", "opaque"})


@dataclass(slots=True)
class BlockRow:
    kind: str
    text: str | None
    payload: str
    blobs: dict[str, bytes] = field(default_factory=dict)


def to_row(block: Mapping[str, object]) -> BlockRow:
    """Convert a codec object to a row."""
    rest = dict(block)
    kind = rest.pop("kind", UNREADABLE)
    if not isinstance(kind, str) or not encodable(kind):
        return BlockRow(UNREADABLE, None, dumps(block))
    if kind == UNREADABLE and isinstance(rest.get("row"), str):
        return BlockRow(kind, None, str(rest["row"]))
    text = None
    if kind in _WITH_WORDS:
        content = rest.get("text")
        # SQLite string functions stop at NUL, and UTF-8 cannot encode lone surrogates: such text stays in the JSON.
        if isinstance(content, str) and "\0" not in content and encodable(content):
            text = content
            del rest["text"]
    row = BlockRow(kind, text, "")
    if kind in _WITH_CONTENTS:
        limit = PICTURE_APART_FROM if kind == "image" else APART_FROM
        rest = {name: _extract_blobs(value, limit, row.blobs) for name, value in rest.items()}
    row.payload = dumps(rest)
    return row


def from_row(kind: str, text: str | None, payload: str, blobs: Mapping[str, bytes]) -> dict[str, object]:
    """Rebuild the object. A damaged row becomes an ``unreadable`` object that keeps the payload."""
    try:
        found = loads(payload)
        if not isinstance(found, dict) or kind == UNREADABLE:
            raise Unreadable("not an object")
        if kind in _WITH_CONTENTS:
            found = {name: _restore_blobs(value, blobs) for name, value in found.items()}
    except Unreadable:
        return {"kind": UNREADABLE, "row": payload}
    found["kind"] = kind
    if text is not None:
        found["text"] = text
    return found


def write_blocks(connection: sqlite3.Connection, message: int, blocks: Sequence[Json]) -> None:
    """Insert all blocks of a message that has none yet."""
    _write_heads(connection, message, blocks)
    for position, text in _long_texts(blocks).items():
        _append_parts(connection, message, position, 0, text)


def finish_blocks(connection: sqlite3.Connection, message: int, blocks: Sequence[Json]) -> None:
    """Store the final blocks of a message that grew. Parts of long texts that are stored already are not rewritten."""
    texts = _long_texts(blocks)
    stored = _stored_parts(connection, message, texts) if texts else None
    if stored is None:
        clear_blocks(connection, message)
        write_blocks(connection, message, blocks)
        return
    connection.execute(
        "DELETE FROM block WHERE place >= ? AND place < ?", (message * ROOM, message * ROOM + PARTS_FROM)
    )
    connection.executemany("DELETE FROM block WHERE place = ?", [(place,) for place in stored.others])
    connection.execute("DELETE FROM block_blob WHERE message = ?", (message,))
    _write_heads(connection, message, blocks)
    for position, text in texts.items():
        _append_parts(connection, message, position, stored.ends.get(position, 0), text)


def are_stored(connection: sqlite3.Connection, message: int, blocks: Sequence[Json]) -> bool:
    """Whether the stored blocks equal these. Long texts are compared part by part."""
    heads = connection.execute(
        "SELECT kind, text, payload FROM block WHERE place >= ? AND place < ? ORDER BY place",
        (message * ROOM, message * ROOM + PARTS_FROM),
    ).fetchall()
    if heads != [(row.kind, row.text, row.payload) for row in map(_head, blocks)]:
        return False
    texts = _long_texts(blocks)
    stored = _stored_parts(connection, message, texts)
    return stored is not None and not stored.others and stored.ends == {at: len(text) for at, text in texts.items()}


def _long_texts(blocks: Sequence[Json]) -> dict[int, str]:
    """The texts that are stored in parts, by position."""
    return {position: text for position, block in enumerate(blocks) if (text := _long_text(block))}


def _long_text(block: Json) -> str:
    text = block.get(_text_field(block)) if block.get("kind") in _GROWING else None
    return text if isinstance(text, str) and len(text) > PART_SIZE else ""


def _text_field(block: Json) -> str:
    return "arguments" if block.get("kind") == "tool_call" else "text"


def _head(block: Json) -> BlockRow:
    """The row of a block, without a text that is stored in parts."""
    return to_row({**block, _text_field(block): ""} if _long_text(block) else block)


def _write_heads(connection: sqlite3.Connection, message: int, blocks: Sequence[Json]) -> None:
    rows = list(map(_head, blocks))
    connection.executemany(
        "INSERT INTO block (place, kind, text, payload) VALUES (?, ?, ?, ?)",
        [(message * ROOM + position, row.kind, row.text, row.payload) for position, row in enumerate(rows)],
    )
    for row in rows:
        _write_blobs(connection, message, row)


def _append_parts(connection: sqlite3.Connection, message: int, position: int, at: int, text: str) -> None:
    """Append a block's text from offset ``at`` in rows of its own."""
    for start, part in _parts(text, at):
        _append_part(connection, message, position, start, part)


def _parts(text: str, at: int) -> Iterator[tuple[int, str]]:
    """Cut a text at line ends, if there are any, so that few searches meet a cut."""
    while at < len(text):
        cut = at + PART_SIZE
        if cut < len(text):
            cut = text.rfind("\n", at + PART_SIZE // 2, cut) + 1 or cut
        yield at, text[at:cut]
        at = min(cut, len(text))


def _append_part(connection: sqlite3.Connection, message: int, position: int, at: int, text: str) -> None:
    part = to_row({"kind": "text", "text": text, PART_OF: position, PART_AT: at})
    last = _last_place(connection, message) or 0
    place = max(last + 1, message * ROOM + PARTS_FROM)
    connection.execute(
        "INSERT INTO block (place, kind, text, payload) VALUES (?, ?, ?, ?)",
        (place, part.kind, part.text, part.payload),
    )


@dataclass(slots=True)
class _StoredParts:
    ends: dict[int, int]
    """How far each text is stored, by position."""
    others: list[int]
    """Places of the parts of other blocks."""


def _stored_parts(connection: sqlite3.Connection, message: int, texts: Mapping[int, str]) -> _StoredParts | None:
    """Compare the stored parts with these texts; None if they are not their beginnings."""
    found = _StoredParts({}, [])
    for place, kind, words, payload in connection.execute(
        "SELECT place, kind, text, payload FROM block WHERE place >= ? AND place < ? ORDER BY place",
        (message * ROOM + PARTS_FROM, (message + 1) * ROOM),
    ):
        part = from_row(kind, words, payload, {})
        position, text = part.get(PART_OF), part.get("text")
        if not isinstance(position, int) or position not in texts:
            found.others.append(place)
            continue
        at = found.ends.get(position, 0)
        if part.get(PART_AT) != at or not isinstance(text, str) or not texts[position].startswith(text, at):
            return None
        found.ends[position] = at + len(text)
    return found


def _write_blobs(connection: sqlite3.Connection, message: int, row: BlockRow) -> None:
    for name, content in row.blobs.items():
        connection.execute("INSERT OR IGNORE INTO blob (hash, content) VALUES (?, ?)", (name, content))
        connection.execute("INSERT OR IGNORE INTO block_blob (message, hash) VALUES (?, ?)", (message, name))


def has_blocks(connection: sqlite3.Connection, message: int) -> bool:
    return _last_place(connection, message) is not None


def grow_block(
    connection: sqlite3.Connection, message: int, position: int, at: int, block: Mapping[str, object]
) -> None:
    """Append text to a block as a separate row, so that the text already stored is not rewritten."""
    head = dict(block)
    name = _text_field(head)
    content = head.get(name) if head.get("kind") in _GROWING else None
    if isinstance(content, str):
        head[name] = ""
    row = to_row(head)
    connection.execute(
        "INSERT INTO block (place, kind, text, payload) VALUES (?, ?, ?, ?) ON CONFLICT (place)"
        " DO UPDATE SET kind = excluded.kind, text = excluded.text, payload = excluded.payload",
        (message * ROOM + position, row.kind, row.text, row.payload),
    )
    _write_blobs(connection, message, row)
    if not isinstance(content, str) or not content:
        return
    for start, part in _parts(content, 0):
        _append_part(connection, message, position, at + start, part)


def gather_blocks(connection: sqlite3.Connection, message: int) -> None:
    """Merge the parts of short texts into their blocks once a message is complete."""
    last = _last_place(connection, message)
    if last is None or last < message * ROOM + PARTS_FROM:
        return
    finish_blocks(connection, message, read_blocks(connection, [message])[message])


def _last_place(connection: sqlite3.Connection, message: int) -> int | None:
    (place,) = connection.execute(
        "SELECT max(place) FROM block WHERE place >= ? AND place < ?", (message * ROOM, (message + 1) * ROOM)
    ).fetchone()
    return None if place is None else int(place)


def clear_blocks(connection: sqlite3.Connection, message: int) -> None:
    """Delete all blocks of a message."""
    connection.execute("DELETE FROM block WHERE place >= ? AND place < ?", (message * ROOM, (message + 1) * ROOM))
    connection.execute("DELETE FROM block_blob WHERE message = ?", (message,))


def copy_blocks(connection: sqlite3.Connection, message: int, into: int) -> None:
    """Copy the blocks to another message; large contents are shared."""
    connection.execute(
        "INSERT INTO block (place, kind, text, payload) SELECT place + ?, kind, text, payload FROM block"
        " WHERE place >= ? AND place < ?",
        ((into - message) * ROOM, message * ROOM, (message + 1) * ROOM),
    )
    connection.execute(
        "INSERT INTO block_blob (message, hash) SELECT ?, hash FROM block_blob WHERE message = ?", (into, message)
    )


def read_blocks(connection: sqlite3.Connection, messages: Sequence[int]) -> dict[int, list[dict[str, object]]]:
    """Read the blocks of several messages, by message."""
    found: dict[int, list[dict[str, object]]] = {message: [] for message in messages}
    for start in range(0, len(messages), 500):
        some = messages[start : start + 500]
        marks = ",".join("?" * len(some))
        contents: dict[int, dict[str, bytes]] = {}
        for message, name, content in connection.execute(
            f"SELECT message, hash, content FROM block_blob JOIN blob USING (hash) WHERE message IN ({marks})", some
        ):
            contents.setdefault(message, {})[name] = content
        for message, kind, text, payload in connection.execute(
            # This is the order of the primary key; any other would make SQLite sort a copy of all the text.
            f"SELECT message.seq, kind, text, payload FROM message CROSS JOIN block ON {OF_MESSAGE}"
            f" WHERE message.seq IN ({marks}) ORDER BY message.seq, place",
            some,
        ):
            found[message].append(from_row(kind, text, str(payload), contents.get(message, {})))
    return {message: _with_parts(blocks) for message, blocks in found.items()}


def _with_parts(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Merge the continuation rows of an open message, or of a long text, into its blocks."""
    if not any(PART_OF in row for row in rows):
        return rows
    blocks = [row for row in rows if PART_OF not in row]
    continued: dict[int, dict[object, str]] = {}
    for row in rows:
        place, text = row.get(PART_OF), row.get("text")
        if not isinstance(place, int) or not isinstance(text, str):
            continue
        # A part can be stored twice when the first write was not confirmed: the later one repeats all of it.
        continued.setdefault(place, {})[row.get(PART_AT)] = text
    for place, parts in continued.items():
        joined = "".join(parts.values())
        if place >= len(blocks) or blocks[place].get("kind") not in _GROWING:
            blocks.append({"kind": "text", "text": joined})
            continue
        name = "arguments" if blocks[place]["kind"] == "tool_call" else "text"
        blocks[place][name] = str(blocks[place].get(name) or "") + joined
    return blocks


def encodable(text: str) -> bool:
    """Whether the string can be encoded as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _extract_blobs(value: object, limit: int, blobs: dict[str, bytes]) -> object:
    match value:
        case str() if len(value) > limit:
            content = value.encode("utf-8", "surrogatepass")
            name = sha256(content).hex()
            blobs[name] = content
            return {APART: name}
        case list():
            return [_extract_blobs(item, limit, blobs) for item in value]
        case dict():
            return {name: _extract_blobs(item, limit, blobs) for name, item in value.items()}
        case _:
            return value


def _restore_blobs(value: object, blobs: Mapping[str, bytes]) -> object:
    match value:
        case {"$blob": str(name)}:
            if name not in blobs:
                raise Unreadable("a large content is missing")
            try:
                return blobs[name].decode("utf-8", "surrogatepass")
            except (UnicodeDecodeError, AttributeError):
                raise Unreadable("a large content is damaged") from None
        case list():
            return [_restore_blobs(item, blobs) for item in value]
        case dict():
            return {name: _restore_blobs(item, blobs) for name, item in value.items()}
        case _:
            return value


def searchable_text(role: str, blocks: Sequence[Json]) -> tuple[str, str, str, str]:
    """Searchable text of a message by column: prompt, answer, thinking, tools (start of long results only)."""
    prompts: list[str] = []
    answers: list[str] = []
    thinking: list[str] = []
    tools: list[str] = []
    for block in blocks:
        match block.get("kind"):
            case "text":
                (prompts if role == "user" else answers).append(_string(block, "text"))
            case "thinking":
                thinking.append(_string(block, "text"))
            case "tool_call":
                tools += [_string(block, "name"), _string(block, "arguments")[:APART_FROM]]
            case "tool_result":
                items = block.get("content")
                found = items if isinstance(items, list) else []
                tools += [_string(item, "text")[:APART_FROM] for item in found if isinstance(item, dict)]
            case "image":
                prompts.append(_string(block, "name"))
            case _:
                pass
    return "\n".join(prompts), "\n".join(answers), "\n".join(thinking), "\n".join(tools)


def _string(found: Json, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
