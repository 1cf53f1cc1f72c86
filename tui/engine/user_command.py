"""Runs shell commands that the user typed or a prompt template names, by the rules of the model's shell tool."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import UsageError
from tui.domain.events import ApprovalAsked
from tui.domain.tool_run import ToolRun
from tui.engine.approvals import PendingApprovals
from tui.engine.open_turn import ConversationState
from tui.engine.ports import Ports
from tui.engine.turn import holds_untrusted_content

SHELL = "shell"
LONGEST_S = 600
"""The longest time that the tool takes as its limit."""


class UserCommands:
    """Runs commands beside the conversation. Its coroutines run in the engine's loop."""

    def __init__(self, ports: Ports, conversation: ConversationState, approvals: PendingApprovals) -> None:
        self._ports = ports
        self._conversation = conversation
        self._approvals = approvals

    async def run(self, command: str, progress: Callable[[str], None], *, untrusted: bool = False) -> str:
        """The output, cut and without keys as a model would get it. Raises UsageError if the command was not run.

        ``untrusted``: the command was written by others. Cancelling it kills what it started.
        """
        toolbox, conceal = self._ports.toolbox, self._ports.conceal
        if all(schema.name != SHELL for schema in toolbox.schemas()):
            raise UsageError(f"The tool `{SHELL}` is not available.", advice="/tools lists the tools.")
        limit_s = self._conversation.settings.call_timeout_s or None
        arguments = {"command": command, "timeout": int(max(1, min(limit_s or LONGEST_S, LONGEST_S)))}
        call = ToolCallBlock(call_id=self._ports.new_id(), name=SHELL, arguments=json.dumps(arguments))
        has_begun = False

        def begun() -> None:
            nonlocal has_begun
            has_begun = True

        try:
            async with asyncio.timeout(limit_s) as limit:
                run = ToolRun(
                    ask=self._asker(limit, limit_s),
                    settle=lambda asked: self._approvals.settle(asked.call_id),
                    progress=lambda text: progress(conceal(text)),
                    tainted=untrusted or holds_untrusted_content(self._conversation.turns),
                    session=self._conversation.session,
                    limit_s=limit_s,
                    private=self._ports.private,
                    begun=begun,
                )
                result = await toolbox.run(call, run)
        except TimeoutError:
            return f"(killed: it ran longer than {limit_s:g} s)"
        output = conceal(_text(result))
        if not has_begun:
            raise UsageError(output)
        return output

    def _asker(self, limit: asyncio.Timeout, limit_s: float | None) -> Callable[..., Awaitable[str]]:
        """Asks for approval; the time limit is paused meanwhile."""

        async def ask(
            call: ToolCallBlock,
            summary: str,
            detail: str,
            patterns: tuple[str, ...],
            note: str = "",
            session: str = "",
        ) -> str:
            limit.reschedule(None)
            asked = ApprovalAsked("", call.call_id, call.name, summary, detail, patterns, note, session=session)
            answer = await self._approvals.ask_about_request(asked)
            if limit_s is not None:
                limit.reschedule(asyncio.get_running_loop().time() + limit_s)
            return answer

        return ask


def _text(result: ToolResultBlock) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
