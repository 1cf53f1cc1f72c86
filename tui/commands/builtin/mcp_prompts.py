"""The prompts of MCP servers as commands ``/server:prompt``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tui.commands.registry import Argument, Command, CommandContext, Complete, Group, Run

if TYPE_CHECKING:
    from tui.domain.listing import McpPrompt

MCP_PROMPT = "server-prompt."
"""What the ids of these commands begin with."""


def mcp_prompt_commands(prompts: Sequence[McpPrompt], taken: Collection[str]) -> tuple[Command, ...]:
    """A command for every prompt whose word is free."""
    free = {prompt.word: prompt for prompt in prompts if prompt.word not in taken}
    return tuple(_command(prompt) for prompt in free.values())


def _command(prompt: McpPrompt) -> Command:
    from tui.app.mcp import usage

    takes = usage(prompt)
    return Command(
        id=MCP_PROMPT + prompt.word,
        slash=prompt.word,
        title=f"Prompt: {prompt.word}",
        help=f"{prompt.description} (from the MCP server {prompt.server})".strip(),
        group=Group.PROMPTS,
        run=_send(prompt),
        argument=Argument(usage=takes, complete=_complete(prompt), reads_files=True) if takes else None,
    )


def _send(prompt: McpPrompt) -> Run:
    async def run(context: CommandContext, argument: str) -> None:
        services, screen = context.services, context.screen

        async def send() -> None:
            session = services.chat.session_id
            blocks = await services.mcp.prompt(prompt, argument)
            if services.chat.session_id == session:
                await services.chat.submit(blocks)
            else:
                screen.say(f"The prompt of {prompt.server} came too late: another session is open.")

        screen.start(send)

    return run


def _complete(prompt: McpPrompt) -> Complete:
    return lambda context, typed: context.services.mcp.complete(prompt, typed)
