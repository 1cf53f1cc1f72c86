"""Servers that get things slightly wrong, the way real gateways, mocks and adapters were seen to."""

from __future__ import annotations

import json
import re
from typing import ClassVar

from tests.key_canary import OWN_KEY
from tests.providers.more_strangers import OpenResponder, Tagged
from tests.providers.strangers import Claudelike, Json, _chat_pairs, _wants_call


class Fussy(Tagged):
    """A gateway that names what its upstream does not know in a list."""

    def problem(self, body: Json) -> str | None:
        if "stream_options" in body:
            return (
                "UnsupportedParamsError: upstream does not support parameters: ['stream_options'], for model=my-model."
            )
        return super().problem(body)


class Wrapping(Tagged):
    """Raises its errors through FastAPI, which wraps them, and says in prose what it does not want."""

    def whole(self, status: int, body: object) -> None:
        super().whole(status, {"detail": body} if status == 400 else body)

    def problem(self, body: Json) -> str | None:
        if "stream_options" in body:
            return "Additional properties are not allowed ('stream_options' was unexpected)"
        return super().problem(body)


class Unstreaming(Tagged):
    """Cannot stream, and calls that its own failure."""

    def problem(self, body: Json) -> str | None:
        return _chat_pairs(body["messages"])

    def answer(self, body: Json) -> None:
        if body["stream"]:
            self.refused.append("stream")
            self.whole(501, {"error": {"message": "Streaming is not implemented.", "type": "server_error"}})
            return
        said: Json = {"role": "assistant", "content": "Fine, then.", "reasoning_content": "Hm"}
        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": '{"path": "."}'}
            said |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        self.whole(200, {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]})


class Handmade(Tagged):
    """Writes its stream by hand: CRLF, no blank between events, no end marker, thinking in a field of its own."""

    def problem(self, body: Json) -> str | None:
        return _chat_pairs(body["messages"])

    def answer(self, body: Json) -> None:
        deltas: list[Json] = [{"role": "assistant", "thinking": "Hm"}]
        if _wants_call(body["messages"]):
            deltas.append({"tool_calls": [{"function": {"name": "list_dir", "arguments": {"path": "."}}}]})
        else:
            deltas += [{"content": "Fine, "}, {"role": "assistant", "content": "then."}]
        chunks = [{"choices": [{"index": "0", "delta": delta, "finish_reason": ""}]} for delta in deltas]
        chunks.append({"choices": [{"index": "0", "delta": {}, "finish_reason": "eos"}]})
        self.pieces([f"data:{json.dumps(chunk)}\r\n".encode() for chunk in chunks], "text/plain")


class Toolless(Tagged):
    """A server started without what it needs for tools; it would otherwise answer."""

    def problem(self, body: Json) -> str | None:
        if "tools" in body:
            return '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        return super().problem(body)


class Particular(OpenResponder):
    """A Responses server that knows a message by its type alone, and names what it does not know one by one."""

    unknown: ClassVar[tuple[str, ...]] = ("prompt_cache_key", "include")

    def problem(self, body: Json) -> str | None:
        items: list[Json] = body["input"]
        if any("type" not in item for item in items):
            return "Cannot determine type of 'item'"
        strange = [name for name in self.unknown if name in body]
        return f"Unsupported parameter(s): `{strange[0]}`" if strange else super().problem(body)


class Bearing(Claudelike):
    """A gateway before a Claude that knows one way to bring a key, and lists its models as OpenAI does."""

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it so
        if self.headers["authorization"] != f"Bearer {OWN_KEY}":
            self.whole(401, {"error": {"message": "Missing Authorization header"}})
        elif self.path != "/v1/models":
            self.whole(404, {"error": {"message": "Not Found"}})
        else:
            self.whole(200, {"data": [{"id": "my-model"}]})

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it so
        if self.headers["authorization"] == f"Bearer {OWN_KEY}":
            super().do_POST()
            return
        self.rfile.read(int(self.headers["content-length"]))
        self.refused.append("no bearer")
        self.whole(401, {"error": {"message": "Missing Authorization header"}})


class Naming(Tagged):
    """Its model calls tools by names they cannot have, and it refuses to hear those names again."""

    name: ClassVar[str] = "functions.list dir/\u00e9" * 5

    def problem(self, body: Json) -> str | None:
        for place, message in enumerate(body["messages"]):
            for call in message.get("tool_calls") or []:
                if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
                    return f"Invalid 'messages[{place}].tool_calls[0].function.name': string does not match pattern."
        return super().problem(body)

    def answer(self, body: Json) -> None:
        if not _wants_call(body["messages"]):
            super().answer(body)
            return
        called = {"index": 0, "id": "c1", "function": {"name": self.name, "arguments": "{}"}}
        delta = {"content": "<think>Hm</think>", "tool_calls": [called]}
        choices = [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]
        self.pieces([f"data: {json.dumps({'choices': choices})}\n\ndata: [DONE]\n\n".encode()], "text/event-stream")


class Echoing(Tagged):
    """Answers once, and from then on refuses the key with all its words and headers thrown back."""

    def problem(self, body: Json) -> str | None:
        if len(self.seen) == 1:
            return None
        head = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        return f"invalid key {self.headers['authorization']}; request was {json.dumps(body)[:50]} {head}"
