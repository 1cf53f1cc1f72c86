"""Commands of the line-by-line form only, and those that differ in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.commands.registry import Argument, Command, CommandContext, Group, Registry, View
from tui.domain.blocks import ThinkingBlock
from tui.domain.errors import UsageError
from tui.domain.messages import Turn
from tui.linear.turn_text import thinking_lines, tool_lines, turn_lines

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

PARTS = ("thinking", "tools")


def with_own_commands(registry: Registry, app: LinearApp) -> Registry:
    """The registry with the commands of this form of the program."""
    own = OwnCommands(app)
    thinking = registry.by_id("thinking.set")
    changed = replace(
        thinking,
        run=own.thinking,
        help=f"{thinking.help} `show` prints the last thinking.",
        argument=Argument(usage="LEVEL|N|show"),
    )
    commands = tuple(changed if command.id == thinking.id else command for command in registry)
    return Registry((*commands, *own.commands()))


class OwnCommands:
    """Runs these commands."""

    def __init__(self, app: LinearApp) -> None:
        self._app = app

    def commands(self) -> tuple[Command, ...]:
        """Commands for reading, for the draft, and for the arriving answer."""
        return (
            Command(
                id="linear.show",
                slash="show",
                title="Print a turn",
                help="Print the last turn or turn N again, only its thinking, or its tool calls with their output.",
                group=Group.VIEW,
                run=self.show,
                argument=Argument(usage="[N] [thinking|tools]"),
                example="/show 2 thinking",
            ),
            Command(
                id="linear.draft",
                slash="draft",
                title="Send the draft",
                help="Send the prompt that was put back or not sent; show prints it, drop discards it.",
                group=Group.CHAT,
                run=self.draft,
                argument=Argument(usage="[show|drop]"),
                example="/draft",
            ),
            Command(
                id="linear.history",
                slash="history",
                title="Earlier prompts",
                help="List earlier prompts, and make one the draft.",
                group=Group.CHAT,
                run=self.history,
                example="/history",
            ),
            Command(
                id="linear.skip",
                slash="skip",
                title="Skip",
                help="Print no more of the thinking or answer that arrives; /show prints it later.",
                group=Group.VIEW,
                run=self.skip,
                example="/skip",
                while_busy=True,
            ),
        )

    async def thinking(self, context: CommandContext, argument: str) -> None:
        """Print the last thinking, or run the command of the screen."""
        if argument.lower() != "show":
            from tui.commands.builtin import registry

            await registry().by_id("thinking.set").run(context, argument)
            return
        turn, _ = self._turn("")
        blocks = [block for message in turn.messages for block in message.blocks if isinstance(block, ThinkingBlock)]
        if not blocks:
            raise UsageError("This turn has no thinking.")
        self._app.out.say(line for block in blocks for line in thinking_lines(block))

    async def show(self, context: CommandContext, argument: str) -> None:
        """Print a turn."""
        words = argument.lower().split()
        part = next((word for word in words if word in PARTS), "")
        rest = [word for word in words if word not in PARTS]
        if len(rest) > 1 or (rest and not rest[0].isdecimal()):
            raise UsageError(f"`/show` cannot show `{argument}`.", advice="For example: `/show 2 thinking`")
        turn, number = self._turn(rest[0] if rest else "")
        if rest:
            self._app.conversation.chosen_turn = turn.id
        of = len(self._app.conversation.view().turns)
        if part == "tools":
            lines = tool_lines(turn) or ["This turn has no tool calls."]
        else:
            lines = turn_lines(turn, number, of, thinking=part == "thinking")
        self._app.out.say(lines)

    async def draft(self, context: CommandContext, argument: str) -> None:
        """Send, print or drop what was not sent."""
        draft = self._app.draft
        if argument not in ("", "show", "drop"):
            raise UsageError(f"`/draft` takes show or drop, not `{argument}`.")
        if not draft.kept and not argument and self._app.conversation.view().queue_held:
            draft.put_back(await context.services.chat.take_last_queued(), None)
            self._app.say_draft()
        elif not draft.kept:
            raise UsageError("There is no draft.")
        elif argument == "show":
            self._app.out.say(draft.kept.split("\n"))
        elif argument == "drop":
            draft.clear()
            draft.keep()
            context.screen.say("Dropped.")
        else:
            await self._app.submit(draft.kept)

    async def history(self, context: CommandContext, _: str) -> None:
        """List earlier prompts."""
        await context.screen.show(View.HISTORY)

    async def skip(self, context: CommandContext, _: str) -> None:
        """Print no more of what arrives."""
        if not self._app.conversation.skip():
            raise UsageError("There is nothing to skip: no answer is arriving.")
        context.screen.say("Skipped. /show prints the turn when it is over.")

    def _turn(self, number: str) -> tuple[Turn, int]:
        turns = self._app.conversation.view().turns
        if not turns:
            raise UsageError("There is no finished turn yet.")
        if number:
            if not 1 <= int(number) <= len(turns):
                raise UsageError(f"There is no turn {number}: the session has {len(turns)}.")
            return turns[int(number) - 1], int(number)
        chosen = self._app.context().screen.chosen_turn()
        index = next((index for index, turn in enumerate(turns) if turn.id == chosen), len(turns) - 1)
        return turns[index], index + 1
