"""The desk: the program's business as commands and screens see it. Written once, in ``tui.app``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from tui.bus.bus import Subscription
from tui.domain.blocks import Block
from tui.domain.events import Stamped
from tui.domain.messages import Turn
from tui.domain.thinking import Asked, ModelSpec, ThinkingPlan
from tui.domain.usage import MeterReading
from tui.engine.state import SessionView
from tui.settings.layers import Layers

if TYPE_CHECKING:
    from tui.context.bill import Bill
    from tui.engine.preview import RequestPreview


from tui.domain.listing import (
    ExchangeInfo,
    KeyCheck,
    LevelInfo,
    ModelInfo,
    ProviderInfo,
    ServerInfo,
    SessionInfo,
    ToolInfo,
    ToolTokens,
)


class Library(Protocol):
    """Stored sessions."""

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Newest first, pinned ones before; with a query only those it is found in."""
        ...

    async def preview(self, session: str) -> str:
        """The first and last words of a session, as markdown."""
        ...

    async def turns(self, session: str) -> Sequence[Turn]:
        """All turns of a session, to be compared with the open one's."""
        ...

    async def rename(self, session: str, title: str) -> None:
        """Give it another title."""
        ...

    async def pin(self, session: str, *, pinned: bool) -> None:
        """Keep it at the top, or not."""
        ...

    async def delete(self, session: str) -> None:
        """Put it away; ``undelete`` brings it back."""
        ...

    async def undelete(self, session: str) -> None:
        """Bring it back."""
        ...

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """Write it to a file; ``parts`` is answers, thinking or all. Keys are redacted. Raises OSError."""
        ...

    async def bring_in(self, path: Path) -> str:
        """Import a file; the new session's id."""
        ...


