"""Conversation files: a conversation as JSON, with recorded response bodies as the assistant's turns.

    {"system"?, "tools"?: [{"name", "description", "parameters"}],
     "turns": [{"user": TEXT or [{"text"} | {"image": PATH}]}
               | {"response": {"wire", "provider", "model", "file"}}
               | {"results": [{"call_id", "name", "content", "error"?}]}]}

Paths are looked up beside the conversation file first, then from the working directory.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui.catalog.facts import Quirks
from tui.cli.wire.input_file import read_input
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, ImageBlock, TextBlock, ToolResultBlock, picture_type
from tui.domain.errors import ProviderError, UsageError
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.request import ToolSchema
from tui.wires.framing.body import BodyReader
from tui.wires.json_text import Json, NotJSON, child, children, dumps, loads, maybe_text, text
from tui.wires.wire import wire_named


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedResponse:
    """The source of a recorded response, as stated in the file."""

    wire: WireName
    provider: str
    model: str


PlaceLookup = Callable[[RecordedResponse], tuple[Origin, Quirks]]
"""The origin of such a response, and its server's quirks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFile:
    """A parsed conversation file."""

    system: str
    tools: tuple[ToolSchema, ...]
    turns: tuple[Turn, ...]


def read_conversation(path: Path, lookup: PlaceLookup) -> ConversationFile:
    """Read a conversation file; errors are a UsageError with the place."""
    root = _object(_read(path), f"`{path}`")
    reader = _Reader(path.parent, lookup)
    turns = root.get("turns")
    if not isinstance(turns, list):
        raise UsageError(f"`{path}` has no list of turns", advice='Write {"turns": [{"user": "Hello"}]}.')
    for number, entry in enumerate(turns, 1):
        reader.take(_object(entry, f"turn {number}"), number)
    return ConversationFile(
        system=text(root, "system"),
        tools=tuple(_tool(entry) for entry in children(root, "tools")),
        turns=tuple(reader.finished()),
    )


def _read(path: Path) -> object:
    try:
        return loads(read_input(path))
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from error
    except NotJSON as error:
        raise UsageError(f"`{path}` is not JSON: {error.message}") from error


def _object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise UsageError(f"{what} is not an object")
    return value


def _tool(entry: Json) -> ToolSchema:
    parameters = child(entry, "parameters") or {"type": "object", "properties": {}}
    return ToolSchema(name=text(entry, "name"), description=text(entry, "description"), parameters=parameters)


@dataclass(slots=True)
class _Reader:
    """Builds turns from entries: a user entry begins a turn, other entries belong to it."""

    folder: Path
    lookup: PlaceLookup
    turns: list[list[Message]] = field(default_factory=list)

    def take(self, entry: Json, number: int) -> None:
        """Add one entry of the list."""
        if "user" in entry:
            self.turns.append([Message(id=f"m{number}", role=Role.USER, blocks=self._user(entry["user"], number))])
            return
        if "response" in entry:
            message = self._response(_object(entry["response"], f"turn {number}: the response"), number)
        elif "results" in entry:
            blocks = tuple(_result(result) for result in children(entry, "results"))
            message = Message(id=f"m{number}", role=Role.TOOL, blocks=blocks)
        else:
            raise UsageError(f"turn {number} has none of the keys `user`, `response` and `results`")
        if not self.turns:
            self.turns.append([])
        self.turns[-1].append(message)

    def finished(self) -> list[Turn]:
        """The turns; one that ends with tool results is still open."""
        turns = [Turn(id=f"t{number}", messages=tuple(group)) for number, group in enumerate(self.turns, 1)]
        if turns and turns[-1].messages[-1].role is Role.TOOL:
            turns[-1] = replace(turns[-1], open=True)
        return turns

    def _path(self, name: str) -> Path:
        beside = self.folder / name
        return beside if beside.exists() else Path(name)

    def _bytes(self, name: str, number: int) -> bytes:
        try:
            return read_input(self._path(name))
        except OSError as error:
            raise UsageError(f"turn {number}: `{name}` cannot be read: {error.strerror}") from error

    def _user(self, value: object, number: int) -> tuple[Block, ...]:
        if isinstance(value, str):
            return (TextBlock(text=value),)
        blocks: list[Block] = []
        for part in children({"parts": value}, "parts"):
            name = maybe_text(part, "image")
            if name is None:
                blocks.append(TextBlock(text=text(part, "text")))
            else:
                blocks.append(_image(self._bytes(name, number), name))
        return tuple(blocks)

    def _response(self, entry: Json, number: int) -> Message:
        try:
            wire_name = WireName(text(entry, "wire"))
        except ValueError:
            known = ", ".join(WireName)
            raise UsageError(
                f"turn {number}: there is no wire `{text(entry, 'wire')}`", advice=f"The wires are {known}."
            ) from None
        source = RecordedResponse(wire=wire_name, provider=text(entry, "provider"), model=text(entry, "model"))
        origin, quirks = self.lookup(source)
        return decoded(self._bytes(text(entry, "file"), number), f"m{number}", origin, quirks)


def decoded(body: bytes, message_id: str, origin: Origin, quirks: Quirks) -> Message:
    """A recorded body as an assistant message; a truncated body is an interrupted message."""
    wire = wire_named(origin.wire)
    reader = BodyReader(wire, wire.decoder(quirks))
    assembler = Assembler()
    interrupted = None
    try:
        for event in reader.feed(body):
            assembler.feed(event)
        for event in reader.finish():
            assembler.feed(event)
    except ProviderError as error:
        interrupted = error.message
    return Message(
        id=message_id,
        role=Role.ASSISTANT,
        blocks=assembler.blocks(),
        origin=origin,
        usage=assembler.usage,
        stop=assembler.stop,
        answered_by=assembler.model if assembler.model != origin.model else None,
        interrupted=interrupted,
    )


def _result(entry: Json) -> ToolResultBlock:
    content = entry.get("content")
    content_text = content if isinstance(content, str) else "" if content is None else dumps(content)
    return ToolResultBlock(
        call_id=text(entry, "call_id"),
        name=text(entry, "name"),
        content=(TextBlock(text=content_text),),
        failed=bool(entry.get("error")),
    )


def _image(data: bytes, name: str) -> ImageBlock:
    media_type = picture_type(data)
    if media_type is None:
        raise UsageError(f"`{name}` is not an image that models accept", advice="Use PNG, JPEG, GIF or WebP.")
    return ImageBlock(media_type=media_type, data=base64.b64encode(data).decode(), name=Path(name).name)
