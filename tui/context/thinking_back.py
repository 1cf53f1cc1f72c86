"""Which thinking is sent back: by the user's policy, the echo rule, and whether the target accepts its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum, StrEnum, auto

from tui.catalog.facts import EchoRule, ModelFacts, Quirks
from tui.context.selection_draft import VerdictLog
from tui.context.wire_rules import WireRules, can_carry
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Origin
from tui.domain.printable import scrubbed
from tui.domain.request import Reason
from tui.domain.thinking import (
    IncludeInContext,
    PlanState,
    ReasoningFormat,
    ReasoningRules,
    StripPolicy,
    ThinkingPlan,
)

EARLIER_REASONING = "Earlier reasoning:\n"
"""Label of another provider's thinking that is sent as plain text. The model would imitate tags."""

_KEPT_IN_LOOP = (
    "Your settings omit thinking, but this model requires that of the running tool loop, so it is sent. "
    "`/set reasoning.includeInContext auto` sends what the model requires."
)
_REQUIRED_LEFT_OUT = (
    "This model requires its earlier thinking and your settings omit it. If the provider refuses the request: "
    "`/set reasoning.includeInContext auto`, `/set reasoning.stripFromContext none`."
)
_KEPT_WITH_TOOLS = "Thinking of turns that called tools is sent despite your settings: this provider requires it."
_ALL_OR_NONE = "This model's thinking is only valid with unchanged history: that of the last turn is not sent either."


class SelectionRepair(StrEnum):
    """What is omitted or added in a retry after a provider refused a request."""

    DROP_THINKING = "drop_thinking"
    """Omit all thinking and all provider state."""
    DROP_IMAGES = "drop_images"
    BLANK_THINKING = "blank_thinking"
    """Add blank thinking to answers without thinking."""


class TurnPosition(Enum):
    """Position of a turn for the strip policies."""

    OPEN_LOOP = auto()
    LAST_FINISHED = auto()
    OLDER = auto()


def _nothing_changed(turn_id: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRules:
    """The target of a history and the rules for sending it."""

    rules: ReasoningRules
    target: Origin
    facts: ModelFacts
    quirks: Quirks
    plan: ThinkingPlan
    wire: WireRules
    has_tools: bool
    changed_for: Callable[[str], bool] = _nothing_changed
    """Whether messages before the end of a turn changed after it: turns are compressed, or tool results shortened."""
    repair: frozenset[SelectionRepair] = frozenset()
    nudge: str = ""
    """A sentence to send after the history."""


def same_origin(origin: Origin | None, target: Origin) -> bool:
    """Return whether provider state from ``origin`` is valid at ``target``."""
    return (
        origin is not None
        and (origin.provider, origin.wire, origin.host) == (target.provider, target.wire, target.host)
        and (origin.account == target.account or not origin.account or not target.account)
        and (origin.family or origin.model) == (target.family or target.model)
    )


@dataclass(frozen=True, slots=True)
class ThinkingJudge:
    """Decides for every thinking block whether and how it is sent."""

    send_rules: SendRules
    verdict_log: VerdictLog

    def judge(
        self, block: ThinkingBlock, message: Message, position: TurnPosition, *, turn_id: str, turn_used_tools: bool
    ) -> tuple[ThinkingBlock | TextBlock | None, Reason]:
        """Return the block to send, or None, and the reason."""
        reason = self._never() or self._policy(position, turn_id, turn_used_tools=turn_used_tools)
        if reason is not None:
            return None, reason
        if block.partial:
            return None, Reason.INTERRUPTED
        if not same_origin(message.origin, self.send_rules.target):
            return self._foreign(block)
        if not can_carry(block, self.send_rules.wire, self.send_rules.quirks):
            return None, self._why_not_carried(block, message)
        if position is TurnPosition.OPEN_LOOP and self._unwanted() and self._required():
            self.verdict_log.warn(_KEPT_IN_LOOP)
        return block, self._why_sent(position)

    def _never(self) -> Reason | None:
        """Return the reason not to send any thinking of the history, if there is one."""
        send_rules = self.send_rules
        if SelectionRepair.DROP_THINKING in send_rules.repair:
            return Reason.REPAIR
        if send_rules.plan.state is PlanState.OFF and send_rules.wire.off_drops_thinking:
            return Reason.THINKING_OFF
        ignored = (
            send_rules.facts.echo is EchoRule.IGNORED
            and send_rules.rules.include_in_context is not IncludeInContext.TRUE
        )
        if ignored or send_rules.facts.echo is EchoRule.REFUSED:
            return Reason.IGNORED_BY_PROVIDER
        return None

    def _unwanted(self) -> bool:
        rules = self.send_rules.rules
        return rules.include_in_context is IncludeInContext.FALSE or rules.strip is StripPolicy.ALL

    def _policy(self, position: TurnPosition, turn_id: str, *, turn_used_tools: bool) -> Reason | None:
        """Apply the strip policy, which affects finished turns only. An open loop keeps required thinking."""
        send_rules = self.send_rules
        if position is TurnPosition.OPEN_LOOP:
            needless = send_rules.rules.include_in_context is IncludeInContext.FALSE and not self._required()
            return Reason.POLICY if needless else None
        if send_rules.facts.bound and send_rules.changed_for(turn_id):
            return Reason.BINDING
        reason = self._stripped(position)
        if reason is not None and turn_used_tools and send_rules.quirks.tools_keep_thinking:
            self.verdict_log.warn(_KEPT_WITH_TOOLS)
            return None
        if reason is Reason.POLICY and turn_used_tools and send_rules.facts.echo is EchoRule.REQUIRED:
            self.verdict_log.warn(_REQUIRED_LEFT_OUT)
        return reason

    def _stripped(self, position: TurnPosition) -> Reason | None:
        if self._unwanted():
            return Reason.POLICY
        if self.send_rules.rules.strip is not StripPolicy.ALL_BUT_LAST:
            return None
        if position is TurnPosition.OLDER:
            return Reason.POLICY
        if self.send_rules.facts.bound:
            self.verdict_log.warn(_ALL_OR_NONE)
            return Reason.BINDING
        return None

    def _foreign(self, block: ThinkingBlock) -> tuple[ThinkingBlock | TextBlock | None, Reason]:
        if self.send_rules.rules.format is not ReasoningFormat.FIELD or not block.text.strip():
            return None, Reason.FOREIGN
        bare = replace(block, provider_state=None, wire_field=None)
        if can_carry(bare, self.send_rules.wire, self.send_rules.quirks):
            return bare, Reason.AS_TEXT
        return TextBlock(text=EARLIER_REASONING + scrubbed(block.text)), Reason.AS_TEXT

    def _why_not_carried(self, block: ThinkingBlock, message: Message) -> Reason:
        if not block.text and block.provider_state is None:
            return Reason.EMPTY
        return Reason.INTERRUPTED if message.interrupted else Reason.IGNORED_BY_PROVIDER

    def _required(self) -> bool:
        return self.send_rules.facts.echo in (EchoRule.REQUIRED, EchoRule.REQUIRED_IN_TOOL_LOOP)

    def _why_sent(self, position: TurnPosition) -> Reason:
        always = self.send_rules.facts.echo is EchoRule.REQUIRED
        return Reason.REQUIRED if always or (position is TurnPosition.OPEN_LOOP and self._required()) else Reason.SENT
