"""Parses requests in each wire format and rejects those that real servers reject for missing thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.domain.fast_dataclass import dataclass
from tui.providers.demo.script import Refusal
from tui.providers.demo.signatures import is_locked, is_sealed
from tui.wires.read import child, children, text

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


class _Ear:
    """Collects prompts and tool results while the messages are read in order."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.results: list[str] = []
        self.missing: str | None = None

    def user(self, words: str) -> None:
        if words.strip():
            self.prompts.append(words)
            self.results, self.missing = [], None

    def heard(self, *, system: str, tools: Mapping[str, Json], thinks: bool) -> ParsedRequest:
        refusal = Refusal(400, "invalid_request_error", self.missing) if self.missing and thinks else None
        return ParsedRequest(
            prompts=tuple(self.prompts),
            system=system,
            tools=tools,
            results=tuple(self.results),
            thinks=thinks,
            refusal=refusal,
        )


def words_of(value: object) -> str:
    """Return the text of a content field of any shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (text(part, "text") for part in value if isinstance(part, dict))))
    return ""


def hear_anthropic(body: Json) -> ParsedRequest:
    """Parse an Anthropic Messages request."""
    ear, thinks = _Ear(), text(body, "thinking", "type") in ("enabled", "adaptive")
    for at, message in enumerate(children(body, "messages")):
        blocks = children(message, "content")
        if text(message, "role") == "user":
            # Tool results come before text in a message; text after them is a new prompt that follows a stopped turn.
            ear.results += [words_of(block.get("content")) for block in blocks if text(block, "type") == "tool_result"]
            ear.user(words_of(message.get("content")))
        elif any(text(block, "type") == "tool_use" for block in blocks):
            ear.missing = ear.missing or _unsigned(blocks, at)
    tools = {text(tool, "name"): child(tool, "input_schema") for tool in children(body, "tools")}
    return ear.heard(system=words_of(body.get("system")), tools=tools, thinks=thinks)


def _unsigned(blocks: Sequence[Json], at: int) -> str | None:
    first = blocks[0]
    if text(first, "type") not in ("thinking", "redacted_thinking"):
        found = text(first, "type")
        return (
            f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )
    for index, block in enumerate(blocks):
        if text(block, "type") == "thinking" and not is_sealed(text(block, "thinking"), text(block, "signature")):
            return f"messages.{at}.content.{index}: Invalid `signature` in `thinking` block"
    return None


def hear_responses(body: Json) -> ParsedRequest:
    """Parse a Responses request: a call must follow the unchanged reasoning it belongs to."""
    ear, open_reasoning = _Ear(), False
    for item in children(body, "input"):
        kind, role = text(item, "type"), text(item, "role")
        if role == "user":
            ear.user(words_of(item.get("content")))
        elif kind == "reasoning":
            open_reasoning = True
            if not is_locked(text(item, "encrypted_content")):
                ear.missing = f"The encrypted content for item {text(item, 'id')} could not be verified."
        elif kind == "function_call" and not open_reasoning:
            ear.missing = f"Item '{text(item, 'id')}' of type 'function_call' was provided without its required item."
        elif kind == "function_call_output":
            open_reasoning = False
            ear.results.append(words_of(item.get("output")))
    tools = {text(tool, "name"): child(tool, "parameters") for tool in children(body, "tools")}
    if isinstance(body.get("input"), str):
        ear.user(text(body, "input"))
    thinks = text(body, "reasoning", "effort") not in ("", "none")
    return ear.heard(system=text(body, "instructions"), tools=tools, thinks=thinks)


def hear_chat(body: Json) -> ParsedRequest:
    """Parse a Chat Completions request, like the providers that require ``reasoning_content`` back."""
    ear, system = _Ear(), []
    for message in children(body, "messages"):
        role, said = text(message, "role"), words_of(message.get("content"))
        if role in ("system", "developer"):
            system.append(said)
        elif role == "user":
            ear.user(said)
        elif role == "tool":
            ear.results.append(said)
        elif message.get("tool_calls") and not text(message, "reasoning_content"):
            ear.missing = "The `reasoning_content` in the thinking mode must be passed back to the API."
    tools = {text(tool, "function", "name"): child(tool, "function", "parameters") for tool in children(body, "tools")}
    thinks = text(body, "reasoning_effort") not in ("", "none")
    return ear.heard(system="\n".join(system), tools=tools, thinks=thinks)


def hear_gemini(body: Json) -> ParsedRequest:
    """Parse a Gemini request: the first call of a step must have its signature."""
    ear = _Ear()
    for content in children(body, "contents"):
        parts = children(content, "parts")
        if text(content, "role") == "model":
            calls = [part for part in parts if isinstance(part.get("functionCall"), dict)]
            if calls and not is_locked(text(calls[0], "thoughtSignature")):
                name = text(calls[0], "functionCall", "name")
                ear.missing = f"Function call `{name}` is missing a thought_signature in functionCall parts."
            continue
        ear.user(words_of([part for part in parts if "text" in part]))
        answers = [child(part, "functionResponse", "response") for part in parts if "functionResponse" in part]
        ear.results += [next((value for value in answer.values() if isinstance(value, str)), "") for answer in answers]
    declared = [one for tool in children(body, "tools") for one in children(tool, "functionDeclarations")]
    tools = {text(one, "name"): child(one, "parametersJsonSchema") or child(one, "parameters") for one in declared}
    config = child(body, "generationConfig", "thinkingConfig")
    thinks = bool(config) and config.get("thinkingBudget") != 0
    system = words_of(child(body, "systemInstruction").get("parts"))
    return ear.heard(system=system, tools=tools, thinks=thinks)
