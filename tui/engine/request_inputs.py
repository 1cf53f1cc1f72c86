"""What the next request is made from."""

from __future__ import annotations

from tui.catalog.facts import Target
from tui.context.meter import ArrivingAnswer
from tui.domain.compression import CompressionView
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Turn, WireName
from tui.domain.request import ToolSchema
from tui.domain.thinking import ModelSpec
from tui.engine.settings import EngineSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Changes to a request that a provider refused."""

    without: tuple[str, ...] = ()
    """Parameters the provider named as unsupported."""
    without_thinking: bool = False
    """Send no thinking of earlier turns: the provider refused its signatures."""
    blank_thinking: bool = False
    """Send a blank as the thinking of answers that have none: the server requires thinking."""
    max_output: int | None = None
    """The largest output limit that the server accepts for this request."""
    nudge: str = ""
    """A sentence sent after the last message when an answer was empty. In the system prompt it would make the
    provider's prompt cache useless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInputs:
    """What the next request is made from: the conversation, its settings, and a draft or an answer that is arriving."""

    session: str
    turns: tuple[Turn, ...]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    tools: tuple[ToolSchema, ...] = ()
    compression: CompressionView | None = None
    draft: str = ""
    """The prompt being typed; only counted by the meter."""
    repairs: Repairs = Repairs()
    continuation: str | None = None
    arriving: ArrivingAnswer | None = None
    """The tokens of the arriving answer of which the last message is an excerpt; only used by the meter."""


OPENED = 32_768
"""Context tokens a local server is asked to allocate. A model's whole window can take more memory than the machine
has; users with enough memory set ``context.limit``.
"""


def opened_window(inputs: RequestInputs) -> int | None:
    """The user's limit; a modest default on wires where the request sets the server's context size; otherwise None."""
    if inputs.settings.context_limit is not None:
        return inputs.settings.context_limit
    if inputs.target.facts.wire is not WireName.OLLAMA:
        return None
    return min(inputs.target.facts.context_window or OPENED, OPENED)
