"""The demo's server: parses a request in any wire format, chooses a script and streams it at a readable pace."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from urllib.parse import urlsplit

from tui.domain.digests import sha256
from tui.domain.errors import ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.providers.demo.requests import ParsedRequest, parse_anthropic, parse_chat, parse_gemini, parse_responses
from tui.providers.demo.responses import (
    AnthropicEncoder,
    Break,
    Call,
    ChatEncoder,
    DemoUsage,
    Encoder,
    GeminiEncoder,
    Piece,
    Refusal,
    ResponsesEncoder,
    Say,
    Script,
    Think,
    tokens,
)
from tui.providers.demo.scripts import counted_as, script_for
from tui.providers.http.connection import InProcessResponse
from tui.providers.http.request import HttpRequest
from tui.wires.json_text import dumps, loads, text

DEMO_HOST = "demo.invalid"
"""The host of the demo's base URL; names in ``.invalid`` never exist."""
FRAME_S = 0.012
"""Delay between two frames, for about 400 characters per second."""
THOUGHT_S = 0.25
"""Delay before the first frame."""


@dataclass(frozen=True, slots=True)
class _Format:
    parse: Callable[[Mapping[str, object]], ParsedRequest]
    encoder: Callable[[str, str], Encoder]


_FORMATS: Mapping[str, _Format] = {
    "/messages": _Format(parse_anthropic, AnthropicEncoder),
    "/responses": _Format(parse_responses, ResponsesEncoder),
    "/chat/completions": _Format(parse_chat, ChatEncoder),
    ":streamGenerateContent": _Format(parse_gemini, GeminiEncoder),
}
MODELS = frozenset({"demo", "fast", "responses", "chat", "gemini"})
_COUNTS = ("/count_tokens", "/input_tokens", ":countTokens")


class DemoServer:
    """Answers the requests to DEMO_HOST: pass ``answer`` to the transport. ``speed`` scales all delays; 0 means none.

    If ``watched`` is false, thinking has no delays unless the prompt asks for a slow answer.
    """

    def __init__(self, *, speed: float = 1.0, watched: bool = True) -> None:
        self._speed = speed
        self._watched = watched
        self._asked: Counter[str] = Counter()

    async def answer(self, request: HttpRequest) -> InProcessResponse:
        """Return the response to a request."""
        path = urlsplit(request.url).path
        try:
            body = loads(request.body or b"{}")
        except ProviderError:
            return _plain(400, {"error": {"message": "The body is not JSON.", "type": "invalid_request_error"}})
        if not isinstance(body, dict):
            body = {}
        if path.endswith(_COUNTS):
            count = tokens((request.body or b"").decode("utf-8", "replace"))
            return _plain(200, {"input_tokens": count, "totalTokens": count})
        format_ = next((format_ for end, format_ in _FORMATS.items() if path.endswith(end)), None)
        if format_ is None:
            return _plain(404, {"error": {"message": f"There is nothing at {path}.", "type": "not_found_error"}})
        return self._respond(format_, body, request, path)

    def _respond(
        self, format_: _Format, body: Mapping[str, object], request: HttpRequest, path: str
    ) -> InProcessResponse:
        parsed = format_.parse(body)
        model = text(body, "model") or path.rpartition("/")[2].partition(":")[0]
        if model not in MODELS:
            return _refused(Refusal(404, "not_found_error", f"model: {model}"))
        stem = sha256(request.body or b"").hex()[:12]
        asked = counted_as(parsed) or stem
        self._asked[asked] += 1
        script = script_for(parsed, attempt=self._asked[asked])
        refusal = parsed.refusal or script.refusal
        if refusal is not None:
            return _refused(refusal)
        if not any(isinstance(piece, Break) for piece in script.pieces):
            del self._asked[asked]  # after a success, the requested error occurs again
        bill = DemoUsage(
            input=tokens((request.body or b"").decode("utf-8", "replace")),
            thinking=sum(tokens(piece.text) for piece in script.pieces if isinstance(piece, Think)),
            answer=sum(tokens(piece.text) for piece in script.pieces if isinstance(piece, Say)),
        )
        answering = 0.0 if model.endswith("fast") else self._speed * script.slowness
        thinking = answering if self._watched or script.slowness > 1 else 0.0
        frames = _frames(format_.encoder(model, stem), script, bill)
        paced = _paced(frames, thinking=thinking, answering=answering)
        return InProcessResponse(status=200, headers={"content-type": "text/event-stream"}, body=paced)


def _frames(encoder: Encoder, script: Script, bill: DemoUsage) -> Iterator[tuple[Piece | None, bytes]]:
    """Yield each frame with the piece it belongs to."""
    yield from ((None, frame) for frame in encoder.begin(bill))
    for piece in script.pieces:
        yield from ((piece, frame) for frame in encoder.piece(piece))
        if isinstance(piece, Break):
            return
    calls = any(isinstance(piece, Call) for piece in script.pieces)
    yield from ((None, frame) for frame in encoder.end(bill, calls=calls))


async def _paced(
    frames: Iterator[tuple[Piece | None, bytes]], *, thinking: float, answering: float
) -> AsyncGenerator[bytes, None]:
    if thinking:
        await asyncio.sleep(THOUGHT_S * thinking)
    last: Piece | None = None
    for piece, frame in frames:
        yield frame
        begins, last = piece is not last, piece  # the first frame of a piece has no text yet
        pace = answering if isinstance(piece, Say) and not begins else thinking
        await asyncio.sleep(FRAME_S * pace)


def _refused(refusal: Refusal) -> InProcessResponse:
    error = {"type": refusal.kind, "message": refusal.message, "code": refusal.kind}
    return _plain(refusal.status, {"type": "error", "error": error}, refusal.headers)


def _plain(status: int, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> InProcessResponse:
    async def whole() -> AsyncGenerator[bytes, None]:
        yield dumps(body).encode()

    return InProcessResponse(
        status=status, headers={"content-type": "application/json", **(headers or {})}, body=whole()
    )
