"""Models that ponder runs itself: which there are, what their files and servers say, and where their servers live."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.catalog.catalog import Catalog
from tui.catalog.model_spec import LOCAL
from tui.domain.errors import PonderError, UnknownModel
from tui.domain.format_numbers import count
from tui.domain.printable import printable
from tui.domain.thinking import ModelSpec
from tui.settings.layers import Layers
from tui.settings.paths import Paths, find_paths

if TYPE_CHECKING:
    from tui.providers.local.gguf import GgufFacts
    from tui.providers.local.library import LocalModel, ModelLibrary
    from tui.providers.local.memory import ModelSize
    from tui.providers.local.server_folder import ServerState
    from tui.providers.local.servers import LocalOptions, LocalServers, ModelFiles

LARGEST_SHARE = 0.7
"""How much of the memory a model may fill that is chosen without being asked for."""
LARGEST_BUDGET = 16_384
"""Largest thinking budget of a level; small models that think longer only repeat themselves."""

SERVERS = "local"
"""The folder of the servers' states and logs."""
LAST_LINES = 12
CUT = "llama.cpp-cut"
"""The spelling for templates without a switch for thinking."""

Row = dict[str, object]


class LocalModels:
    """Finds models and describes them. Its methods read files: call them in a thread."""

    def __init__(
        self,
        paths: Paths,
        environment: Mapping[str, str],
        layers: Callable[[], Layers],
        changed: Callable[[Callable[[Catalog], Catalog]], None],
    ) -> None:
        """``changed`` applies a change to the catalogue in use."""
        self._paths = paths
        self._environment = environment
        self._layers = layers
        self._changed = changed
        self._library: ModelLibrary | None = None
        self._found: dict[str, LocalModel] = {}
        self._rows: dict[str, Row] = {}
        self._busy = threading.Lock()

    def open_servers(self) -> LocalServers:
        """Return what starts the servers; nothing is started yet."""
        from tui.providers.local.servers import LocalServers

        folder = self._paths.state / SERVERS
        return LocalServers(folder, self._environment, self.options, self._files, self._learn_from_server)

    def learn_all(self, *, within_s: float) -> list[str]:
        """Add the models of this machine to the catalogue; returns the names of those that can be asked, best first."""
        found = [model for model in self._open_library().models(within_s=within_s) if not model.problem]
        for model in found:
            self._found[model.name] = model
            self._add(model.name, _row_of(model))
        if found:
            self._tell()
        from tui.providers.local.memory import all_memory

        room = (all_memory() or math.inf) * LARGEST_SHARE
        return [model.name for model in sorted(found, key=lambda model: _preference(model, room))]

    def obstacle(self) -> str:
        """Why no model can be run, in a few words; "" if they can."""
        from tui.providers.local.servers import program_for

        try:
            program_for(self.options(), self._environment)
        except PonderError as error:
            return f"{error.message.rstrip('.')}: {error.advice.rstrip('.')}".replace("`", "")
        return ""

    def learn(self, name: str) -> None:
        """Add one model, by its name or path, to the catalogue. Raises PonderError if it cannot be used."""
        model = self._found[name] = self._find(name)
        self._add(name, _row_of(model))
        self._tell()

    def report(self, name: str) -> str:
        """What the server of a model does, as markdown: its state and log, and the last lines of that if it failed."""
        from tui.providers.local.server_folder import Stage
        from tui.providers.local.servers import program_for, server_folder

        try:
            options = self.options()
            place = server_folder(
                self._paths.state / SERVERS, self._files(name), options, program_for(options, self._environment)
            )
        except PonderError as error:
            return f"- model server: cannot be started. {error.message} {error.advice}"
        state = place.read()
        if state is None or (state.stage is not Stage.FAILED and not place.has_keeper()):
            return "- model server: not running"
        lines = place.log_lines()[-LAST_LINES:] if state.stage is Stage.FAILED else []
        what = f"{state.sentence} {state.advice}" if lines else _running(state)
        return "\n".join((f"- model server: {what}", f"- its log: {place.log}", *_quoted(lines)))

    def is_unknown(self, spec: ModelSpec) -> bool:
        """Whether ponder runs this model and nothing is known about it yet. Reads nothing."""
        return spec.provider == LOCAL and spec.model not in self._rows

    def _open_library(self) -> ModelLibrary:
        if self._library is None:
            from tui.providers.local.library import library_of

            self._library = library_of(self._environment, self._paths)
        return self._library

    def _find(self, name: str) -> LocalModel:
        if not name.startswith("/"):
            model = self._open_library().find(name)
        else:
            try:
                model = self._open_library().at(Path(name))
            except OSError as error:
                raise UnknownModel(f"`{name}` cannot be read: {error.strerror}.") from None
        if model.problem:
            raise PonderError(f"The model `{name}` cannot be used. {model.problem}")
        return model

    def _files(self, name: str) -> ModelFiles:
        from tui.providers.local.servers import ModelFiles

        model = self._found.get(name) or self._find(name)
        return ModelFiles(path=model.path, mmproj=model.mmproj, size=_size_of(model))

    def options(self) -> LocalOptions:
        """How models are started; a change applies to the next one that starts."""
        from tui.providers.local.servers import LocalOptions

        local = self._layers().settings().local
        return LocalOptions(server=local.server, idle_s=local.idle * 60, context=local.context)

    def _learn_from_server(self, name: str, props: Mapping[str, object]) -> None:
        self._add(name, _row_of_server(props))
        self._tell()

    def _add(self, name: str, row: Row) -> None:
        from tui.providers.model_lists import checked_row

        with self._busy:
            self._rows[name] = checked_row({**self._rows.get(name, {}), **row})

    def _tell(self) -> None:
        from tui.providers.model_lists import with_local_rows

        with self._busy:
            rows = dict(self._rows)
            self._changed(lambda catalog: with_local_rows(catalog, LOCAL, rows))


