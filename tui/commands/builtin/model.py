"""Commands on model and thinking level."""

from __future__ import annotations

from collections.abc import Iterable

from tui.catalog.model_spec import parse_asked, require_asked, split_asked
from tui.commands.registry import Argument, Command, CommandContext, CommandScope, Group, Offer, View
from tui.domain.errors import PonderError, UsageError
from tui.domain.format_numbers import count
from tui.domain.listing import LevelInfo


def _names(context: CommandContext, typed: str) -> Iterable[str]:
    word = typed.rpartition(" ")[2].lower()
    names = [str(row.spec) for row in context.services.models.models()]
    stem, _, level = word.rpartition("/")
    if stem and any(name.lower() == stem for name in names):
        return [f"{stem}/{known}" for known in ("none", "low", "med", "high") if known.startswith(level)]
    found = [name for name in names if word in name.lower()]
    return sorted(found, key=lambda name: not name.lower().startswith(word))[:50]


def _levels(context: CommandContext, typed: str) -> Iterable[Offer]:
    rows = [row for row in context.services.models.levels() if row.label.startswith(typed.lower())]
    return [(row.label, _about(row)) for row in rows]


def _about(row: LevelInfo) -> str:
    """What a level sends, with its warnings."""
    return " · ".join(filter(None, (row.native, "as it is now" if row.current else "", row.warning)))


def _asked_name(argument: str) -> str:
    """The model and level of ``NAME --thinking-budget=N`` as one name; raises ConfigError for a wrong budget."""
    name, _, flag = argument.partition("--thinking-budget")
    name = name.strip()
    if not flag:
        return name
    asked = require_asked(flag.lstrip("= ").strip())
    return f"{split_asked(name)[0]}/{asked}" if name else str(asked)


def _takes_name(context: CommandContext, argument: str) -> bool:
    return argument.partition(" ")[0] == "info" or "--" in argument or context.services.models.is_name(argument)


def _takes_level(context: CommandContext, argument: str) -> bool:
    return parse_asked(argument) is not None or any(
        row.label == argument.lower() for row in context.services.models.levels()
    )


def _cost_of_model(context: CommandContext, argument: str) -> str:
    try:
        return context.services.models.cost_of_name(_asked_name(argument)) if argument else ""
    except PonderError:  # not typed to its end yet
        return ""


def _cost_of_level(context: CommandContext, argument: str) -> str:
    row = next((row for row in context.services.models.levels() if row.label == argument.lower()), None)
    if parse_asked(argument) is not None:
        return context.services.models.cost_of_name(argument)
    return "" if row is None or row.current else context.services.models.cost_of_name(str(row.asked))


async def _set_model(context: CommandContext, argument: str) -> None:
    if not argument:
        await context.screen.show(View.MODELS)
        return
    name = argument.partition("--thinking-budget")[0].strip()
    if name == "info" or name.startswith("info "):
        page = context.services.models.model_info(name.removeprefix("info").strip())
        await context.screen.show(View.TEXT, f"Model\n{page}")
        return
    context.screen.say(await context.services.models.set_model(_asked_name(argument)))


async def _set_level(context: CommandContext, argument: str) -> None:
    if not argument:
        await context.screen.show(View.MODELS, "thinking")
        return
    asked = parse_asked(argument)
    if asked is None:
        rows = {row.label: row for row in context.services.models.levels()}
        row = rows.get(argument.lower())
        if row is not None and row.current:
            context.screen.say(f"Thinking is {row.label} already: {row.native}.")
            return
        asked = require_asked(argument) if row is None else row.asked
    context.screen.say(await context.services.models.set_level(asked))


async def _pick(context: CommandContext, _: str) -> None:
    await context.screen.show(View.MODELS)


async def _next_level(context: CommandContext, _: str) -> None:
    context.screen.say(await context.services.models.step_level(1, wrap=True))


async def _level_down(context: CommandContext, _: str) -> None:
    context.screen.say(await context.services.models.step_level(-1, wrap=False))


