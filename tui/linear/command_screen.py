"""The functions of the screen that commands can also use line by line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from tui.commands.registry import Copy, Screen, View
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.domain.messages import Role
from tui.domain.printable import one_line
from tui.linear.sentences import answers
from tui.linear.turn_text import last_code, message_words, thinking_of

if TYPE_CHECKING:
    from tui.linear.app import LinearApp


def command_screen(app: LinearApp) -> Screen:
    """The functions for commands."""
    parts = ScreenParts(app)
    return Screen(
        toast=app.conversation.say,
        open=parts.open,
        theme_names=lambda: (),
        use_theme=lambda _: _not_here("Themes change colours"),
        toggle_sidebar=lambda: _not_here("The sidebar is beside the conversation"),
        step_thinking_view=lambda: _not_here("Thinking is not folded"),
        copy=parts.copy,
        draft=lambda: app.draft.kept,
        put_draft=parts.put_draft,
        attach=parts.attach,
        edit_in_editor=parts.edit_in_editor,
        chosen_turn=parts.chosen_turn,
        edit_turn=parts.edit_turn,
        scroll=lambda _: _not_here("The terminal scrolls"),
        move_cursor=lambda _: _not_here("There is no cursor in the conversation"),
        jump=lambda _: _not_here("There is no cursor in the conversation"),
        shift_code=lambda _: _not_here("Code is not cut"),
        reread_prompts=parts.reread_prompts,
        start=app.work.do_at_once,
        run_shell=lambda command, untrusted: app.run_shell(command, untrusted=untrusted),
        toggle_source=lambda: _not_here("Diagrams are printed as their source"),
        session_changed=app.session_changed,
        show_turn=app.session_changed,
        quit=lambda: app.work.add(app.leave),
    )


def _not_here(why: str) -> NoReturn:
    raise UsageError(f"{why}: there is nothing to change line by line.")


class ScreenParts:
    """The functions that need more than a line."""

    def __init__(self, app: LinearApp) -> None:
        self._app = app

    async def open(self, view: View, argument: str) -> None:
        """Show a view."""
        from tui.linear.views import open_view  # with the first one

        await open_view(self._app, view, argument)

    def put_draft(self, text: str) -> None:
        """Keep a text as the draft."""
        self._app.draft.kept, self._app.draft.kept_for = text, None
        self._app.draft.keep()
        if text:
            self._app.say_draft()

    def attach(self, path: str) -> None:
        """Attach a file, the files of a folder or pattern, or a resource of an MCP server, to the next prompt."""
        services, name = self._app.services, path.removeprefix("@")

        async def read() -> None:
            left_out = ""
            if services.mcp.is_resource(name):
                found = await services.mcp.resource(name)
            else:
                attachments = await asyncio.to_thread(services.drafts.read_attachments, path)
                found, left_out = attachments.blocks, attachments.left_out
            for title, block in found:
                self._app.draft.attach(title, block)
            names = ", ".join(one_line(title, 60) for title in self._app.draft.attached)
            self._app.conversation.say(f"Attached to the next prompt: {names}.")
            if left_out:
                self._app.conversation.say(left_out)

        self._app.work.add(read)

    async def edit_in_editor(self) -> None:
        _not_here("An editor draws a screen")

    def chosen_turn(self) -> str | None:
        """The turn that was chosen, else the last finished one."""
        view = self._app.conversation.view()
        chosen = self._app.conversation.chosen_turn
        if any(turn.id == chosen for turn in view.turns):
            return chosen
        return view.turns[-1].id if view.turns else None

    def edit_turn(self, turn_id: str) -> None:
        """Put a prompt back; the next one that is sent replaces its turn."""
        turns = self._app.conversation.view().turns
        index = next((index for index, turn in enumerate(turns) if turn.id == turn_id), None)
        if index is None:
            raise UsageError("That turn no longer exists.")
        self._app.draft.put_back(turns[index].user_blocks, turn_id)
        self._app.draft.edited = turn_id
        later = len(turns) - index - 1
        moves = f" and {count(later, 'later turn')}" if later else ""
        cost = self._app.services.cache.before_turn(self._app.conversation.view(), turn_id)
        self._app.conversation.say(
            f"Editing turn {index + 1} of {len(turns)}. Its answer{moves} will be on another branch. {cost}".strip()
        )
        self._app.out.say(
            [
                f"The prompt was: {one_line(self._app.draft.kept, 1_000)}",
                "Type the new prompt. /draft sends the old one again, /draft drop ends the edit.",
            ]
        )

    async def reread_prompts(self) -> None:
        """Read the prompt templates; from now on they are commands."""
        from tui.commands.builtin import registry
        from tui.commands.builtin.project import PROMPT, template_commands

        templates = await asyncio.to_thread(self._app.services.project.read_templates, registry().slash_words)
        self._app.use_registry(self._app.context().registry.with_commands(PROMPT, template_commands(templates)))

    def copy(self, what: Copy) -> str:
        """Copy to the clipboard of the desktop or terminal."""
        text = self._text(what)
        if not text.strip():
            raise UsageError("Nothing to copy.")
        return f"Copied {what.value} ({count(len(text), 'character')}){self._app.copy_text(text)}."

    def _text(self, what: Copy) -> str:
        view, chosen = self._app.conversation.view(), self.chosen_turn()
        if what is Copy.ALL:
            messages = [message for turn in view.turns for message in turn.messages if message_words(message)]
            return "\n\n".join(
                f"## {'You' if message.role is Role.USER else 'Answer'}\n\n{message_words(message)}"
                for message in messages
            )
        turn = next((turn for turn in view.turns if turn.id == chosen), None)
        messages = answers(turn) if turn is not None else []
        if what is Copy.THINKING:
            return "\n\n".join(filter(None, map(thinking_of, messages)))
        text = "\n\n".join(filter(None, map(message_words, messages)))
        return last_code(text) if what in (Copy.CODE, Copy.VISIBLE_CODE) else text
