"""Commands on the project in the working folder, and on prompt templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.commands.registry import Argument, Command, CommandContext, Group, Run, View
from tui.domain.errors import PonderError, UsageError

if TYPE_CHECKING:
    from tui.app.prompt_templates import PromptTemplate, PromptTemplates

PROMPT = "prompt."
"""What the ids of prompt templates begin with."""


async def _trust(context: CommandContext, argument: str) -> None:
    match argument:
        case "":
            message = await context.services.project.trust()
        case "off":
            message = await context.services.project.distrust()
        case "show":
            await context.screen.show(View.TEXT, f"Project\n{context.services.project.described()}")
            return
        case _:
            raise UsageError(f"`/trust` takes show or off, not `{argument}`.")
    await context.screen.reread_prompts()
    context.screen.say(message)


async def _prompts(context: CommandContext, _: str) -> None:
    await context.screen.reread_prompts()
    templates = context.services.project.templates
    assert templates is not None
    rows = [f"- **/{template.name}** {template.description}" for template in templates.by_name.values()]
    lines = rows or ["There is none. A file `prompts/NAME.md` beside `config.toml` becomes `/NAME`."]
    await context.screen.show(View.TEXT, "Prompts\n" + "\n".join([*lines, "", *templates.problems]))


def template_commands(templates: PromptTemplates) -> tuple[Command, ...]:
    """A command for every template."""
    return tuple(_command(template) for template in templates.by_name.values())


def _command(template: PromptTemplate) -> Command:
    return Command(
        id=PROMPT + template.name,
        slash=template.name,
        title=f"Prompt: {template.name}",
        help=template.description + (" (from the project)" if template.project is not None else ""),
        group=Group.PROMPTS,
        run=_send(template),
        argument=Argument(usage=template.usage),
    )


def _send(template: PromptTemplate) -> Run:
    async def send(context: CommandContext, argument: str) -> None:
        blocks = await context.services.project.blocks(template.name, argument, context.screen.run_shell)
        if template.spec:
            context.screen.say(await context.services.models.set_model(template.spec))
        await context.services.chat.submit(blocks)

    async def run(context: CommandContext, argument: str) -> None:
        if not template.has_commands:
            await send(context, argument)
            return
        session = context.services.chat.session_id

        async def work() -> None:
            try:
                await send(context, argument)
            except PonderError:
                if not context.screen.draft() and context.services.chat.session_id == session:
                    context.screen.put_draft(f"/{template.name} {argument}".strip())
                raise

        context.screen.start(work)

    return run


COMMANDS = (
    Command(
        id="project.trust",
        slash="trust",
        title="Trust this folder",
        help="Use AGENTS.md and the prompts of the project in this folder; off forgets it, show prints the files.",
        group=Group.PROMPTS,
        run=_trust,
        argument=Argument(usage="[show|off]", complete=lambda context, typed: ("show", "off")),
        example="/trust",
    ),
    Command(
        id="project.prompts",
        slash="prompts",
        title="Prompts",
        help="Read the prompt templates again and list them.",
        group=Group.PROMPTS,
        run=_prompts,
        example="/prompts",
    ),
)
