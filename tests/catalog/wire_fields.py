"""Shorthand for wire fields in expectations: what the APIs' documents show, one function per vendor."""

from __future__ import annotations

DROP = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
Fields = dict[str, object]


def adaptive(effort: str) -> Fields:
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}


def bound(effort: str) -> Fields:
    return {"thinking": {"type": "adaptive", "display": "summarized", **DROP}, "output_config": {"effort": effort}}


def claude_budget(tokens: int) -> Fields:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens, "display": "summarized"}}


def thinking(kind: str, **more: object) -> Fields:
    return {"thinking": {"type": kind}, **more}


def responses(effort: str) -> Fields:
    return {"reasoning": {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}}


def grok(effort: str) -> Fields:
    return {"reasoning": {"effort": effort}}


def level(word: str) -> Fields:
    return {"generationConfig": {"thinkingConfig": {"thinkingLevel": word, "includeThoughts": True}}}


def gemini_budget(tokens: int) -> Fields:
    config: Fields = {"thinkingBudget": tokens, "includeThoughts": True} if tokens else {"thinkingBudget": 0}
    return {"generationConfig": {"thinkingConfig": config}}


def effort(word: str, **more: object) -> Fields:
    return {"reasoning_effort": word, **more}


def deepseek(word: str) -> Fields:
    return {"thinking": {"type": "enabled"}, "reasoning_effort": word}


def glm(word: str) -> Fields:
    return {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": word}


def qwen(**more: object) -> Fields:
    return {"enable_thinking": True, **more}


def split(**more: object) -> Fields:
    return {"reasoning_split": True, **more}


def openrouter(**more: object) -> Fields:
    return {"reasoning": {"enabled": True, **more}}
