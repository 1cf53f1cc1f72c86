"""What the working folder and the user's prompt templates add to conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

from tui.app.current_session import CurrentSession
from tui.app.prompt_cache import CacheService, with_cost
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count

if TYPE_CHECKING:
    from tui.app.project_files import ProjectFiles
    from tui.app.prompt_templates import PromptTemplates
    from tui.domain.blocks import Block


class ProjectService:
    """Trusts the working folder, and fills in prompt templates."""

    def __init__(self, current: CurrentSession, cache: CacheService) -> None:
        self._current = current
        self._cache = cache
        self.templates: PromptTemplates | None = None
        """None before they are read."""

    @property
    def _files(self) -> ProjectFiles:
        project = self._current.program.project
        assert project is not None, "the screen always has one"
        return project

    def read_templates(self, builtins: Collection[str]) -> PromptTemplates:
        """Read the prompt templates; ``builtins`` are the names that they cannot take. Blocking."""
        from tui.app.prompt_templates import read_templates

        root = self._files.root if self._files.trusted else None
        program = self._current.program
        self.templates = read_templates(program.paths.prompts, root, builtins, program.environment)
        return self.templates

    async def blocks(self, name: str, arguments: str, run: Callable[[str, bool], Awaitable[str]]) -> tuple[Block, ...]:
        """The prompt of a template with these arguments, the files that it names and the output of its commands.

        ``run(command, untrusted)`` runs a command; its UsageError means that nothing is sent.
        """
        from tui.app.prompt_templates import commands_in, template_blocks

        assert self.templates is not None, "a template was read before it became a command"
        template = self.templates.by_name[name]
        outputs = {}
        for command in commands_in(template, arguments):
            try:
                outputs[command] = await run(command, template.project is not None)
            except UsageError as refusal:
                why = f"{refusal.message} `/{name}` was not sent."
                raise UsageError(why, advice=refusal.advice) from None
        program = self._current.program
        return await asyncio.to_thread(
            template_blocks, template, arguments, program.options.folder, outputs, program.environment
        )

    @property
    def may_have_prompts(self) -> bool:
        """Whether it is worth to look for templates. Blocking."""
        return self._files.trusted or self._current.program.paths.prompts.is_dir()

    def summary(self) -> str:
        """The instructions in use, in a few words."""
        files = self._files
        used = f"{files.names} is used" if files.text else "no instructions are used"
        return f"{files.root} is {'trusted' if files.trusted else 'not trusted'}, {used}"

    def offer(self) -> str:
        """A sentence about instructions that are there and not used; "" if there are none."""
        if self._files.trusted or not self._files.files:
            return ""
        return f"{self._files.names} of this folder is not used until you trust it: /trust"

    async def trust(self) -> str:
        """Use the instructions and prompts of this folder's project; returns a message for the user."""
        files = self._files
        await asyncio.to_thread(files.read)
        from tui.context.estimate import uncached_text_tokens

        before = self._cache.before_change()
        files.trust()
        await self._apply()
        added = count(uncached_text_tokens(files.text, self._current.facts.tokenizer), "token") if files.text else ""
        used = f"{files.names} is part of the system prompt from now on (about {added})." if added else ""
        used = used or "There is no AGENTS.md; one that is added is used from the next start on."
        return with_cost(f"{files.root} is trusted. {used}", self._cache.after_change(before))

    async def distrust(self) -> str:
        """Use them no more; returns a message for the user."""
        before = self._cache.before_change()
        self._files.distrust()
        await self._apply()
        return with_cost(f"{self._files.root} is not trusted any more.", self._cache.after_change(before))

    def described(self) -> str:
        """What the project would add, word for word, as markdown."""
        files = self._files
        state = "trusted" if files.trusted else "not trusted"
        rows = [f"`{files.root}` is **{state}**.", *files.problems]
        for file in files.files:
            rows += [f"## {files.shown(file.path)}", as_code_block(file.text)]
        return "\n\n".join(rows)

    async def _apply(self) -> None:
        await self._current.apply(self._current.layers, {})


def as_code_block(text: str) -> str:
    """Text as a code block of markdown, which nothing in it can end."""
    return "\n".join(f"    {line}" for line in text.splitlines())
