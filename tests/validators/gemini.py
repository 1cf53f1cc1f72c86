"""What Gemini's generateContent refuses, in its own words where they are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TOP_LEVEL = frozenset(
    {
        "model",
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "safetySettings",
        "cachedContent",
        "continuationToken",
        "labels",
        "serviceTier",
        "store",
    }
)
DATA = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
MODIFIERS = frozenset({"thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"})
FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
LEVELS = frozenset({"MINIMAL", "LOW", "MEDIUM", "HIGH"})
UNKNOWN = 'Invalid JSON payload received. Unknown name "{}"{}: Cannot find field.'


def problems(
    body: dict[str, Any], *, headers: Mapping[str, str] | None = None, strict_thinking: bool = True
) -> list[str]:
    """Every reason for a 400; empty where the server would answer.

    ``strict_thinking`` is Gemini 3 and later: calls of the open loop must be signed. Headers decide nothing here.
    """
    del headers
    contents = body.get("contents")
    found = [UNKNOWN.format(key, "") for key in body if key not in TOP_LEVEL]
    if not isinstance(contents, list) or not contents:
        return [*found, "* GenerateContentRequest.contents: contents is not specified"]
    found += _generation(body.get("generationConfig") or {})
    found += _tools(body.get("tools") or [])
    found += _parts_of(body.get("systemInstruction") or {"parts": [{"text": "-"}]}, "system_instruction")
    found += _roles(contents)
    for number, content in enumerate(contents):
        found += _parts_of(content, f"contents[{number}]")
    found += _calls(contents)
    if strict_thinking:
        found += _signatures(contents)
    return found


def _generation(config: dict[str, Any]) -> Iterator[str]:
    thinking = config.get("thinkingConfig") or {}
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        yield "You can only set only one of thinking budget and thinking level."
    if "thinkingLevel" in thinking and str(thinking["thinkingLevel"]).upper() not in LEVELS:
        yield f"Invalid value at 'generation_config.thinking_config.thinking_level', \"{thinking['thinkingLevel']}\""
    limit = config.get("maxOutputTokens", 1)
    if not isinstance(limit, int) or limit < 1:
        yield "max_output_tokens must be positive"


def _tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    names: set[str] = set()
    for tool in tools:
        for declaration in tool.get("functionDeclarations") or []:
            name = str(declaration.get("name"))
            if not FUNCTION_NAME.fullmatch(name):
                yield f"Invalid function name {name!r}. Must start with a letter or an underscore."
            if name in names:
                yield f"Duplicate function declaration found: {name}"
            names.add(name)
            if "parameters" in declaration and "parametersJsonSchema" in declaration:
                yield f"{name}: only one of parameters and parameters_json_schema may be set"


def _roles(contents: list[dict[str, Any]]) -> Iterator[str]:
    roles = [content.get("role") for content in contents]
    if any(role not in ("user", "model") for role in roles):
        yield "Please use a valid role: user, model."
    if roles[0] != "user":
        yield "Please ensure that multiturn requests start with a user turn."
    if roles[-1] != "user":
        yield "Please ensure that multiturn requests ends with a user role or a function response."


def _parts_of(content: dict[str, Any], where: str) -> Iterator[str]:
    parts = content.get("parts")
    if not parts:
        yield f"* GenerateContentRequest.{where}.parts: contents.parts must not be empty."
    for number, part in enumerate(parts or []):
        here = f"GenerateContentRequest.{where}.parts[{number}]"
        yield from (UNKNOWN.format(key, f" at '{here}'") for key in part if key not in DATA | MODIFIERS)
        if len(DATA & part.keys()) != 1:
            yield f"* {here}.data: required oneof field 'data' must have one initialized field"
        if part.get("text") == "" and not part.get("thoughtSignature"):
            yield f"* {here}: Unable to submit request because it must have a text parameter."
        if "thoughtSignature" in part and not part["thoughtSignature"]:
            yield f"* {here}: thought_signature is empty"


def _calls(contents: list[dict[str, Any]]) -> Iterator[str]:
    """Every call is answered in the very next content, all of them, in order, and nothing else stands there."""
    asked: list[dict[str, Any]] = []
    for content in contents:
        parts = content.get("parts") or []
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if answers and not asked:
            yield "Please ensure that function response turn comes immediately after a function call turn."
        elif len(answers) != len(asked):
            yield (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        else:
            yield from _answered(asked, answers)
        if answers and (content.get("role") != "user" or len(answers) != len(parts)):
            yield "Please ensure that function response turns hold function responses only."
        asked = [part["functionCall"] for part in parts if "functionCall" in part]
        if asked and content.get("role") != "model":
            yield "Please ensure that function call turn has the role model."
    if asked:
        yield "Please ensure that function call turns are followed by a function response turn."


def _answered(asked: list[dict[str, Any]], answers: list[dict[str, Any]]) -> Iterator[str]:
    for call, answer in zip(asked, answers, strict=True):
        if call.get("name") != answer.get("name") or not call.get("name"):
            yield f"function response {answer.get('name')!r} does not answer function call {call.get('name')!r}"
        if call.get("id") != answer.get("id"):
            yield f"function response id {answer.get('id')!r} does not match {call.get('id')!r}"
        if not isinstance(answer.get("response"), dict):
            yield "function_response.response: must be an object"
        if not isinstance(call.get("args", {}), dict):
            yield "function_call.args: must be an object"


def _signatures(contents: list[dict[str, Any]]) -> Iterator[str]:
    """From the last thing the user really said on, the first call of every step is signed."""
    said = [
        number
        for number, content in enumerate(contents)
        if content.get("role") == "user" and any("functionResponse" not in part for part in content.get("parts") or [])
    ]
    for number, content in enumerate(contents[said[-1] if said else 0 :], said[-1] if said else 0):
        first = next((part for part in content.get("parts") or [] if "functionCall" in part), None)
        if first is not None and not first.get("thoughtSignature"):
            yield (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                f"work correctly. Additional data, function call `{first['functionCall'].get('name')}`, "
                f"position {number}."
            )
