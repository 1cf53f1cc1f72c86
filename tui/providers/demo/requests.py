"""Parses requests in each wire format and rejects those that real servers reject for missing thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.domain.fast_dataclass import dataclass
from tui.providers.demo.responses import Refusal, is_encrypted, is_signed
from tui.wires.json_text import child, children, text

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The parts of a request that decide the demo's answer."""

    prompts: tuple[str, ...]
    """The user's messages, oldest first."""
    system: str
    tools: Mapping[str, Json]
    """Name → JSON Schema of the parameters."""
    results: tuple[str, ...]
    """Tool results since the user's last message."""
    thinks: bool
    refusal: Refusal | None = None

    @property
    def prompt(self) -> str:
        """The user's last message."""
        return self.prompts[-1] if self.prompts else ""


class _Reader:
    """Collects prompts and tool results while the messages are read in order."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.results: list[str] = []
        self.missing: str | None = None

    def user(self, prompt: str) -> None:
        if prompt.strip():
            self.prompts.append(prompt)
            self.results, self.missing = [], None

    def parsed(self, *, system: str, tools: Mapping[str, Json], thinks: bool) -> ParsedRequest:
        refusal = Refusal(400, "invalid_request_error", self.missing) if self.missing and thinks else None
        return ParsedRequest(
            prompts=tuple(self.prompts),
            system=system,
            tools=tools,
            results=tuple(self.results),
            thinks=thinks,
            refusal=refusal,
        )


def content_text(value: object) -> str:
    """Return the text of a content field of any shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (text(part, "text") for part in value if isinstance(part, dict))))
    return ""


def parse_anthropic(body: Json) -> ParsedRequest:
    """Parse an Anthropic Messages request."""
    reader, thinks = _Reader(), text(body, "thinking", "type") in ("enabled", "adaptive")
    for at, message in enumerate(children(body, "messages")):
        blocks = children(message, "content")
        if text(message, "role") == "user":
            # Tool results come before text in a message; text after them is a new prompt that follows a stopped turn.
            reader.results += [
                content_text(block.get("content")) for block in blocks if text(block, "type") == "tool_result"
            ]
            reader.user(content_text(message.get("content")))
        elif any(text(block, "type") == "tool_use" for block in blocks):
            reader.missing = reader.missing or _unsigned(blocks, at)
    tools = {text(tool, "name"): child(tool, "input_schema") for tool in children(body, "tools")}
    return reader.parsed(system=content_text(body.get("system")), tools=tools, thinks=thinks)


def _unsigned(blocks: Sequence[Json], at: int) -> str | None:
    first = blocks[0]
    if text(first, "type") not in ("thinking", "redacted_thinking"):
        found = text(first, "type")
        return (
            f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )
    for index, block in enumerate(blocks):
        if text(block, "type") == "thinking" and not is_signed(text(block, "thinking"), text(block, "signature")):
            return f"messages.{at}.content.{index}: Invalid `signature` in `thinking` block"
    return None


def parse_responses(body: Json) -> ParsedRequest:
    """Parse a Responses request: a call must follow the unchanged reasoning it belongs to."""
    reader, open_reasoning = _Reader(), False
    for item in children(body, "input"):
        kind, role = text(item, "type"), text(item, "role")
        if role == "user":
            reader.user(content_text(item.get("content")))
        elif kind == "reasoning":
            open_reasoning = True
            if not is_encrypted(text(item, "encrypted_content")):
                reader.missing = f"The encrypted content for item {text(item, 'id')} could not be verified."
        elif kind == "function_call" and not open_reasoning:
            reader.missing = (
                f"Item '{text(item, 'id')}' of type 'function_call' was provided without its required item."
            )
        elif kind == "function_call_output":
            open_reasoning = False
            reader.results.append(content_text(item.get("output")))
    tools = {text(tool, "name"): child(tool, "parameters") for tool in children(body, "tools")}
    if isinstance(body.get("input"), str):
        reader.user(text(body, "input"))
    thinks = text(body, "reasoning", "effort") not in ("", "none")
    return reader.parsed(system=text(body, "instructions"), tools=tools, thinks=thinks)


def parse_chat(body: Json) -> ParsedRequest:
    """Parse a Chat Completions request, like the providers that require ``reasoning_content`` back."""
    reader, system = _Reader(), []
    for message in children(body, "messages"):
        role, said = text(message, "role"), content_text(message.get("content"))
        if role in ("system", "developer"):
            system.append(said)
        elif role == "user":
            reader.user(said)
        elif role == "tool":
            reader.results.append(said)
        elif message.get("tool_calls") and not text(message, "reasoning_content"):
            reader.missing = "The `reasoning_content` in the thinking mode must be passed back to the API."
    tools = {text(tool, "function", "name"): child(tool, "function", "parameters") for tool in children(body, "tools")}
    thinks = text(body, "reasoning_effort") not in ("", "none")
    return reader.parsed(system="\n".join(system), tools=tools, thinks=thinks)


def parse_gemini(body: Json) -> ParsedRequest:
    """Parse a Gemini request: the first call of a step must have its signature."""
    reader = _Reader()
    for content in children(body, "contents"):
        parts = children(content, "parts")
        if text(content, "role") == "model":
            calls = [part for part in parts if isinstance(part.get("functionCall"), dict)]
            if calls and not is_encrypted(text(calls[0], "thoughtSignature")):
                name = text(calls[0], "functionCall", "name")
                reader.missing = f"Function call `{name}` is missing a thought_signature in functionCall parts."
            continue
        reader.user(content_text([part for part in parts if "text" in part]))
        answers = [child(part, "functionResponse", "response") for part in parts if "functionResponse" in part]
        reader.results += [
            next((value for value in answer.values() if isinstance(value, str)), "") for answer in answers
        ]
    declared = [one for tool in children(body, "tools") for one in children(tool, "functionDeclarations")]
    tools = {text(one, "name"): child(one, "parametersJsonSchema") or child(one, "parameters") for one in declared}
    config = child(body, "generationConfig", "thinkingConfig")
    thinks = bool(config) and config.get("thinkingBudget") != 0
    system = content_text(child(body, "systemInstruction").get("parts"))
    return reader.parsed(system=system, tools=tools, thinks=thinks)
