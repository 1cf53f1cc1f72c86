"""More servers as strangers write them: those that refuse what they do not know, and the Responses format."""

from __future__ import annotations

import json
from typing import ClassVar

from tests.providers.strangers import CALL_WORD, Claudelike, Json, Stranger, _chat_pairs, _texts, _wants_call

KNOWN = {"model", "messages", "stream", "max_tokens", "temperature", "top_p", "tools"}


class Stern(Stranger):
    """Knows no ``stream_options`` and no field in a message it does not use, and says so as pydantic says it."""

    def problem(self, body: Json) -> str | None:
        strange = [name for name in body if name not in KNOWN]
        if strange:
            return (
                f"[{{'type': 'extra_forbidden', 'loc': ('body', '{strange[0]}'), "
                "'msg': 'Extra inputs are not permitted'}]"
            )
        for place, message in enumerate(body["messages"]):
            if "reasoning_content" in message:
                return f"messages.{place}.reasoning_content: Extra inputs are not permitted"
        return _chat_pairs(body["messages"])

    def answer(self, body: Json) -> None:
        def chunk(delta: Json, reason: str | None = None) -> bytes:
            choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
            return f"data: {json.dumps({'choices': choices})}\n\n".encode()

        out = [chunk({"reasoning_content": "Hm"})]
        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": {"path": "."}}  # an object where text belongs
            out += [chunk({"tool_calls": [{"index": 0, "id": "", "function": function}]}), chunk({}, "stop")]
        else:
            out += [chunk({"content": "Fine, then."}), chunk({}, "stop")]
        self.pieces(out, "application/octet-stream")


class Tagged(Stranger):
    """Hides its thinking in the text, and its tool call's id is a number."""

    def problem(self, body: Json) -> str | None:
        if "<think>" in json.dumps(body["messages"]):
            return "thinking came back"
        return _chat_pairs(body["messages"])

    def answer(self, body: Json) -> None:
        def chunk(delta: Json, reason: str | None = None) -> bytes:
            choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
            return f"data: {json.dumps({'choices': choices})}\n\n".encode()

        out = [chunk({"content": piece}) for piece in ("\n<th", "ink>Hm", "m</thi", "nk>\n\n")]
        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": '{"path": "."}'}
            out += [chunk({"tool_calls": [{"index": 0, "id": "t-1", "function": function}]}), chunk({}, "tool_calls")]
        else:
            out += [chunk({"content": "Fine, then."}), chunk({}, "stop")]
        self.pieces([*out, b"data: [DONE]\n\n"], "text/event-stream")


class Unsigned(Claudelike):
    """A Messages server that thinks without signing, and wants its thinking back all the same."""

    def _thinking(self, role: str, blocks: list[Json], *, called: bool) -> str | None:
        if role == "assistant" and called and blocks[0]["type"] != "thinking":
            return "Expected `thinking` or `redacted_thinking`, but found `tool_use`"
        return None

    def pieces(self, pieces: list[bytes], media: str, **headers: str) -> None:
        super().pieces([piece for piece in pieces if b"signature_delta" not in piece], media, **headers)


class Responder(Stranger):
    """A Responses server: items by reference to nothing, reasoning with encrypted content directly before its item."""

    encrypts: ClassVar[bool] = True

    def problem(self, body: Json) -> str | None:
        if self.path != "/v1/responses":
            return f"no such route {self.path}"
        if body.get("store") is not False:
            return "store must be false here"
        items: list[Json] = body["input"]
        open_calls: list[object] = []
        for place, item in enumerate(items):
            kind = item.get("type", "message")
            if kind == "reasoning":
                following = items[place + 1].get("type", "message") if place + 1 < len(items) else ""
                if following not in ("message", "function_call"):
                    return (
                        f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
                    )
                if self.encrypts and item.get("encrypted_content") != "gAAAA-secret":
                    return "The encrypted content could not be verified."
            if kind == "function_call":
                before = items[place - 1].get("type") if place else ""
                if self.encrypts and before != "reasoning":
                    return "function_call was provided without its required 'reasoning' item"
                open_calls.append(item["call_id"])
            if kind == "function_call_output":
                if item["call_id"] not in open_calls:
                    return "No tool call found for function call output"
                open_calls.remove(item["call_id"])
        return "No tool output found for function call" if open_calls else None

    def thoughts(self) -> Json:
        """What a reasoning item holds."""
        summary = [{"type": "summary_text", "text": "Thought."}]
        return {"summary": summary, "encrypted_content": "gAAAA-secret"} if self.encrypts else {"summary": summary}

    def answer(self, body: Json) -> None:
        number = 0

        def event(kind: str, **fields: object) -> bytes:
            nonlocal number
            number += 1
            return (
                f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **fields})}\n\n".encode()
            )

        response: Json = {"id": "resp_1", "object": "response", "model": body["model"], "status": "in_progress"}
        out = [event("response.created", response=response), event("response.in_progress", response=response)]
        reasoning: Json = {"id": f"rs_{len(self.seen)}", "type": "reasoning", "summary": [], **self.thoughts()}
        place: Json = {"item_id": reasoning["id"], "output_index": 0, "summary_index": 0, "content_index": 0}
        kind = "reasoning_text" if "content" in reasoning else "reasoning_summary_text"
        out += [
            event("response.output_item.added", output_index=0, item={**reasoning, "summary": [], "content": []}),
            event(f"response.{kind}.delta", **place, delta="Thought."),
            event("response.output_item.done", output_index=0, item=reasoning),
        ]
        items: list[Json] = body["input"]
        if items[-1].get("role") == "user" and CALL_WORD in _texts(items[-1]["content"]):
            item: Json = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "list_dir"}
            item["arguments"] = '{"path": "."}'
            out.append(event("response.output_item.added", output_index=1, item={**item, "arguments": ""}))
            out.append(event("response.function_call_arguments.delta", output_index=1, delta=item["arguments"]))
        else:
            content = [{"type": "output_text", "text": "Fine, then.", "annotations": []}]
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
            out.append(event("response.output_item.added", output_index=1, item={**item, "content": []}))
            out.append(event("response.output_text.delta", output_index=1, content_index=0, delta="Fine, then."))
        out.append(event("response.output_item.done", output_index=1, item=item))
        usage = {"input_tokens": 4, "output_tokens": 6, "total_tokens": 10}
        done = {**response, "status": "completed", "output": [reasoning, item], "usage": usage}
        self.pieces([*out, event("response.completed", response=done)], "text/event-stream")