async def _level_up(context: CommandContext, _: str) -> None:
    context.screen.say(await context.services.models.step_level(1, wrap=False))


async def _next_model(context: CommandContext, _: str) -> None:
    context.screen.say(await context.services.models.step_model(1))


async def _previous_model(context: CommandContext, _: str) -> None:
    context.screen.say(await context.services.models.step_model(-1))


async def _refresh(context: CommandContext, _: str) -> None:
    listed = await context.services.models.refresh_models()
    context.screen.say(f"The provider lists {count(listed, 'model')}.")


def _providers(context: CommandContext, typed: str) -> Iterable[Offer]:
    word = typed.lower()
    rows = context.services.keys.providers()
    return [(row.provider, f"{row.title} · {row.detail}") for row in rows if row.provider.startswith(word)]


def _takes_provider(context: CommandContext, argument: str) -> bool:
    return any(row.provider == argument for row in context.services.keys.providers())


async def _key(context: CommandContext, argument: str) -> None:
    if len(argument.split()) > 1:
        raise UsageError("A key is never typed into a command.", advice="`/key PROVIDER` asks for it, masked.")
    await context.screen.show(View.KEY, argument)


COMMANDS = (
    Command(
        id="model.set",
        slash="model",
        title="Choose the model",
        help="Choose the model, with a level or budget; alone it opens the picker, `info` shows its facts.",
        group=Group.MODEL,
        run=_set_model,
        palette=False,  # the picker is in it
        cost=_cost_of_model,
        argument=Argument(usage="NAME[/LEVEL]", complete=_names, takes=_takes_name),
        example="/model anthropic/claude-opus-5-5/high",
    ),
    Command(
        id="model.pick",
        title="Model and thinking picker",
        help="Choose model and thinking level side by side.",
        group=Group.MODEL,
        run=_pick,
        keys=("ctrl+t",),
        footer="model",
    ),
    Command(
        id="thinking.set",
        slash="thinking",
        title="Set the thinking level",
        help="none, low, med, high, a budget in tokens (16k), or a word from the picker (on, off, minimal).",
        group=Group.MODEL,
        run=_set_level,
        cost=_cost_of_level,
        argument=Argument(usage="LEVEL|N", complete=_levels, takes=_takes_level),
        example="/thinking high",
    ),
    Command(
        id="thinking.next",
        title="Next thinking level",
        help="Next thinking level of the model; after high comes none. Never goes above high.",
        group=Group.MODEL,
        run=_next_level,
        keys=("shift+tab",),
        scope=CommandScope.COMPOSER,
    ),
    Command(
        id="thinking.down",
        title="Less thinking",
        help="One level down, stopping at the lowest.",
        group=Group.MODEL,
        run=_level_down,
        keys=("alt+comma",),
    ),
    Command(
        id="thinking.up",
        title="More thinking",
        help="One level up, stopping at high.",
        group=Group.MODEL,
        run=_level_up,
        keys=("alt+full_stop",),
    ),
    Command(
        id="model.next",
        title="Next recent model",
        help="Step through recently used models and levels.",
        group=Group.MODEL,
        run=_next_model,
        keys=("f2",),
    ),
    Command(
        id="model.previous",
        title="Previous recent model",
        help="Step back through recently used models and levels.",
        group=Group.MODEL,
        run=_previous_model,
        keys=("shift+f2",),
    ),
    Command(
        id="model.refresh",
        slash="refresh",
        title="Refresh the model list",
        help="Get the provider's current list of models.",
        group=Group.MODEL,
        run=_refresh,
        example="/refresh",
    ),
    Command(
        id="key.set",
        slash="key",
        title="Set a provider's key",
        help="Enter a provider's key in a masked dialog; alone it lists all providers and the state of their keys.",
        group=Group.MODEL,
        run=_key,
        argument=Argument(usage="PROVIDER", complete=_providers, takes=_takes_provider),
        example="/key openai",
    ),
)
