"""Commands on the next request: inspector, tokens, compression, tools."""

from __future__ import annotations

from collections.abc import Iterable

from tui.app.prompt_cache import with_cost
from tui.commands.registry import Argument, Command, CommandContext, CommandScope, Group, View
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.domain.listing import ServerInfo
from tui.domain.usage import Certainty
from tui.domain.web_search import WEB_SEARCH


async def _inspect(context: CommandContext, _: str) -> None:
    await context.screen.show(View.INSPECTOR)


async def _tokens(context: CommandContext, argument: str) -> None:
    if argument not in ("", "exact"):
        raise UsageError(
            f"`/tokens` takes only exact, not `{argument}`.",
            advice="`/tokens` estimates, `/tokens exact` asks the provider.",
        )
    if argument == "exact":
        reading = await context.services.chat.meter_with_draft("")
        exact = await context.services.chat.count_exactly()
        if exact is None:
            raise UsageError("This provider cannot count tokens.", advice="Only the meter's estimate is available.")
        context.screen.say(f"The provider counts {count(exact, 'token')}; the estimate was {reading.effective:,}.")
        return
    reading = await context.services.chat.meter_with_draft(context.screen.draft())
    word = "reported" if reading.certainty is Certainty.REPORTED else "estimated"
    context.screen.say(f"{count(reading.effective, 'token')} would be sent ({word}); {reading.raw:,} are stored.")


async def _cost(context: CommandContext, argument: str) -> None:
    await context.screen.show(View.TEXT, f"Cost\n{await context.services.spending(argument)}")


async def _compress(context: CommandContext, argument: str) -> None:
    view = context.view()
    if not view.turns and view.open_turn is None:
        context.screen.say("There is nothing to compress yet.")
        return
    would = (await context.services.chat.preview("")).compression
    if would is not None and would.turns:
        turns = count(len(would.turns), "turn")
        cost = context.services.cache.after_compression(view, would.after)
        context.screen.say(
            with_cost(f"Compressing {turns}: {would.before:,} → about {count(would.after, 'token')}", cost),
            advice=f"by {would.writer}",
        )
    await context.services.chat.compress(argument)


async def _uncompress(context: CommandContext, _: str) -> None:
    before = context.services.cache.before_change()
    if not await context.services.chat.uncompress():
        context.screen.say("Nothing was compressed.")
        return
    view = context.view()
    left = len(view.compression.compressed_turns) if view.compression is not None else 0
    message = (
        f"The last compression is undone; {count(left, 'turn')} still compressed."
        if left
        else "The whole history is sent again."
    )
    context.screen.say(with_cost(message, context.services.cache.after_change(before)))


async def _tools(context: CommandContext, argument: str) -> None:
    action, _, name = argument.partition(" ")
    if action in ("on", "off") and name:
        await _switch(context, name.strip(), enabled=action == "on")
    else:
        await context.screen.show(View.TOOLS)


async def _switch(context: CommandContext, name: str, *, enabled: bool) -> None:
    cost = await context.services.tools.enable_tool(name, enabled=enabled)
    message = f"{name} is {'on' if enabled else 'off'}"
    note = context.services.tools.note_on(name) if enabled else ""
    context.screen.say(with_cost(message, cost) if cost else f"{message}.", advice=note)


async def _switch_web_search(context: CommandContext, _: str) -> None:
    row = next(row for row in context.services.tools.tools() if row.name == WEB_SEARCH)
    await _switch(context, WEB_SEARCH, enabled=not row.enabled)


def _tool_names(context: CommandContext, typed: str) -> Iterable[str]:
    action, blank, start = typed.partition(" ")
    if not blank:
        return [word for word in ("on", "off") if word.startswith(action.lower())]
    rows = context.services.tools.tools() if action in ("on", "off") else ()
    return [f"{action} {row.name}" for row in rows if row.name.startswith(start) and row.enabled == (action == "off")]


def _cost_of_tools(context: CommandContext, argument: str) -> str:
    action, _, name = argument.partition(" ")
    if action not in ("on", "off") or not name.strip():
        return ""
    return context.services.tools.cost_of_enabling(name.strip(), enabled=action == "on")