class OpenResponder(Responder):
    """The same from a server that encrypts nothing."""

    encrypts = False


class OpenReasoner(OpenResponder):
    """An open model behind Responses: it thinks in the clear, and wants the thinking before each call back."""

    def thoughts(self) -> Json:
        return {"content": [{"type": "reasoning_text", "text": "Thought."}], "encrypted_content": ""}

    def problem(self, body: Json) -> str | None:
        items: list[Json] = body["input"]
        for place, item in enumerate(items):
            if item.get("type") == "reasoning" and not self.holds_thinking(item):
                return "item['content'] is not an array"
            led = place > 0 and items[place - 1].get("type") == "reasoning"
            if item.get("type") == "function_call" and not led:
                return "The reasoning_content in the thinking mode must be passed back to the API."
        return super().problem(body)

    def holds_thinking(self, item: Json) -> bool:
        """Whether a reasoning item says what was thought, where this server reads it."""
        return item.get("content") == self.thoughts()["content"] and "encrypted_content" not in item


class SummaryReasoner(OpenReasoner):
    """The same with the thinking in the summary (grok-3-mini)."""

    def thoughts(self) -> Json:
        return {"summary": [{"type": "summary_text", "text": "Thought."}]}

    def holds_thinking(self, item: Json) -> bool:
        return item.get("summary") == self.thoughts()["summary"] and "content" not in item


class Ollamalike(Stranger):
    """Ollama: lines, thinking in the message, whole calls without ids, ``num_ctx`` wanted."""

    def problem(self, body: Json) -> str | None:
        if self.path != "/api/chat":
            return f"no such route {self.path}"
        if not body.get("options", {}).get("num_ctx"):
            return "num_ctx not set"
        return None

    def answer(self, body: Json) -> None:
        def line(message: Json, **more: object) -> bytes:
            said = {"role": "assistant", "content": "", **message}
            return json.dumps({"model": "q", "created_at": "2026", "message": said, "done": False, **more}).encode()

        out = [line({"thinking": "Hmm"}), line({"thinking": " ok"})]
        if _wants_call(body["messages"]):
            function: Json = {"index": 0, "name": "list_dir", "arguments": {"path": "."}}
            out.append(line({"tool_calls": [{"function": function}]}))
        else:
            out += [line({"content": "Fine, "}), line({"content": "then."})]
        out.append(line({}, done=True, done_reason="stop", prompt_eval_count=20, eval_count=5))
        self.pieces([piece + b"\n" for piece in out], "application/x-ndjson")


class Kimilike(Stranger):
    """Calls tools without a thought, and refuses such answers unless something stands for the thinking."""

    thinks_before_calls: ClassVar[bool] = False

    def problem(self, body: Json) -> str | None:
        messages: list[Json] = body["messages"]
        for place, message in enumerate(messages):
            if message.get("tool_calls") and not message.get("reasoning_content"):
                return (
                    "thinking is enabled but reasoning_content is missing in assistant tool call message "
                    f"at index {place}"
                )
        return _chat_pairs(messages)

    def answer(self, body: Json) -> None:
        def chunk(delta: Json, reason: str | None = None) -> bytes:
            choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
            return f"data: {json.dumps({'choices': choices})}\n\n".encode()

        if _wants_call(body["messages"]):
            function = {"name": "list_dir", "arguments": '{"path": "."}'}
            out = [chunk({"reasoning_content": "Hm"})] if self.thinks_before_calls else []
            out += [chunk({"tool_calls": [{"index": 0, "id": "t-1", "function": function}]}), chunk({}, "tool_calls")]
        else:
            out = [chunk({"reasoning_content": "Hm"}), chunk({"content": "Fine, then."}), chunk({}, "stop")]
        self.pieces([*out, b"data: [DONE]\n\n"], "text/event-stream")


class Reticent(Kimilike):
    """Accepts no replacement: only the thinking itself."""

    def problem(self, body: Json) -> str | None:
        messages: list[Json] = body["messages"]
        if any(message["role"] == "assistant" and message.get("reasoning_content") != "Hm" for message in messages):
            return "The reasoning_content in the thinking mode must be passed back to the API."
        return _chat_pairs(messages)


class Cutting(Tagged):
    """Stops in the middle, at its output limit."""

    def answer(self, body: Json) -> None:
        choices = [{"index": 0, "message": {"role": "assistant", "content": "Half of"}, "finish_reason": "length"}]
        self.whole(200, {"choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
