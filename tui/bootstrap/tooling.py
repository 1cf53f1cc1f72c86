"""Open the toolbox: lazily if only built-in tools are used, at once if rules or MCP servers are configured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.launch_options import LaunchOptions
from tui.settings.config_file import ConfigFile
from tui.settings.paths import Paths
from tui.settings.user_files import may_exist
from tui.tools.toolbox.lazy import LazyToolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tui.tools.toolbox.toolbox import Toolbox


def open_tools(
    paths: Paths,
    config: ConfigFile,
    options: LaunchOptions,
    environment: Mapping[str, str],
    redact: Callable[[str], str],
    call_limit_s: Callable[[], float | None],
) -> LazyToolbox | Toolbox:
    """Open the toolbox; raises ConfigError for an invalid ``--allow``."""

    def build() -> Toolbox:
        from tui.tools.permissions.permissions import Policy
        from tui.tools.toolbox.build import ToolEnvironment, build_toolbox

        return build_toolbox(
            ToolEnvironment(
                folder=options.folder,
                home=Path(environment.get("HOME") or "/"),
                environment=environment,
                permissions_file=paths.permissions_file,
                protected=(paths.config, paths.data, paths.state, paths.cache),
                permissions=config.tables.get("permissions", {}),
                mcp=config.tables.get("mcp", {}),
                policy=Policy(interactive=not options.headless, allow=tuple(options.allow)),
                call_limit_s=call_limit_s,
                redact=redact,
                proxy_for=lambda url: proxy_of(url, environment),
                outputs=paths.state / "tool-output",
            )
        )

    at_once = (
        options.allow or "permissions" in config.tables or "mcp" in config.tables or may_exist(paths.permissions_file)
    )
    return build() if at_once else LazyToolbox(build)


def proxy_of(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that requests to a provider at this URL would use."""
    from urllib.parse import urlsplit

    from tui.providers.http.address import checked, proxy_for

    proxy = proxy_for(checked(url, plain_http=(urlsplit(url).hostname or "",)), environment)
    return proxy.geturl() if proxy is not None else None
