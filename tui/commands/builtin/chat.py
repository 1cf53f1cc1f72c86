"""Commands on the conversation: stop, retry, edit, fork, replay, copy, attach."""

from __future__ import annotations

from collections.abc import Iterable

from tui.commands.registry import Argument, Command, CommandContext, CommandScope, Copy, Group, View
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError
from tui.domain.events import Severity

COPIES = {
    "": Copy.ANSWER,
    "answer": Copy.ANSWER,
    "code": Copy.CODE,
    "thinking": Copy.THINKING,
    "all": Copy.ALL,
}

CLIPBOARD = "clipboard"
"""What ``/attach`` takes for the picture on the clipboard. A file of this name is ``./clipboard``."""
BRANCHES = {"": 1, "next": 1, "previous": -1}


def _turn(context: CommandContext) -> str:
    turn = context.screen.chosen_turn()
    if turn is None and context.view().open_turn is not None:
        raise UsageError("The first turn is still running.", advice="Esc stops it.")
    if turn is None:
        raise UsageError("There is no turn yet.")
    return turn


def _copies(context: CommandContext, typed: str) -> Iterable[str]:
    return [word for word in COPIES if word and word.startswith(typed.lower())]


def _paths(context: CommandContext, typed: str) -> Iterable[str]:
    special = [CLIPBOARD] if typed and CLIPBOARD.startswith(typed.lower()) else []
    return [*special, *context.services.drafts.complete_path(typed)]


def _levels_and_models(context: CommandContext, typed: str) -> Iterable[str]:
    word, models = typed.lower(), context.services.models
    levels = [row.label for row in models.levels() if word and row.label.startswith(word)]
    return [*levels, *(str(row.spec) for row in models.models() if word in str(row.spec).lower())][:50]


def _takes_level_or_model(context: CommandContext, argument: str) -> bool:
    models = context.services.models
    return models.is_name(argument) or any(row.label == argument.lower() for row in models.levels())


def _branches(context: CommandContext, typed: str) -> Iterable[str]:
    return [word for word in BRANCHES if word and word.startswith(typed.lower())]


async def _stop(context: CommandContext, _: str) -> None:
    view = context.view()
    if view.open_turn is None and str(view.phase) == "idle":
        context.screen.say("Nothing is running.")
    await context.services.chat.cancel()


async def _answer_now(context: CommandContext, argument: str) -> None:
    draft = context.screen.draft()
    note = argument or ("" if draft.startswith("/") else draft.strip())
    try:
        await context.services.chat.answer_now((TextBlock(text=note),) if note else ())
    except UsageError as error:
        if argument:
            raise  # the line is put back into the composer
        context.screen.say(error.message, Severity.WARNING, error.advice)
        return
    if note and not argument:
        context.screen.put_draft("")


async def _retry(context: CommandContext, argument: str) -> None:
    turn, cost = _turn(context), _cost_of_retry(context, argument)
    await context.services.chat.retry(turn, argument)
    if cost:
        context.screen.say(cost)


def _cost_of_retry(context: CommandContext, argument: str) -> str:
    turn = context.screen.chosen_turn()
    return context.services.models.cost_of_name(argument, turn_id=turn) if argument and turn else ""


async def _retry_with(context: CommandContext, _: str) -> None:
    _turn(context)
    context.screen.put_draft("/retry ")


async def _edit(context: CommandContext, _: str) -> None:
    context.screen.edit_turn(_turn(context))


async def _fork(context: CommandContext, _: str) -> None:
    session = await context.services.chat.fork(_turn(context))
    await context.services.chat.open_session(session)
    context.screen.session_changed()
    context.screen.say("This is the fork. The original is in the session list.")


async def _branch(context: CommandContext, argument: str) -> None:
    step = BRANCHES.get(argument.lower())
    if step is None:
        raise UsageError(f"`/branch` takes next or previous, not `{argument}`.")
    await _switch_branch(context, step)


async def _previous_branch(context: CommandContext, _: str) -> None:
    await _switch_branch(context, -1)


async def _switch_branch(context: CommandContext, step: int) -> None:
    turn = _turn(context)
    if context.view().open_turn is not None:
        raise UsageError("Branches cannot be switched while a turn is running.", advice="Esc stops it.")
    place = next(index for index, other in enumerate(context.view().turns) if other.id == turn)
    message = await context.services.chat.switch_branch(turn, step)
    context.screen.show_turn(context.view().turns[place].id)
    context.screen.say(message)


async def _tree(context: CommandContext, _: str) -> None:
    if not context.view().turns:
        raise UsageError("There is no turn yet.")
    await context.screen.show(View.TREE)


async def _compare(context: CommandContext, _: str) -> None:
    await context.screen.show(View.BRANCHES, _turn(context))


async def _replay(context: CommandContext, argument: str) -> None:
    turn = _turn(context)
    session = await context.services.chat.replay(turn, argument)
    context.screen.session_changed()
    await context.screen.show(View.COMPARE, f"{session} {turn}")


