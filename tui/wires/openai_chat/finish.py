"""Why a Chat Completions answer ended: finish reasons of all dialects, and those that are really errors."""

from __future__ import annotations

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import Finish, Stop
from tui.wires.errors.body import error_parts
from tui.wires.errors.classify import reported_error
from tui.wires.read import Json, text

FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "eos_token": Finish.STOP,
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "completed": Finish.STOP,
    "tool_calls": Finish.TOOL_USE,
    "tool_use": Finish.TOOL_USE,
    "function_call": Finish.TOOL_USE,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "max_output_tokens": Finish.LENGTH,
    "model_length": Finish.CONTEXT_FULL,
    "model_context_window_exceeded": Finish.CONTEXT_FULL,
    "content_filter": Finish.FILTER,
    "sensitive": Finish.FILTER,
    "refusal": Finish.REFUSAL,
    "malformed_function_call": Finish.MALFORMED_CALL,
}
FAILURES = {
    "error": ErrorKind.SERVER,
    "network_error": ErrorKind.SERVER,
    "aborted": ErrorKind.SERVER,
    "abort": ErrorKind.SERVER,
    "insufficient_system_resource": ErrorKind.OVERLOADED,
}
"""Reasons that mean the answer failed on the way (OpenRouter, Mistral, Z.ai, DeepSeek, vLLM)."""


def failed_finish(reason: str, choice: Json) -> ProviderError | None:
    """The error a finish reason stands for; None for a real end."""
    kind = FAILURES.get(reason.lower())
    if kind is None:
        return None
    parts = error_parts(choice)
    if parts is not None:
        fault = reported_error(parts)
        fault.finish_raw = reason
        return fault
    native = text(choice, "native_finish_reason")
    said = f"`{reason}`" + (f" ({native[:80]})" if native and native != reason else "")
    return ProviderError(kind, f"The provider broke off the answer: {said}", finish_raw=reason, advice="Try again.")


def chat_stop(raw: str | None, native: str | None, *, called: bool, refused: bool) -> Stop:
    """Our word for the end. Servers say ``stop`` for answers with calls or a refusal in them, so those count first."""
    finish = FINISHES.get(raw.lower(), Finish.OTHER) if raw is not None else Finish.STOP
    if finish is Finish.STOP:
        finish = Finish.TOOL_USE if called else Finish.REFUSAL if refused else finish
    return Stop(finish, raw, native if native != raw else None)
