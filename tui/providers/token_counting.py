"""Requests to the token counting endpoints of providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.wires.json_text import whole
from tui.wires.wire import EncodedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingEndpoint:
    """The counting endpoint of one wire: its request, made from the real one, and the result's field."""

    request: Callable[[EncodedRequest], EncodedRequest]
    answer: str

    def tokens(self, answer: object) -> int | None:
        """Return the count in the response, or None."""
        return whole(answer, self.answer)


def _without(encoded: EncodedRequest, path: str, *names: str) -> EncodedRequest:
    body = {name: value for name, value in encoded.body.items() if name not in names}
    return EncodedRequest(path=path, body=body, headers=encoded.headers)


def _anthropic(encoded: EncodedRequest) -> EncodedRequest:
    unknown = ("max_tokens", "stream", "temperature", "top_p", "top_k", "metadata", "stop_sequences")
    return _without(encoded, "/v1/messages/count_tokens", *unknown)


def _responses(encoded: EncodedRequest) -> EncodedRequest:
    unknown = ("stream", "store", "include", "max_output_tokens", "temperature", "top_p", "prompt_cache_key")
    return _without(encoded, "/responses/input_tokens", *unknown)


def _gemini(encoded: EncodedRequest) -> EncodedRequest:
    model, _, _ = encoded.path.lstrip("/").partition(":")
    body: Mapping[str, object] = {"generateContentRequest": {**encoded.body, "model": model}}
    return EncodedRequest(path=f"/{model}:countTokens", body=body, headers=encoded.headers)


def _chat(encoded: EncodedRequest) -> EncodedRequest:
    return _without(encoded, "/chat/completions/input_tokens", "stream", "stream_options", "max_tokens")


COUNTERS = {
    WireName.OPENAI_CHAT: CountingEndpoint(request=_chat, answer="input_tokens"),
    WireName.ANTHROPIC: CountingEndpoint(request=_anthropic, answer="input_tokens"),
    WireName.OPENAI_RESPONSES: CountingEndpoint(request=_responses, answer="input_tokens"),
    WireName.GEMINI: CountingEndpoint(request=_gemini, answer="totalTokens"),
}
"""Counters by wire; Ollama has none, and Chat Completions only where the quirk ``counts_chat`` says so."""