def _cost_of_uncompress(context: CommandContext, _: str) -> str:
    return context.services.cache.cost_of_uncompressing()


async def _mcp(context: CommandContext, argument: str) -> None:
    action, _, name = argument.partition(" ")
    servers, screen = context.services.mcp, context.screen
    if argument:
        work = {"login": servers.log_in, "logout": servers.log_out}.get(action)
        if work is None or not name.strip():
            raise UsageError(f"`/mcp` takes login NAME or logout NAME, not `{argument}`.")

        async def log_in_or_out() -> None:
            screen.say(await work(name.strip()))

        screen.start(log_in_or_out)
        return
    rows = [_server_line(row) for row in context.services.tools.servers()]
    text = "\n".join(rows) or "No MCP servers. `[mcp.servers.NAME]` in config.toml adds one."
    await context.screen.show(View.TEXT, f"MCP servers\n{text}")


def _logins(context: CommandContext, typed: str) -> list[str]:
    action, blank, name = typed.partition(" ")
    if not blank:
        return [word for word in ("login", "logout") if word.startswith(action)]
    names = context.services.mcp.with_login()
    return [each for each in names if each.startswith(name)] if action in ("login", "logout") else []


def _server_line(row: ServerInfo) -> str:
    more = [count(number, what) for number, what in ((row.prompts, "prompt"), (row.resources, "resource")) if number]
    return f"- **{row.name}** {row.state}, {', '.join([count(row.tools, 'tool'), *more])} {row.detail}"


COMMANDS = (
    Command(
        id="context.inspect",
        slash="context",
        title="Wire inspector",
        help="Show the exact next request, what is sent and not sent and why, and the last exchange.",
        group=Group.CONTEXT,
        run=_inspect,
        keys=("f12",),
        example="/context",
    ),
    Command(
        id="context.inspect_here",
        title="Inspect",
        help="Open the wire inspector from the transcript.",
        group=Group.CONTEXT,
        run=_inspect,
        keys=("i",),
        scope=CommandScope.TRANSCRIPT,
        palette=False,
    ),
    Command(
        id="context.tokens",
        slash="tokens",
        title="Count tokens",
        help="Count the tokens of the next request; `exact` asks the provider, if it can count.",
        group=Group.CONTEXT,
        run=_tokens,
        argument=Argument(usage="[exact]", complete=lambda _, typed: ["exact"] if "exact".startswith(typed) else []),
        example="/tokens exact",
    ),
    Command(
        id="context.cost",
        slash="cost",
        title="Cost",
        help="Show what was spent by day and model, with thinking and cache savings; a number says for how many days.",
        group=Group.CONTEXT,
        run=_cost,
        argument=Argument(usage="[DAYS]"),
        example="/cost 7",
    ),
    Command(
        id="context.compress",
        slash="compress",
        title="Compress the history",
        help="Replace finished turns by a summary; an instruction says what to keep. The originals are kept.",
        group=Group.CONTEXT,
        run=_compress,
        argument=Argument(usage="[INSTRUCTION]"),
        example="/compress keep the file names",
    ),
    Command(
        id="context.uncompress",
        slash="uncompress",
        title="Undo compression",
        help="Send the whole history again.",
        group=Group.CONTEXT,
        run=_uncompress,
        cost=_cost_of_uncompress,
        example="/uncompress",
    ),
    Command(
        id="tools.list",
        slash="tools",
        title="Tools",
        help="List the tools that the model may call; `on NAME` and `off NAME` switch one.",
        group=Group.TOOLS,
        run=_tools,
        cost=_cost_of_tools,
        argument=Argument(usage="[on|off NAME]", complete=_tool_names),
        example="/tools",
    ),
    Command(
        id="tools.web_search",
        title="Web search",
        help="Let the model search the web on its provider's servers, or not. Searches cost extra.",
        group=Group.TOOLS,
        run=_switch_web_search,
    ),
    Command(
        id="tools.mcp",
        slash="mcp",
        title="MCP servers",
        help="Show the MCP servers, their state and what they offer; `login` and `logout` are for remote ones.",
        group=Group.TOOLS,
        run=_mcp,
        argument=Argument(usage="[login|logout NAME]", complete=_logins),
        example="/mcp",
    ),
)
