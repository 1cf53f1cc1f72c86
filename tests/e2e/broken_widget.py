"""ponder with a widget that raises when F9 is pressed."""

import sys

from tui.cli.main import main
from tui.ui.chat.screen import ChatScreen


def _raise(self: ChatScreen) -> None:
    raise ZeroDivisionError("on purpose")


if __name__ == "__main__":
    from textual import events

    async def on_key(self: ChatScreen, event: events.Key) -> None:
        if event.key == "f9":
            _raise(self)

    ChatScreen.on_key = on_key  # type: ignore[attr-defined]  # for this run only
    sys.exit(main([]))
