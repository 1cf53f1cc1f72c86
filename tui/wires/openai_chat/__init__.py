"""The OpenAI Chat Completions wire and its dialects."""

from __future__ import annotations

from tui.domain.messages import WireName
from tui.wires.errors.classify import refusal_of
from tui.wires.openai_chat.decode import ChatDecoder
from tui.wires.openai_chat.encode import encode
from tui.wires.wire import Wire

WIRE = Wire(name=WireName.OPENAI_CHAT, encode=encode, decoder=ChatDecoder, refusal=refusal_of)
