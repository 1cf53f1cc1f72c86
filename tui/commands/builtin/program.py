"""Commands on the program: palette, help, sidebar, scrolling, status, quit; and keys that widgets handle."""

from __future__ import annotations

from tui.commands.registry import Command, CommandContext, CommandScope, Group, Jump, Run, ScrollStep, View


async def _palette(context: CommandContext, _: str) -> None:
    await context.screen.show(View.PALETTE)


async def _help(context: CommandContext, argument: str) -> None:
    await context.screen.show(View.HELP, argument)


async def _keys(context: CommandContext, _: str) -> None:
    await context.screen.show(View.HELP, "keys")


async def _sidebar(context: CommandContext, _: str) -> None:
    await context.services.settings.assign("ui.sidebar", context.screen.toggle_sidebar())


THINKING_SHOWN = {"folded": "as one line", "peek": "in ten lines", "full": "in full"}
"""How much of all thinking is shown, in words."""


async def _thinking_view(context: CommandContext, _: str) -> None:
    shown = context.screen.step_thinking_view()
    context.screen.say(f"Thinking is shown {THINKING_SHOWN.get(shown, shown)}.")


async def _status(context: CommandContext, _: str) -> None:
    server = await context.services.model_server()
    await context.screen.show(View.TEXT, f"Status\n{context.services.status()}\n{server}".rstrip())


async def _doctor(context: CommandContext, _: str) -> None:
    await context.screen.show(View.TEXT, f"Doctor\n{await context.services.doctor()}")


async def _quit(context: CommandContext, _: str) -> None:
    context.screen.quit()


async def _nothing(context: CommandContext, _: str) -> None:
    """Has no effect: the focused widget handles the key."""


def _scroll(step: ScrollStep) -> Run:
    async def run(context: CommandContext, _: str) -> None:
        context.screen.scroll(step)

    return run


def _cursor(step: int) -> Run:
    async def run(context: CommandContext, _: str) -> None:
        context.screen.move_cursor(step)

    return run


def _jump(jump: Jump) -> Run:
    async def run(context: CommandContext, _: str) -> None:
        context.screen.jump(jump)

    return run


def _shift(columns: int) -> Run:
    async def run(context: CommandContext, _: str) -> None:
        context.screen.shift_code(columns)

    return run


async def _toggle_source(context: CommandContext, _: str) -> None:
    context.screen.toggle_source()


def _move(
    id_: str, title: str, keys: tuple[str, ...], run: Run, scope: CommandScope = CommandScope.ANYWHERE
) -> Command:
    return Command(
        id=id_, title=title, help=title + ".", group=Group.VIEW, run=run, keys=keys, scope=scope, palette=False
    )


def _owned(id_: str, title: str, help_: str, keys: tuple[str, ...], scope: CommandScope) -> Command:
    return Command(
        id=id_,
        title=title,
        help=help_,
        group=Group.CHAT,
        run=_nothing,
        keys=keys,
        scope=scope,
        palette=False,
        owned_by_widget=True,
        footer={"composer.send": "send", "composer.newline": "newline", "composer.escape": "stop"}.get(id_, ""),
    )


