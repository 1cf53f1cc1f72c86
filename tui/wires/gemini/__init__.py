"""The Gemini generateContent wire."""

from __future__ import annotations

from tui.domain.messages import WireName
from tui.wires.errors.classify import refusal_of
from tui.wires.gemini.decode import decoder
from tui.wires.gemini.encode import encode
from tui.wires.wire import Wire

WIRE = Wire(name=WireName.GEMINI, encode=encode, decoder=decoder, refusal=refusal_of)
