"""Messages of the protocol as lines of JSON on stdin and stdout.

What is no message is answered as such: the agent goes on for an editor that sends one wrong line.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import orjson
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS
from acp.schema import CancelNotification
from pydantic import ValidationError

from tui.domain.assemble import whole_text
from tui.domain.printable import one_line

LOG = logging.getLogger(__name__)
LONGEST = 50_000_000
CANCEL = AGENT_METHODS["session_cancel"]


class MessageLines:
    """The transport that the connection reads from and writes to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:  # the rest of the line is no message either
                await self._refuse(RequestError.parse_error({"details": f"A line has more than {LONGEST:,} bytes."}))
                continue
            if not line:
                return None
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                await self._refuse(RequestError.parse_error({"details": str(error)}))
                continue
            if not isinstance(message, dict):
                await self._refuse(RequestError.invalid_request({"details": "A message is a JSON object."}))
            elif not _is_sound(message):
                await self._refuse(RequestError.invalid_request({"details": "No request and no answer to one."}))
            elif reason := _not_obeyed(message):
                LOG.warning("ignored a notification of the editor: %s", reason)
            else:
                return _without_meta(message)

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. What a model wrote is in it: editors refuse lines with half a character or ``NaN``."""
        self._writer.write(_written(message) + b"\n")
        await self._writer.drain()

    async def close(self) -> None:
        """Every message was flushed; stdout is closed by the end of the program."""

    async def _refuse(self, error: RequestError) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": error.to_error_obj()})


def _written(message: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(message)
    except orjson.JSONEncodeError:  # half a character, or a large number
        return whole_text([json.dumps(message, ensure_ascii=False, separators=(",", ":"))]).encode()


def _is_sound(message: dict[str, Any]) -> bool:
    """Whether the connection can read it: it would end with an answer whose error or id has another type."""
    if "method" in message:
        return isinstance(message["method"], str) and _is_id(message.get("id"))
    return _is_id(message.get("id")) and isinstance(message.get("error") or {}, dict)


def _not_obeyed(message: dict[str, Any]) -> str:
    """Why a notification is not passed on; "" if it is. It has no answer, so the connection would log a traceback."""
    method = message.get("method")
    if "id" in message or not isinstance(method, str) or method.startswith("_"):
        return ""
    if method != CANCEL:
        return f"{one_line(method, 80)} is not known"
    try:
        CancelNotification.model_validate(message.get("params"))
    except ValidationError:
        return f"{CANCEL} does not name a session"
    return ""


def _without_meta(message: dict[str, Any]) -> dict[str, Any]:
    """The message without what editors add for each other: the connection takes its names for those of arguments."""
    params = message.get("params")
    if not isinstance(params, dict) or "_meta" not in params:
        return message
    return {**message, "params": {name: value for name, value in params.items() if name != "_meta"}}


def _is_id(value: object) -> bool:
    return value is None or isinstance(value, str | int)
