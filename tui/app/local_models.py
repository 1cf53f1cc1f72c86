"""Models that ponder runs itself: which there are, what their files and servers say, and where their servers live."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui.catalog.catalog import Catalog
from tui.catalog.model_spec import LOCAL
from tui.domain.errors import PonderError, UnknownModel
from tui.domain.thinking import ModelSpec
from tui.settings.layers import Layers
from tui.settings.paths import Paths

if TYPE_CHECKING:
    from tui.providers.local.gguf import GgufFacts
    from tui.providers.local.library import LocalModel, ModelLibrary
    from tui.providers.local.servers import LocalOptions, LocalServers, ModelFile

LARGEST_BUDGET = 16_384
"""Largest thinking budget that a level stands for; small models that think longer only repeat themselves."""

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
        self._rows: dict[str, Row] = {}
        self._busy = threading.Lock()

    def open_servers(self) -> LocalServers:
        """Return what starts the servers; nothing is started yet."""
        from tui.providers.local.servers import LocalServers

        folder = self._paths.state / "local"
        return LocalServers(folder, self._environment, self._options, self._files, self._learn_from_server)

    def learn_all(self, *, within_s: float) -> list[str]:
        """Add the models of this machine to the catalogue; returns the names of those that can be asked."""
        found = [model for model in self._open_library().models(within_s=within_s) if not model.problem]
        for model in found:
            self._add(model.name, _row_of(model))
        self._tell()
        return [model.name for model in found]

    def learn(self, name: str) -> None:
        """Add one model, by its name or path, to the catalogue. Raises PonderError if it cannot be used."""
        model = self._find(name)
        self._add(name, _row_of(model))
        self._tell()

    def learn_if_local(self, spec: ModelSpec) -> None:
        """``learn`` for the model of a session, if ponder runs it."""
        if spec.provider == LOCAL:
            self.learn(spec.model)

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

    def _files(self, name: str) -> ModelFile:
        from tui.providers.local.servers import ModelFile

        model = self._find(name)
        return ModelFile(path=model.path, mmproj=model.mmproj)

    def _options(self) -> LocalOptions:
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


def _row_of(model: LocalModel) -> Row:
    return {"inputs": ["text", "image"] if model.sees else ["text"], **_row_of_file(model.facts)}


def _row_of_file(facts: GgufFacts | None) -> Row:
    if facts is None:
        return {}
    window = facts.window
    row: Row = {"context_window": window, "thinks": facts.thinks, "tools": facts.tools}
    if facts.thinks:
        row["efforts"] = ["low", "medium", "high"] if facts.efforts else []
        row["can_disable"] = bool(facts.thinking_switch)
        row["budget"] = [0, min(LARGEST_BUDGET, window // 2 if window else LARGEST_BUDGET)]
        row["open_top"] = True
        row["levels_by"] = "auto"
    return row


def _row_of_server(props: Mapping[str, object]) -> Row:
    row: Row = {"context_window": props.get("n_ctx")}
    modalities, abilities = props.get("modalities"), props.get("chat_template_caps")
    if isinstance(modalities, dict):
        row["inputs"] = ["text", "image"] if modalities.get("vision") is True else ["text"]
    if isinstance(abilities, dict):
        row["tools"] = abilities.get("supports_tools") is True
    return row
