"""The lexers of the program, loaded on a thread: importing one and making its tables takes up to 80 ms."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from tui.ui.thread_switching import frequent_thread_switches

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LOG = logging.getLogger(__name__)
SAMPLES = {"html": "<style>a{}</style><script>x</script>\n", "make": "a:\n\tb\n", "docker": 'RUN a\nCMD ["a"]\n'}
"""Code within which another language's lexer is made, as it would be when the code is drawn."""


class Lexers:
    """Lexers by name. Code is plain while its lexer is loaded; without a screen that draws it again, loading waits."""

    def __init__(self) -> None:
        self._known: dict[str, Lexer | None] = {}
        self._loading: set[str] = set()
        self._listeners: list[Callable[[], None]] = []
        self.missed = 0
        """How often a lexer was asked for that was not loaded yet."""

    def find(self, name: str) -> Lexer | None:
        """The lexer; None if it is not loaded yet, which begins to load it, or could not be loaded."""
        if name in self._known:
            return self._known[name]
        if not self._listeners:
            self.preload(name)
            return self._known[name]
        self.missed += 1
        if name not in self._loading:
            thread = threading.Thread(target=self._run, args=(name,), name=f"lexer {name}", daemon=True)
            with suppress(RuntimeError):  # the system allows no more threads: the code stays plain
                self._loading.add(name)
                thread.start()
        return None

    def preload(self, name: str) -> None:
        """Load a lexer on this thread."""
        if name not in self._known:
            self._load(name)

    @property
    def is_loading(self) -> bool:
        """Whether code that is plain now may get its colours soon."""
        return bool(self._loading)

    def listen(self, heard: Callable[[], None]) -> None:
        """Call this, on a thread, after each lexer."""
        self._listeners.append(heard)

    def forget(self, heard: Callable[[], None]) -> None:
        if heard in self._listeners:
            self._listeners.remove(heard)

    def _run(self, name: str) -> None:
        with frequent_thread_switches():
            self._load(name)
        self._loading.discard(name)
        for heard in [*self._listeners]:
            heard()

    def _load(self, name: str) -> None:
        from pygments.lexers import get_lexer_by_name

        try:
            # Lexers of code within markdown would be loaded where it is drawn.
            lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False, handlecodeblocks=False)
            for _ in lexer.get_tokens_unprocessed(SAMPLES.get(name, "a\n")):
                pass  # some lexers import their tables now
            self._known[name] = lexer
        except Exception:  # boundary of the library: code without colours can be read
            LOG.exception("the lexer %s could not be loaded", name)
            self._known[name] = None


@cache
def lexers() -> Lexers:
    """The lexers of all texts of the program."""
    return Lexers()
