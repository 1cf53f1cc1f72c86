"""The services that commands, screens and headless runs call."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.app.attachments import Attachments, read_attachments, refuse_documents
from tui.app.branches import Branches
from tui.app.chat import ChatService
from tui.app.current_session import CurrentSession
from tui.app.mcp import McpService
from tui.app.models import ModelService
from tui.app.project import ProjectService
from tui.app.prompt_cache import CacheService
from tui.app.provider_availability import ProviderAvailability
from tui.app.session_storage import Storage
from tui.app.sessions import SessionsService
from tui.app.settings import SettingsService
from tui.app.side_questions import SideQuestions
from tui.app.web_search import WebSearchTool
from tui.catalog.facts import ModelFacts
from tui.context.estimate import tool_tokens
from tui.domain.blocks import Block
from tui.domain.errors import UsageError
from tui.domain.listing import KeyCheck, ProviderInfo, ServerInfo, ToolInfo, ToolTokens
from tui.domain.printable import one_line
from tui.domain.thinking import ModelSpec
from tui.domain.usage import MeterReading, Part
from tui.domain.web_search import WEB_SEARCH

if TYPE_CHECKING:
    from tui.app.path_completion import PathCompletion


async def replace_default_demo(current: CurrentSession, ready: Sequence[ModelSpec]) -> bool:
    """Replace the default demo with an available model if nothing was sent yet; returns whether it did."""
    view = current.session.view()
    untouched = not view.turns and view.open_turn is None
    if not (ready and untouched and current.chosen_by_default and current.spec.provider == "demo"):
        return False
    await current.use(ready[0], remember=False)
    return True


MOST_DAYS = 36_500
"""The longest period of ``/cost``."""


class KeyService:
    """Checks and saves API keys."""

    def __init__(self, current: CurrentSession, availability: ProviderAvailability) -> None:
        self._current = current
        self._availability = availability

    def availability(self) -> Sequence[ProviderInfo]:
        """All providers with a key, a server or a problem, and those without a key."""
        return self._availability.rows(every=True)

    def providers(self) -> Sequence[ProviderInfo]:
        """All providers that take a key, and the state of their keys."""
        return self._availability.key_rows()

    async def check_key(self, provider: str, key: str) -> KeyCheck:
        """Check the format of a key, then try it by listing the provider's models."""
        from tui.app.provider_keys import check_key

        facts = self._current.program.catalog.provider(provider)
        return await check_key(self._current.program, facts, key)

    async def save_key(self, provider: str, key: str, *, keep: bool) -> str:
        """Use a key from now on; ``keep`` also saves it. Returns a message for the user."""
        facts = self._current.program.catalog.provider(provider)
        keys = self._current.program.keys
        if keep:
            stored_in = await asyncio.to_thread(keys.save, facts, key)
            message = f"The key for {facts.title} is saved in the {stored_in.value}."
        else:
            keys.use_unsaved(facts, key)
            message = f"The key for {facts.title} is used until the program ends."
        await asyncio.to_thread(self._availability.look_for_keys, stored=True)
        ready = [spec for spec in self._availability.ready() if spec.provider == provider]
        if await replace_default_demo(self._current, ready):
            message += f" {facts.title} answers from now on."
        return message

    def key_hint(self, provider: str) -> str:
        """The environment variable and the web page for a provider's key."""
        from tui.providers.redacted_request import shown_url

        facts = self._current.program.catalog.provider(provider)
        sentences = [f"{facts.title}: the key is used for {shown_url(facts.base_url)} only."]
        if facts.key_env:
            sentences.append(f"The variable {facts.key_env[0]} works too.")
        if facts.key_url:
            sentences.append(f"Create a key at {facts.key_url}.")
        return " ".join(sentences)


