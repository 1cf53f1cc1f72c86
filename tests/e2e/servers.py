"""Waits on a terminal until an MCP server is ready."""

from __future__ import annotations

from tests.e2e.terminal import Terminal


def wait_for_server(terminal: Terminal, state: str) -> None:
    """Open the list of servers again and again, because it says how they are when it is opened."""
    title = "│  MCP servers"  # in its frame: the completion of /mcp, seen before the sheet, says the same words
    while True:
        terminal.type("/mcp\r")
        terminal.wait_for(title)
        terminal.until(lambda: "• " in terminal.text(), "a row")
        is_ready = state in terminal.text()
        terminal.type("\x1b")
        terminal.until(lambda: title not in terminal.text(), "the end of the list")
        if is_ready:
            return