class BranchDesk(Protocol):
    """Going back in the session that is open, and what grew beside it."""

    async def retry(self, turn_id: str, name: str = "") -> None:
        """Ask again, of another model or level if ``name`` says so."""
        ...

    async def edit(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        """Say something else there."""
        ...

    async def flip(self, turn_id: str, step: int) -> str:
        """Over to the branch beside this turn; a sentence for the user."""
        ...

    async def fork(self, turn_id: str) -> str:
        """A new session that goes on from there; its id."""
        ...

    async def replay(self, turn_id: str, name: str) -> str:
        """The same prompt to another model, as a fork; the fork's session id, to be compared."""
        ...


class ChatDesk(BranchDesk, Protocol):
    """The session that is open, and opening others."""

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """The session as it stands, and what happens from now on."""
        ...

    def view(self) -> SessionView:
        """A snapshot of the session."""
        ...

    @property
    def session_id(self) -> str:
        """The session that is open."""
        ...

    async def submit(self, blocks: tuple[Block, ...]) -> None:
        """Send a prompt (or put it in line)."""
        ...

    async def cancel(self) -> None:
        """Stop what runs and hold the queue."""
        ...

    async def resume_queue(self) -> None:
        """Send the held queue."""
        ...

    async def take_back(self) -> tuple[Block, ...]:
        """Remove the last queued prompt and return it; () if nothing is queued."""
        ...

    async def skip_wait(self) -> None:
        """Retry now."""
        ...

    async def consent(self, *, agree: bool) -> None:
        """The user's word on a long wait."""
        ...

    async def answer_approval(self, call_id: str, answer: str) -> bool:
        """The user's word on a tool call."""
        ...

    async def compress(self, instruction: str) -> None:
        """Fold finished turns."""
        ...

    async def uncompress(self) -> bool:
        """Take the folding back."""
        ...

    async def preview(self, draft: str) -> RequestPreview:
        """The next request."""
        ...

    def bill(self) -> Bill:
        """What the conversation cost so far, by model; summaries of folded turns are rows of their own."""
        ...

    async def wire_preview(self, draft: str) -> Mapping[str, object]:
        """The next request as it goes on the wire, keys masked: method, url, headers, body."""
        ...

    def last_exchange(self) -> ExchangeInfo | None:
        """What was said last."""
        ...

    async def count_exactly(self) -> int | None:
        """Input tokens by the provider's own count; None where it has none."""
        ...

    async def weigh(self, draft: str) -> MeterReading:
        """The meter with these words in it."""
        ...

    async def new_session(self) -> None:
        """Leave this one for a new one."""
        ...

    async def open_session(self, session: str, turn_id: str = "") -> None:
        """Leave this one for a stored one."""
        ...


class ModelDesk(Protocol):
    """Models and levels."""

    async def set_model(self, name: str) -> str:
        """By name as typed; the sentence for the user."""
        ...

    async def set_level(self, asked: Asked) -> str:
        """Another level or budget; the sentence for the user."""
        ...

    async def step_level(self, step: int, *, wrap: bool) -> str:
        """The next level the model takes; never above high."""
        ...

    async def step_model(self, step: int) -> str:
        """The next recent model and level."""
        ...

    def models(self) -> Sequence[ModelInfo]:
        """For the picker: favourites, recents, then by provider."""
        ...

    def levels(self) -> Sequence[LevelInfo]:
        """For the picker, for the model in use."""
        ...

    def plan_for(self, name: str) -> ThinkingPlan:
        """What another model or level would mean."""
        ...

    def model_info(self, name: str = "") -> str:
        """All facts of a model with their sources, as markdown."""
        ...

    async def toggle_favourite(self, spec: ModelSpec) -> bool:
        """Mark or unmark; whether it is one now."""
        ...

    async def refresh_models(self) -> int:
        """Ask the provider for its list; how many models it names."""
        ...


class SettingsDesk(Protocol):
    """Settings and profiles."""

    def layers(self) -> Layers:
        """All settings, with where they are from."""
        ...

    async def assign(self, key: str, words: str) -> str:
        """``/set``; the sentence for the user."""
        ...

    async def unassign(self, key: str) -> str:
        """``/unset``; the sentence for the user."""
        ...

    async def set_saved(self, key: str, *, saved: bool) -> str:
        """Keep a ``ui`` setting for the next start, or only for this session; the sentence for the user."""
        ...

    def profiles(self) -> Sequence[tuple[str, str]]:
        """Names and descriptions."""
        ...

    async def load_profile(self, name: str) -> str:
        """All of it or nothing; the sentence for the user."""
        ...

    async def save_profile(self, name: str) -> str:
        """The model, level and settings in force."""
        ...

    async def delete_profile(self, name: str) -> str:
        """One of the user's."""
        ...

    def show_profile(self, name: str) -> str:
        """Its TOML."""
        ...

    def keys_file(self) -> str:
        """Where keys are changed."""
        ...


class KeyDesk(Protocol):
    """Providers and their keys."""

    def findings(self) -> Sequence[ProviderInfo]:
        """What was found at the start."""
        ...

    async def check_key(self, provider: str, key: str) -> KeyCheck:
        """Look at its shape and ask the provider for its models with it; a ConfigError if no request can carry it."""
        ...

    async def save_key(self, provider: str, key: str, *, keep: bool) -> str:
        """Use a key from now on, and keep it if the user wants that; the sentence for the user."""
        ...

    def key_hint(self, provider: str) -> str:
        """Which variable it would be in, and where a key is made."""
        ...


class ToolDesk(Protocol):
    """What models may call."""

    def tools(self) -> Sequence[ToolInfo]:
        """All tools."""
        ...

    def tools_sent(self) -> ToolTokens:
        """What the definitions add to the next request, as the meter counts."""
        ...

    async def notes(self) -> Sequence[str]:
        """The sandbox of commands, and what is wrong with the rules."""
        ...

    async def enable_tool(self, name: str, *, enabled: bool) -> None:
        """Offer it to models, or not."""
        ...

    def servers(self) -> Sequence[ServerInfo]:
        """MCP servers."""
        ...


class DraftDesk(Protocol):
    """What is being written."""

    def prompt_history(self) -> Sequence[str]:
        """What the user typed before, newest last."""
        ...

    def keep_draft(self, session: str, text: str) -> None:
        """Keep the draft of a session; "" removes it."""
        ...

    def kept_draft(self, session: str) -> str:
        """The draft of a session; "" for none."""
        ...

    def remember_prompt(self, text: str) -> None:
        """Make a draft that has no session the newest of the prompt history."""
        ...

    def complete_path(self, start: str) -> Sequence[str]:
        """Files of the working folder for ``@``."""
        ...

    def read_attachment(self, path: str) -> Block:
        """A file or image for the prompt; a ToolError or UsageError where it cannot be."""
        ...


class Desk(Protocol):
    """The program's business: one session at a time, settings, models, keys, the library."""

    @property
    def chat(self) -> ChatDesk:
        """The session."""
        ...

    @property
    def models(self) -> ModelDesk:
        """Models and levels."""
        ...

    @property
    def settings(self) -> SettingsDesk:
        """Settings and profiles."""
        ...

    @property
    def keys(self) -> KeyDesk:
        """Providers and their keys."""
        ...

    @property
    def tools(self) -> ToolDesk:
        """What models may call."""
        ...

    @property
    def drafts(self) -> DraftDesk:
        """What is being written."""
        ...

    @property
    def library(self) -> Library:
        """Stored sessions."""
        ...

    async def look_deeper(self) -> None:
        """Keyring and servers on this machine, which take time; may choose a found model where only the demo was."""
        ...

    def status(self) -> str:
        """What is going on, as markdown: model, route, proxy, store, servers."""
        ...

    async def doctor(self) -> str:
        """``ponder doctor``."""
        ...

    def problems(self) -> Sequence[tuple[str, str]]:
        """What was wrong at the start: sentences with advice."""
        ...
