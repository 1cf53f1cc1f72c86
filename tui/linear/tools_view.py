"""The tools that models may call, as numbered switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.domain.format_numbers import count, noun, tokens
from tui.domain.listing import ToolInfo
from tui.domain.printable import one_line
from tui.linear.questions import PAGE, Choice

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

POLICIES = {"allow": "allowed", "ask": "asks", "deny": "denied"}


def tool_row(row: ToolInfo) -> Choice:
    """A tool with its state."""
    policy = POLICIES.get(row.policy, row.policy)
    facts = f"{'on' if row.enabled else 'off'}, {policy}, {row.source}, {count(row.tokens, 'token')}"
    return Choice(row.name, f"{row.name}, {facts}")


async def switch_tools(app: LinearApp) -> None:
    """List the tools; a number switches one."""
    service = app.services.tools
    for note in await service.notes():
        app.out.say([one_line(note, 300)])
    for server in service.servers():
        app.out.say([f"{server.name}: {server.state}, {count(server.tools, 'tool')} {server.detail}".rstrip()])
    given = PAGE
    while True:
        rows, sent = service.tools(), service.tools_sent()
        if not rows:
            app.out.say(["No tools are sent to this model."])
            return
        size = f"not sent: {sent.why_none}" if sent.why_none else f"{tokens(sent.tokens)} {noun(sent.tokens, 'token')}"
        is_on = sum(row.enabled for row in rows)
        title = f"Tools: {is_on} of {len(rows)} on, {size}. A number switches one on or off."
        name = await app.questions.choose([title] if given else [], [tool_row(row) for row in rows], first=given)
        given = 0
        if name is None:
            return
        row = next(row for row in rows if row.name == name)
        cost = await service.enable_tool(name, enabled=not row.enabled)
        note = "" if row.enabled else service.note_on(name)
        app.conversation.say(f"{name} is {'off' if row.enabled else 'on'}. {cost}".strip(), advice=note)