async def _ask(context: CommandContext, argument: str) -> None:
    if context.view().open_turn is not None:
        raise UsageError("A turn is running.", advice="Esc stops it; /aside asks beside it.")
    await context.screen.show(View.ASK, argument)


def _name_lists(context: CommandContext, typed: str) -> Iterable[str]:
    """Completions of the last name of a list; none once the question begins."""
    blind, is_blind, names = typed.rpartition(" ")
    if is_blind and blind.strip().lower() != "blind":
        return []
    before, comma, last = names.rpartition(",")
    chosen = set(before.split(",")) if comma else set()
    return [f"{before}{comma}{name}" for name in _levels_and_models(context, last) if name not in chosen]


async def _aside(context: CommandContext, argument: str) -> None:
    await context.screen.show(View.ASIDE, argument)


async def _copy(context: CommandContext, argument: str) -> None:
    what = COPIES.get(argument.lower())
    if what is None:
        raise UsageError(f"`/copy` takes answer, code, thinking or all, not `{argument}`.")
    context.screen.say(context.screen.copy(what))


async def _copy_answer(context: CommandContext, _: str) -> None:
    context.screen.say(context.screen.copy(Copy.ANSWER))


async def _copy_code(context: CommandContext, _: str) -> None:
    context.screen.say(context.screen.copy(Copy.VISIBLE_CODE))


async def _copy_with_thinking(context: CommandContext, _: str) -> None:
    context.screen.say(context.screen.copy(Copy.WITH_THINKING))


async def _attach(context: CommandContext, argument: str) -> None:
    context.screen.attach(argument)


async def _paste(context: CommandContext, _: str) -> None:
    context.screen.attach(CLIPBOARD)


async def _editor(context: CommandContext, _: str) -> None:
    await context.screen.edit_in_editor()


async def _history(context: CommandContext, _: str) -> None:
    await context.screen.show(View.HISTORY)


async def _find(context: CommandContext, argument: str) -> None:
    await context.screen.show(View.FIND, argument)


async def _outline(context: CommandContext, argument: str) -> None:
    if argument not in ("", "thinking"):
        raise UsageError(f"`/outline` takes only thinking, not `{argument}`.")
    await context.screen.show(View.OUTLINE, argument)


def _outlines(_: CommandContext, typed: str) -> Iterable[str]:
    return ["thinking"] if "thinking".startswith(typed.lower()) else []


