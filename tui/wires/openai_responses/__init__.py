"""The OpenAI Responses wire."""

from __future__ import annotations

from tui.domain.messages import WireName
from tui.wires.errors.classify import refusal_of
from tui.wires.openai_responses.decode import ResponsesDecoder
from tui.wires.openai_responses.encode import encode
from tui.wires.wire import Wire

WIRE = Wire(name=WireName.OPENAI_RESPONSES, encode=encode, decoder=ResponsesDecoder, refusal=refusal_of)