class ToolService:
    """Lists tools and MCP servers, and turns tools on and off."""

    def __init__(self, current: CurrentSession, cache: CacheService, settings: SettingsService) -> None:
        self._current = current
        self._cache = cache
        self._web_search = WebSearchTool(current, settings, cache)

    @property
    def folder(self) -> str:
        """The working folder."""
        return str(self._current.program.options.folder)

    def tools(self) -> Sequence[ToolInfo]:
        """All tools with their token counts."""
        facts, scale = self._facts(), self._meter().scale
        rows = self._current.program.toolbox.rows(lambda schema: round(tool_tokens(schema, facts.tokenizer) * scale))
        return [*rows, self._web_search.row(scale)]

    def tools_sent(self) -> ToolTokens:
        """The tokens that tool definitions add to the next request."""
        meter, facts = self._meter(), self._facts()
        count = meter.parts.get(Part.TOOLS, 0)
        if not count:
            offered = self._current.program.layers.settings().tools.enabled
            why = "tools.enabled is false" if not offered else "" if facts.tools else "this model takes no tools"
            return ToolTokens(tokens=0, why_none=why)
        single = sum(row.tokens for row in self.tools() if row.enabled)
        return ToolTokens(tokens=count, shared=max(0, count - single))

    async def notes(self) -> Sequence[str]:
        """The sandbox in use, and problems of the permission rules."""
        problems = self._current.program.toolbox.problems
        from tui.app.doctor import sandbox_description

        return [f"Sandbox for commands: {await sandbox_description()}", *(problem.message for problem in problems)]

    def _meter(self) -> MeterReading:
        view = self._current.session.view()
        assert view.meter is not None
        return view.meter

    def _facts(self) -> ModelFacts:
        program = self._current.program
        return program.planner.target(self._current.spec).facts

    async def enable_tool(self, name: str, *, enabled: bool) -> str:
        """Turn a tool on or off; returns what that makes the next request write to the cache again, "" if nothing."""
        if name == WEB_SEARCH:
            return await self._web_search.switch(enabled=enabled)
        before = self._cache.before_change()
        self._current.program.toolbox.enable(name, enabled=enabled)
        await self._current.call(self._current.session.previewer.refresh_meter())
        return self._cache.after_change(before)

    def cost_of_enabling(self, name: str, *, enabled: bool) -> str:
        """The same before it is done; "" if there is no such tool."""
        if name == WEB_SEARCH:
            return self._web_search.cost_of_switching(enabled=enabled)
        return self._cache.cost_of_change(tools=self._current.program.toolbox.schemas_if(name, enabled=enabled))

    def note_on(self, name: str) -> str:
        """What the user should know about a tool that is switched on; "" for most."""
        return self._web_search.sentence() if name == WEB_SEARCH else ""

    def servers(self) -> Sequence[ServerInfo]:
        return self._current.program.toolbox.servers()

    async def run_command(self, command: str, progress: Callable[[str], None], *, untrusted: bool = False) -> str:
        """Run a shell command of the user; returns its output. Raises UsageError if it was not run.

        ``progress`` is called with the last line of its output; ``untrusted``: the command was written by others.
        """
        loop = asyncio.get_running_loop()

        def report(text: str) -> None:
            with contextlib.suppress(RuntimeError):  # the screen has closed
                loop.call_soon_threadsafe(progress, text)

        commands = self._current.session.user_commands
        return await self._current.call(commands.run(command, report, untrusted=untrusted))


class DraftService:
    """Drafts, prompt history and attachments."""

    def __init__(self, current: CurrentSession) -> None:
        self._current = current
        self._state = current.program.user_state
        self._folder = current.program.options.folder
        self._private: dict[str, str] = {}
        """Drafts of private sessions."""
        self._paths: PathCompletion | None = None

    def is_private(self, session: str) -> bool:
        """Whether nothing of a session is stored."""
        return self._current.storage.is_private(session)

    def prompt_history(self) -> Sequence[str]:
        """Earlier prompts, newest last."""
        return self._state.prompts

    def keep_draft(self, session: str, text: str) -> None:
        """Save the draft of a session; "" removes it. That of a private one stays in memory."""
        if self.is_private(session):
            self._private[session] = text
        else:
            self._state.save_draft(session, text)

    def kept_draft(self, session: str) -> str:
        """The saved draft of a session; "" if there is none."""
        return self._private.get(session, "") if self.is_private(session) else self._state.draft(session)

    def remember_prompt(self, text: str) -> None:
        """Add text to the prompt history."""
        self._state.add_prompt(text)

    def complete_path(self, start: str) -> Sequence[str]:
        """Completions of a path: by its letters within the working folder, by its beginning elsewhere. Blocking."""
        if self._paths is None:
            from tui.app.path_completion import PathCompletion  # loaded with the first path

            self._paths = PathCompletion(self._folder, self._current.program.environment)
        return self._paths.complete(start)

    def refuse_documents(self, blocks: Sequence[Block]) -> None:
        """Raise UsageError for a PDF that the model in use would not get."""
        refuse_documents(blocks, self._current.facts)

    async def read_clipboard(self) -> tuple[tuple[str, Block], ...]:
        """The picture on the clipboard with its name; raises UsageError if there is none."""
        from tui.app.clipboard_pictures import NAME, ClipboardPictures  # loaded when first asked for

        pictures = ClipboardPictures(self._current.program.environment, self._folder)
        return ((NAME, await self._current.call(pictures.read())),)

    def read_attachments(self, path: str) -> Attachments:
        """Read a file, or the files of a folder or pattern, as blocks of the prompt, with their names."""
        found = read_attachments(self._folder, path, self._current.program.environment)
        self.refuse_documents([block for _, block in found.blocks])
        return found


