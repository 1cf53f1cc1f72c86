"""How a Gemini response ended and what it cost, in our words."""

from __future__ import annotations

from tui.domain.stream import Finish
from tui.domain.usage import Usage
from tui.wires.read import Json, whole

FINISHES = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "CONTINUATION": Finish.CONTINUATION,
    "MALFORMED_FUNCTION_CALL": Finish.MALFORMED_CALL,
    "UNEXPECTED_TOOL_CALL": Finish.MALFORMED_CALL,
    "SAFETY": Finish.FILTER,
    "RECITATION": Finish.FILTER,
    "LANGUAGE": Finish.FILTER,
    "BLOCKLIST": Finish.FILTER,
    "PROHIBITED_CONTENT": Finish.FILTER,
    "SPII": Finish.FILTER,
    "MODEL_ARMOR": Finish.FILTER,
    "IMAGE_SAFETY": Finish.FILTER,
    "IMAGE_PROHIBITED_CONTENT": Finish.FILTER,
    "IMAGE_RECITATION": Finish.FILTER,
}


def usage_of(raw: Json) -> Usage:
    """Inclusive totals; Google counts thinking beside the answer and tool prompts beside the prompt."""
    prompt = whole(raw, "promptTokenCount")
    tool_prompt = whole(raw, "toolUsePromptTokenCount")
    answer = whole(raw, "candidatesTokenCount")
    thinking = whole(raw, "thoughtsTokenCount")
    sent = None if prompt is None else prompt + (tool_prompt or 0)
    output = None if answer is None and thinking is None else (answer or 0) + (thinking or 0)
    return Usage(
        input=sent,
        cache_read=whole(raw, "cachedContentTokenCount"),
        output=output,
        thinking=thinking,
        total=whole(raw, "totalTokenCount") if sent is None or output is None else sent + output,
    )