COMMANDS = (
    Command(
        id="chat.stop",
        slash="stop",
        title="Stop",
        help="Stop the running turn and keep what has arrived. In the composer: esc.",
        group=Group.CHAT,
        run=_stop,
        example="/stop",
        while_busy=True,
    ),
    Command(
        id="chat.answer_now",
        slash="now",
        title="Answer now",
        help="End the thinking and have the answer now, with the note or draft if any. Before a retry: do not wait.",
        group=Group.CHAT,
        run=_answer_now,
        keys=("ctrl+l",),
        argument=Argument(usage="[NOTE]"),
        example="/now in one sentence",
        footer="answer now",
        while_busy=True,
    ),
    Command(
        id="chat.retry",
        slash="retry",
        title="Retry",
        help="Send the prompt again, optionally to another model or level; the first answer is kept on its branch.",
        group=Group.CHAT,
        run=_retry,
        cost=_cost_of_retry,
        keys=("r",),
        scope=CommandScope.TRANSCRIPT,
        argument=Argument(usage="[NAME/LEVEL]", complete=_levels_and_models, takes=_takes_level_or_model),
        example="/retry",
    ),
    Command(
        id="chat.retry_with",
        title="Retry with…",
        help="Send the prompt again to another model.",
        group=Group.CHAT,
        run=_retry_with,
        keys=("R",),
        scope=CommandScope.TRANSCRIPT,
    ),
    Command(
        id="chat.edit",
        slash="edit",
        title="Edit a prompt",
        help="Put a prompt back into the composer; sending it starts a new branch. Esc esc edits the last one.",
        group=Group.CHAT,
        run=_edit,
        keys=("e",),
        scope=CommandScope.TRANSCRIPT,
        example="/edit",
    ),
    Command(
        id="chat.fork",
        slash="fork",
        title="Fork",
        help="Continue from here in a new session.",
        group=Group.CHAT,
        run=_fork,
        keys=("f",),
        scope=CommandScope.TRANSCRIPT,
        example="/fork",
    ),
    Command(
        id="chat.branch",
        slash="branch",
        title="Other branch",
        help="Switch between the edited prompts and retries of this turn.",
        group=Group.CHAT,
        run=_branch,
        keys=("right_square_bracket", "b"),
        scope=CommandScope.TRANSCRIPT,
        argument=Argument(usage="[next|previous]", complete=_branches),
        example="/branch previous",
    ),
    Command(
        id="chat.previous_branch",
        title="Previous branch",
        help="Go back to the edited prompt or retry before this one.",
        group=Group.CHAT,
        run=_previous_branch,
        keys=("left_square_bracket",),
        scope=CommandScope.TRANSCRIPT,
    ),
    Command(
        id="chat.tree",
        slash="tree",
        title="Tree of turns",
        help="Show all turns on all branches as a tree, and open one.",
        group=Group.CHAT,
        run=_tree,
        keys=("t",),
        scope=CommandScope.TRANSCRIPT,
        example="/tree",
    ),
    Command(
        id="chat.compare",
        slash="compare",
        title="Compare answers",
        help="Show the answers on all branches of this turn side by side, and open one.",
        group=Group.CHAT,
        run=_compare,
        example="/compare",
    ),
    Command(
        id="chat.replay",
        slash="replay",
        title="Replay with another model",
        help="Send a turn again to another model or level, and compare the two side by side.",
        group=Group.CHAT,
        run=_replay,
        argument=Argument(usage="MODEL/LEVEL", required=True, complete=_levels_and_models, takes=_takes_level_or_model),
        example="/replay openai/gpt-6-sol/high",
    ),
    Command(
        id="chat.ask",
        slash="ask",
        title="Ask several models",
        help="Ask up to six models or levels at once and continue with one answer; blind hides their names.",
        group=Group.CHAT,
        run=_ask,
        argument=Argument(usage="[blind] NAME,NAME QUESTION", required=True, complete=_name_lists),
        example="/ask low,high Why is the sky dark?",
    ),
    Command(
        id="chat.aside",
        slash="aside",
        title="Aside",
        help="Ask something beside the conversation, also while it runs; the history stays as it is.",
        group=Group.CHAT,
        run=_aside,
        argument=Argument(usage="QUESTION", required=True),
        example="/aside What is a bloom filter?",
    ),
    Command(
        id="chat.copy",
        slash="copy",
        title="Copy",
        help="Copy the answer, its last code block, its thinking, or the whole conversation.",
        group=Group.CHAT,
        run=_copy,
        argument=Argument(usage="[answer|code|thinking|all]", complete=_copies),
        example="/copy code",
    ),
    Command(
        id="copy.answer",
        title="Copy the answer",
        help="Copy what the cursor is on.",
        group=Group.CHAT,
        run=_copy_answer,
        keys=("y",),
        scope=CommandScope.TRANSCRIPT,
    ),
    Command(
        id="copy.code",
        title="Copy the code block",
        help="Copy the topmost code block on the screen; again: the next one.",
        group=Group.CHAT,
        run=_copy_code,
        keys=("c",),
        scope=CommandScope.TRANSCRIPT,
    ),
    Command(
        id="copy.with_thinking",
        title="Copy with thinking",
        help="Copy the answer and its thinking.",
        group=Group.CHAT,
        run=_copy_with_thinking,
        keys=("Y",),
        scope=CommandScope.TRANSCRIPT,
    ),
    Command(
        id="composer.attach",
        slash="attach",
        title="Attach a file",
        help="Attach a file, folder, pattern or the picture on the clipboard; `@` in the composer completes paths.",
        group=Group.CHAT,
        run=_attach,
        argument=Argument(usage="PATH|clipboard", required=True, complete=_paths, reads_files=True),
        example="/attach picture.png",
    ),
    Command(
        id="composer.paste",
        title="Paste a picture",
        help="Attach the picture on the clipboard. Text is pasted by the terminal.",
        group=Group.CHAT,
        run=_paste,
        keys=("ctrl+v", "alt+v"),
        scope=CommandScope.COMPOSER,
    ),
    Command(
        id="composer.editor",
        title="Edit in $EDITOR",
        help="Edit the draft in your editor.",
        group=Group.CHAT,
        run=_editor,
        keys=("ctrl+g",),
    ),
    Command(
        id="composer.history",
        title="Search prompt history",
        help="Search your earlier prompts.",
        group=Group.CHAT,
        run=_history,
        keys=("ctrl+r",),
    ),
    Command(
        id="view.outline",
        slash="outline",
        title="Outline",
        help="List prompts and headings to jump to; on thinking, where it turns, with durations.",
        group=Group.VIEW,
        run=_outline,
        argument=Argument(usage="[thinking]", complete=_outlines),
        keys=("o",),
        scope=CommandScope.TRANSCRIPT,
        example="/outline thinking",
    ),
    Command(
        id="view.find",
        slash="find",
        title="Find in the conversation",
        help="Search this conversation, including folded thinking; n and N step through the matches.",
        group=Group.VIEW,
        run=_find,
        keys=("ctrl+f",),
        argument=Argument(usage="[TEXT]"),
        example="/find Drake",
    ),
    Command(
        id="chat.find_here",
        title="Find from the conversation",
        help="Search this conversation.",
        group=Group.VIEW,
        run=_find,
        keys=("slash",),
        scope=CommandScope.TRANSCRIPT,
        palette=False,
    ),
)
