"""Servers as strangers write them: each speaks a wire its own way and is strict about what it gets back.

None shares code with the fault server or with the client; what they have in common is only how they listen.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

Json = dict[str, Any]
CALL_WORD = "folder"
"""A prompt with this word in it is answered with a tool call."""


class Stranger(BaseHTTPRequestHandler):
    """Reads JSON, remembers it, answers in pieces."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[Json]]
    paths: ClassVar[list[str]]
    refused: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.whole(404, {"error": {"message": "Not Found"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append(body)
        self.paths.append(self.path)
        problem = self.problem(body)
        if problem is not None and problem.startswith("no such route"):
            self.whole(404, {"error": {"code": 404, "message": f"File Not Found: {self.path}"}})
            return
        if problem is not None:
            self.refused.append(problem)
            self.whole(400, {"error": {"message": problem, "type": "invalid_request_error"}})
            return
        self.answer(body)

    def problem(self, body: Json) -> str | None:
        """What the server does not accept about a request."""
        raise NotImplementedError

    def answer(self, body: Json) -> None:
        """Answer it."""
        raise NotImplementedError

    def whole(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def pieces(self, pieces: list[bytes], media: str, **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(kind: type[Stranger]) -> Iterator[tuple[str, type[Stranger]]]:
    """The address of a server of this kind, and the kind with what it remembers."""
    own = type(kind.__name__, (kind,), {"seen": [], "paths": [], "refused": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", own
    finally:
        server.shutdown()
        server.server_close()


def _texts(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _wants_call(messages: list[Json]) -> bool:
    last = messages[-1]
    return last["role"] == "user" and CALL_WORD in _texts(last.get("content") or last.get("parts"))


def _chat_pairs(messages: list[Json]) -> str | None:
    waiting: list[object] = []
    for message in messages:
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"tool message for unknown call {message.get('tool_call_id')}"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"tool_calls must be followed by tool messages: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        if role == "assistant" and not message.get("content") and not waiting:
            return "empty assistant message"
    return "dangling tool calls" if waiting else None


class LlamaCpp(Stranger):
    """llama-server: loads first, ``reasoning_content``, timings, one chunk with ``choices: []``, no ``[DONE]``."""

    loading: ClassVar[dict[str, int]] = {}

    def problem(self, body: Json) -> str | None:
        if self.path != "/v1/chat/completions":
            return f"no such route {self.path}"
        return _chat_pairs(body["messages"])

    def do_POST(self) -> None:
        if not self.seen:
            self.rfile.read(int(self.headers["content-length"]))
            self.seen.append({})
            self.whole(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
            return
        super().do_POST()

    def answer(self, body: Json) -> None:
        base = {"created": 1, "id": "chatcmpl-x", "model": "qwen.gguf", "object": "chat.completion.chunk"}

        def chunk(delta: Json, reason: str | None = None) -> bytes:
            choice = {"finish_reason": reason, "index": 0, "delta": delta}
            return b"data: " + json.dumps({"choices": [choice], **base, "system_fingerprint": "b1"}).encode() + b"\n\n"

        out = [b":\n\n", chunk({"role": "assistant", "content": None})]
        out += [chunk({"reasoning_content": word}) for word in ("I ", "think", "…")]
        if _wants_call(body["messages"]):
            function: Json = {"name": "list_dir", "arguments": ""}
            # Two calls whose indexes begin at one, pieces interleaved, the second's id repeated.
            out.append(chunk({"tool_calls": [{"index": 1, "id": "aaa", "type": "function", "function": function}]}))
            out.append(chunk({"tool_calls": [{"index": 2, "id": "bbb", "type": "function", "function": function}]}))
            out.append(chunk({"tool_calls": [{"index": 1, "function": {"arguments": '{"path"'}}]}))
            out.append(chunk({"tool_calls": [{"index": 2, "id": "bbb", "function": {"arguments": '{"path": "b"}'}}]}))
            out.append(chunk({"tool_calls": [{"index": 1, "function": {"arguments": ': "a"}'}}]}))
            reason = "tool_calls"
        else:
            out += [chunk({"content": word}) for word in ("Fine", ", ", "then.")]
            reason = "stop"
        usage = {"completion_tokens": 9, "prompt_tokens": 31, "total_tokens": 40}
        out.append(chunk({}, reason))
        tail = {"choices": [], **base, "usage": usage, "timings": {"prompt_n": 1, "predicted_ms": 3.2}}
        out.append(b"data: " + json.dumps(tail).encode() + b"\n\n")
        self.pieces(out, "text/event-stream")


class Strict(Stranger):
    """A DeepSeek-like server: thinking must come back on every message that called tools."""

    def problem(self, body: Json) -> str | None:
        messages: list[Json] = body["messages"]
        for message in messages:
            if message.get("tool_calls") and message.get("reasoning_content") != "Deep.":
                return "The `reasoning_content` in the thinking mode must be passed back to the API."
        return _chat_pairs(messages)

    def answer(self, body: Json) -> None:
        message: Json = {"role": "assistant", "reasoning_content": "Deep.", "content": "Fine, then."}
        reason = "stop"
        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": '{"path": "."}'}
            message |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
            reason = "tool_calls"
        # It ignores `stream` and answers whole.
        self.whole(
            200,
            {
                "id": "1",
                "object": "chat.completion",
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
            },
        )


class Vllm(Stranger):
    """vLLM: ``reasoning``, tool calls in one chunk with an empty first name piece, usage on every chunk."""

    def problem(self, body: Json) -> str | None:
        if self.headers["authorization"] != "Bearer vllm-key-123456":
            return "Unauthorized"
        if "reasoning_content" in json.dumps(body):
            return "Unknown field reasoning_content"
        return _chat_pairs(body["messages"])

    def answer(self, body: Json) -> None:
        count = 0

        def chunk(delta: Json, reason: str | None = None) -> bytes:
            nonlocal count
            count += 1
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason, "token_ids": None}
            usage = {"prompt_tokens": 11, "total_tokens": 11 + count, "completion_tokens": count}
            whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            return f"data: {json.dumps({**whole, 'choices': [choice], 'usage': usage})}\n\n".encode()

        out = [
            chunk({"role": "assistant", "content": ""}),
            chunk({"reasoning": "Let me "}),
            chunk({"reasoning": "see"}),
        ]
        if "break" in _texts(body["messages"][-1]["content"]):
            error = {"message": "EngineCore died", "type": "InternalServerError", "param": None, "code": 500}
            out += [f"data: {json.dumps({'error': error})}\n\n".encode(), b"data: [DONE]\n\n"]
            self.pieces(out, "text/event-stream; charset=utf-8")
            return
        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": '{"path": "."}'}
            call: Json = {"id": "chatcmpl-tool-1", "type": "function", "index": 0, "function": function}
            out += [chunk({"tool_calls": [call]}), chunk({"content": ""}, "tool_calls")]
        else:
            out += [chunk({"content": "Fine, "}), chunk({"content": "then."}), chunk({"content": ""}, "stop")]
        self.pieces([*out, b"data: [DONE]\n\n"], "text/event-stream; charset=utf-8")


class Gateway(Stranger):
    """A gateway that compresses whatever is asked, ends lines with CRLF, comments, calls it ``text/plain``."""

    def problem(self, body: Json) -> str | None:
        if self.headers["x-team"] != "blue" or body.get("metadata") != {"team": "blue"}:
            return "no team"
        return _chat_pairs(body["messages"])

    def answer(self, body: Json) -> None:
        def chunk(delta: object, reason: str | None = None, **more: object) -> bytes:
            choices = [{"index": 0, "delta": delta, "finish_reason": reason, "provider_specific_fields": {}}]
            return f"id: 7\r\nevent: message\r\ndata:{json.dumps({'choices': choices, **more})}\r\n\r\n".encode()

        out = [b"\xef\xbb\xbf: OPENROUTER PROCESSING\r\n\r\n", b"retry: 100\r\n\r\n", chunk({"role": "assistant"})]
        out += [chunk({"reasoning_content": "Well", "thinking_blocks": [{"type": "thinking"}], "content": None})]
        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": ""}
            out.append(chunk({"tool_calls": [{"id": "call_9", "function": function, "type": "function"}]}))
            for part in ('{"pa', 'th": ', '"."}'):
                out.append(chunk({"tool_calls": [{"function": {"arguments": part}, "id": None, "name": None}]}))
            out.append(chunk(None, "tool_calls"))
        else:
            out += [b": still here\r\n", chunk({"content": "Fine, then.\u2028", "audio": None}), chunk({}, "stop")]
        out += [chunk({}, usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}), b"data: [DONE]"]
        packed = gzip.compress(b"".join(out))
        self.pieces([packed[:20], packed[20:]], "text/plain", Content_Encoding="gzip")


class Claudelike(Stranger):
    """A Messages server: signs what it thinks, wants it back unchanged, pings, and has events of its own."""

    def problem(self, body: Json) -> str | None:
        if self.path != "/v1/messages" or not self.headers["anthropic-version"]:
            return "no such route or no version"
        if "key-of-mine-9876" not in (self.headers["x-api-key"] or self.headers["authorization"] or ""):
            return "invalid x-api-key"
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens: Field required"
        waiting: set[object] = set()
        for place, message in enumerate(body["messages"]):
            if message["role"] != ("user", "assistant")[place % 2]:
                return "roles must alternate"
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
            if results != waiting:
                return "tool_use ids were found without tool_result blocks immediately after"
            waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
            problem = self._thinking(message["role"], blocks, called=bool(waiting))
            if problem is not None:
                return problem
        return "dangling" if waiting else None

    def _thinking(self, role: str, blocks: list[Json], *, called: bool) -> str | None:
        if any(block["type"] == "text" and not str(block["text"]).strip() for block in blocks):
            return "text content blocks must be non-empty"
        for block in blocks:
            if block["type"] == "thinking" and block.get("signature") != f"sig:{block['thinking']}":
                return "Invalid `signature` in `thinking` block"
        if role == "assistant" and called and blocks[0]["type"] != "thinking":
            return "Expected `thinking` or `redacted_thinking`, but found `tool_use`"
        return None

    def answer(self, body: Json) -> None:
        def event(kind: str, **fields: object) -> bytes:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "m1", "type": "message", "role": "assistant", "content": [], "model": "x", "usage": usage}
        out = [event("message_start", message=message), event("ping"), event("telemetry.sample", cpu=3)]
        block: Json = {"type": "thinking", "thinking": "", "signature": ""}
        out += [event("content_block_start", index=0, content_block=block)]
        for word in ("Now ", "then"):
            out.append(event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": word}))
        out.append(event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "sig:Now "}))
        out.append(event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "then"}))
        out += [event("content_block_stop", index=0), event("ping")]
        reason = "end_turn"
        last = body["messages"][-1]
        if _wants_call([last]):
            reason, start = "tool_use", {"type": "tool_use", "id": "toolu_1", "name": "list_dir", "input": {}}
            out.append(event("content_block_start", index=1, content_block=start))
            delta = {"type": "input_json_delta", "partial_json": '{"path": "."}'}
            out.append(event("content_block_delta", index=1, delta=delta))
        else:
            out.append(event("content_block_start", index=1, content_block={"type": "text", "text": ""}))
            out.append(event("content_block_delta", index=1, delta={"type": "text_delta", "text": "Fine, then."}))
            out.append(event("content_block_delta", index=1, delta={"type": "future_delta", "x": 1}))
        out.append(event("content_block_stop", index=1))
        out.append(event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 12}))
        self.pieces([*out, event("message_stop")], "text/event-stream")


class Geminilike(Stranger):
    """A generateContent server: an array for whoever does not say ``alt=sse``; wants its thought signatures back."""

    def problem(self, body: Json) -> str | None:
        if ":streamGenerateContent" not in self.path or not self.path.startswith("/v1beta/models/my-model"):
            return f"no such route {self.path}"
        if self.headers["x-goog-api-key"] != "key-of-mine-9876":
            return "API key not valid. Please pass a valid API key."
        calls = 0
        for place, content in enumerate(body["contents"]):
            if content["role"] != ("user", "model")[place % 2]:
                return "roles must alternate"
            if not content["parts"] or any(not part for part in content["parts"]):
                return "Unable to submit request because it has an empty part"
            made = [part for part in content["parts"] if "functionCall" in part]
            given = [part for part in content["parts"] if "functionResponse" in part]
            if len(given) != calls:
                return "function response parts must equal function call parts"
            calls = len(made)
            if made and made[0].get("thoughtSignature") != "c2ln":
                return "Function call is missing a thought_signature in functionCall parts."
        return "ends with a call" if calls else None

    def answer(self, body: Json) -> None:
        def chunk(parts: list[Json], reason: str | None = None, **more: object) -> Json:
            ended = {"finishReason": reason} if reason else {}
            candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ended}
            return {"candidates": [candidate], "modelVersion": "my-model", **more}

        usage = {"promptTokenCount": 8, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 15}
        chunks = [chunk([{"text": "Thinking of it", "thought": True}])]
        last = body["contents"][-1]
        if _wants_call([last]):
            call: Json = {"functionCall": {"name": "list_dir", "args": {"path": "."}}, "thoughtSignature": "c2ln"}
            chunks.append(chunk([call], "STOP", usageMetadata=usage))
        else:
            chunks += [chunk([{"text": "Fine, "}]), chunk([{"text": "then."}], "STOP", usageMetadata=usage)]
        if "alt=sse" in self.path and not getattr(self, "array", False):
            self.pieces([f"data: {json.dumps(one)}\r\n\r\n".encode() for one in chunks], "text/event-stream")
        else:
            text = json.dumps(chunks, indent=2).encode()
            self.pieces([text[at : at + 7] for at in range(0, len(text), 7)], "application/json; charset=UTF-8")


class GeminiArray(Geminilike):
    """The same, deaf to ``alt=sse``."""

    array = True
