"""The Anthropic Messages wire."""

from __future__ import annotations

from tui.domain.messages import WireName
from tui.wires.anthropic.decode import AnthropicDecoder, refusal
from tui.wires.anthropic.encode import encode
from tui.wires.wire import Wire

WIRE = Wire(name=WireName.ANTHROPIC, encode=encode, decoder=AnthropicDecoder, refusal=refusal)