COMMANDS = (
    _owned(
        "composer.send",
        "Send",
        "Send the message; during an answer it is queued. With an empty composer: send a held queue.",
        ("enter",),
        CommandScope.COMPOSER,
    ),
    _owned(
        "composer.steer",
        "Send with the next tool results",
        "While a turn runs: send the message with the next tool results. With an empty composer: move the last queued "
        "prompt there, or back to the end of the turn.",
        ("tab",),
        CommandScope.COMPOSER,
    ),
    _owned(
        "composer.newline",
        "New line",
        "Insert a new line. Shift+enter and alt+enter do the same if the terminal reports them.",
        ("ctrl+j", "shift+enter", "alt+enter"),
        CommandScope.COMPOSER,
    ),
    _owned(
        "composer.escape",
        "Stop, or one step back",
        "One step per press: close the popup, stop streaming and hold the queue, clear the selection, focus the "
        "composer, end an edit, put queued prompts back into the draft. Never quits. "
        "Twice on an empty composer: edit the last prompt.",
        ("escape",),
        CommandScope.ANYWHERE,
    ),
    _owned(
        "program.interrupt",
        "Copy, stop, clear, quit",
        "Copy the selection; else stop streaming; else clear the draft (↑ recalls it); else press again to quit.",
        ("ctrl+c",),
        CommandScope.ANYWHERE,
    ),
    _owned(
        "composer.up",
        "Earlier prompt",
        "On the first line: the previous prompt. With an empty composer: take the last queued prompt back. In the "
        "conversation x removes it.",
        ("up",),
        CommandScope.COMPOSER,
    ),
    _owned("composer.down", "Later prompt", "On the last line: the next prompt.", ("down",), CommandScope.COMPOSER),
    _owned(
        "block.fold", "Fold", "Open or close the block under the cursor.", ("space", "enter"), CommandScope.TRANSCRIPT
    ),
    Command(
        id="program.palette",
        title="Command palette",
        help="Find and run any command.",
        group=Group.PROGRAM,
        run=_palette,
        keys=("ctrl+p",),
        footer="palette",
        palette=False,
    ),
    Command(
        id="thinking.view",
        title="Thinking: folded, peek, full",
        help="Show all thinking folded, with ten lines, or in full.",
        group=Group.VIEW,
        run=_thinking_view,
        keys=("ctrl+o",),
        footer="thinking",
    ),
    Command(
        id="view.sidebar",
        title="Sidebar",
        help="Show or hide models, thinking, meter and cost.",
        group=Group.VIEW,
        run=_sidebar,
        keys=("ctrl+b",),
    ),
    _move("view.page_up", "Page up", ("pageup",), _scroll("page_up")),
    _move("view.page_down", "Page down", ("pagedown",), _scroll("page_down")),
    _move("view.half_up", "Half a page up", ("ctrl+u",), _scroll("half_up"), CommandScope.TRANSCRIPT),
    _move("view.half_down", "Half a page down", ("ctrl+d",), _scroll("half_down"), CommandScope.TRANSCRIPT),
    _move("view.line_up", "Line up", ("shift+up",), _scroll("up")),
    _move("view.line_down", "Line down", ("shift+down",), _scroll("down")),
    _move("view.follow", "Follow the answer", ("ctrl+end",), _scroll("end")),
    _move("view.top", "To the beginning", ("ctrl+home",), _scroll("home")),
    _move("cursor.up", "Message cursor up", ("alt+up",), _cursor(-1)),
    _move("cursor.down", "Message cursor down", ("alt+down",), _cursor(1)),
    _move("cursor.next", "Next block", ("j",), _cursor(1), CommandScope.TRANSCRIPT),
    Command(
        id="code.sideways",
        title="Long lines of code",
        help="Scroll long lines of code and wide tables under the cursor with ← and →; again: wrap them.",
        group=Group.VIEW,
        run=_shift(0),
        keys=("w",),
        scope=CommandScope.TRANSCRIPT,
    ),
    Command(
        id="diagram.source",
        title="Source of diagrams",
        help="Show the diagrams of the message under the cursor as they are written; again: draw them.",
        group=Group.VIEW,
        run=_toggle_source,
        keys=("s",),
        scope=CommandScope.TRANSCRIPT,
    ),
    _move("code.left", "Code to the left", ("left",), _shift(-8), CommandScope.TRANSCRIPT),
    _move("code.right", "Code to the right", ("right",), _shift(8), CommandScope.TRANSCRIPT),
    _move("cursor.previous", "Previous block", ("k",), _cursor(-1), CommandScope.TRANSCRIPT),
    _move("cursor.first", "First block", ("g",), _jump("first"), CommandScope.TRANSCRIPT),
    _move("cursor.last", "Last block", ("G",), _jump("last"), CommandScope.TRANSCRIPT),
    _move(
        "cursor.previous_prompt",
        "Previous prompt",
        ("left_curly_bracket",),
        _jump("previous_prompt"),
        CommandScope.TRANSCRIPT,
    ),
    _move("cursor.next_prompt", "Next prompt", ("right_curly_bracket",), _jump("next_prompt"), CommandScope.TRANSCRIPT),
    Command(
        id="program.help_here",
        title="Help from the conversation",
        help="Open help from the conversation.",
        group=Group.PROGRAM,
        run=_help,
        keys=("question_mark",),
        scope=CommandScope.TRANSCRIPT,
        palette=False,
    ),
    Command(
        id="program.help",
        slash="help",
        title="Help",
        help="Show keys and commands, and help for the focused part.",
        group=Group.PROGRAM,
        run=_help,
        keys=("f1",),
        footer="help",
        example="/help",
    ),
    Command(
        id="program.keys",
        slash="keys",
        title="Keys",
        help="Show all keys, and how to change them in keys.toml.",
        group=Group.PROGRAM,
        run=_keys,
        example="/keys",
    ),
    Command(
        id="program.status",
        slash="status",
        title="Status",
        help="Show the current model, route, proxy, store and servers.",
        group=Group.PROGRAM,
        run=_status,
        example="/status",
    ),
    Command(
        id="program.doctor",
        slash="doctor",
        title="Doctor",
        help="Check versions, terminal, paths, providers and database.",
        group=Group.PROGRAM,
        run=_doctor,
        example="/doctor",
    ),
    Command(
        id="program.quit",
        slash="quit",
        title="Quit",
        help="Quit; everything is saved. Ctrl+d in an empty composer does the same.",
        group=Group.PROGRAM,
        run=_quit,
        keys=("ctrl+q",),
        example="/quit",
    ),
)