class AppServices:
    """All services of one program."""

    def __init__(self, current: CurrentSession, availability: ProviderAvailability, library: Storage) -> None:
        self._current = current
        self._availability = availability
        self.cache = CacheService(current)
        self.chat = ChatService(current, self.cache)
        self.sessions = SessionsService(current)
        self.models = ModelService(current, availability, self.cache)
        self.settings = SettingsService(current, self.cache)
        self.keys = KeyService(current, availability)
        self.tools = ToolService(current, self.cache, self.settings)
        self.drafts = DraftService(current)
        self.library = library
        self.branches = Branches(current)
        self.side = SideQuestions(current)
        self.project = ProjectService(current, self.cache)
        self.mcp = McpService(current)

    async def discover(self) -> None:
        """Search the keyring and local servers; an available model replaces an unused default demo."""
        await self._availability.discover()
        await replace_default_demo(self._current, self._availability.ready())
        await self._current.apply(self._current.layers, {})

    def status(self) -> str:
        """Model, route, proxy and files, as markdown."""
        from tui.app.diagnostics import describe_proxy
        from tui.providers.http.address import without_user

        current = self._current
        provider = current.program.catalog.provider(current.spec.provider)
        url = provider.base_url_for(current.facts.wire)
        database, local = current.program.paths.database, provider.starts_models
        rows = [
            f"- model: {current.spec}",
            f"- {self._plan_summary()}",
            f"- route: {provider.title}, {'this machine' if local else without_user(url)}, {current.facts.wire}",
            *(() if local else (f"- proxy: {describe_proxy(url, current.program.environment)}",)),
            f"- session: {current.session_id}",
            f"- saved in: {'memory only: this conversation is private' if current.private else database}",
            f"- settings: {current.program.paths.config_file}",
            f"- project: {self.project.summary()}",
        ]
        return "\n".join(rows)

    async def model_server(self) -> str:
        """What the server of the model does, as markdown; "" if ponder does not run the model itself."""
        program, spec = self._current.program, self._current.spec
        if not program.catalog.provider(spec.provider).starts_models:
            return ""
        return await asyncio.to_thread(program.local_models.report, spec.model)

    def _plan_summary(self) -> str:
        view = self.chat.view()
        return view.plan.summary

    async def spending(self, days: str = "") -> str:
        """What was spent in the last days, as markdown; ``days`` is a number or empty."""
        from tui.app.spending_report import DAYS, By, SpendingReport, first_moment, report_markdown, spending_report

        number = int(days) if days.isascii() and days.isdigit() else 0 if days else DAYS
        if not 0 < number <= MOST_DAYS:
            raise UsageError(f"`{one_line(days, 40)}` is not a number of days.", advice="For example: `/cost 7`")
        program, now = self._current.program, time.time()
        requests = await self._current.storage.spent_since(first_moment(number, now))

        def make(by: By) -> SpendingReport:
            return spending_report(requests, program.catalog, by=by, days=number, now=now)

        plain = program.layers.value("ui.plain") is True
        return await asyncio.to_thread(report_markdown, make, blocks=not plain)

    async def doctor(self) -> str:
        """The report of ``ponder doctor``, as markdown."""
        from tui.app.doctor import doctor_report

        return (await doctor_report(self._current.program, self._availability, self.problems())).as_markdown()

    def problems(self) -> Sequence[tuple[str, str]]:
        """Problems found at the start, each with advice."""
        problems = [(problem.message, problem.advice) for problem in self._current.program.problems]
        return [*problems, *((notice, "") for notice in self._current.storage.notices)]