def with_local_models(catalog: Catalog, environment: Mapping[str, str], name: str = "") -> Catalog:
    """The catalogue with one model of a file, by its name or path, or with all that are found. Reads files."""
    changed = [catalog]

    def change(made: Callable[[Catalog], Catalog]) -> None:
        changed.append(made(changed[-1]))

    models = LocalModels(find_paths(environment), environment, Layers, change)
    if name:
        models.learn(name)
    else:
        models.learn_all(within_s=math.inf)
    return changed[-1]


def _running(state: ServerState) -> str:
    share = f" {state.share:.0%}" if state.share is not None else ""
    said = f"loading{share}" if state.stage.value == "loading" else state.stage.value
    window = state.props.get("n_ctx")
    more = f", {count(window, 'token')} of context" if isinstance(window, int) else ""
    return f"{said}, process {state.process}{more}"


def _quoted(lines: Sequence[str]) -> list[str]:
    return ["", "```", *(printable(line) for line in lines), "```"] if lines else []


def _preference(model: LocalModel, room: float) -> tuple[bool, bool, bool]:
    """Models that fit into the memory first, then those for conversations, then those that think."""
    facts = model.facts
    return (model.size > room, not (facts and facts.chats), not (facts and facts.thinks))


def _size_of(model: LocalModel) -> ModelSize:
    from tui.providers.local.memory import ModelSize

    facts = model.facts
    if facts is None:
        return ModelSize(weights=model.size)
    return ModelSize(weights=model.size, window=facts.window, bytes_per_token=facts.cache_bytes_per_token)


def _row_of(model: LocalModel) -> Row:
    return {"inputs": ["text", "image"] if model.sees else ["text"], **_row_of_file(model.facts)}


def _row_of_file(facts: GgufFacts | None) -> Row:
    if facts is None:
        return {}
    window = facts.window
    row: Row = {"context_window": window, "thinks": facts.thinks, "tools": facts.tools, "price": [0.0, 0.0]}
    if not facts.thinks:
        return row
    if facts.efforts:
        return {**row, "efforts": ["low", "medium", "high"], "can_disable": bool(facts.thinking_switch)}
    most = min(LARGEST_BUDGET, window // 2 if window else LARGEST_BUDGET)
    row |= {"can_disable": True, "efforts": [], "budget": [1, most], "open_top": True, "levels_by": "budget"}
    return row if facts.thinking_switch else {**row, "spelling": CUT}


def _row_of_server(props: Mapping[str, object]) -> Row:
    row: Row = {"context_window": props.get("n_ctx")}
    modalities, abilities = props.get("modalities"), props.get("chat_template_caps")
    if isinstance(modalities, dict):
        row["inputs"] = ["text", "image"] if modalities.get("vision") is True else ["text"]
    if isinstance(abilities, dict):
        row["tools"] = abilities.get("supports_tools") is True
    return row
