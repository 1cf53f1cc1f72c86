"""No file uses a private name of another file; private names of libraries are used in one listed module each."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.private_names import definitions_of, overrides, private_uses

ROOT = Path(__file__).resolve().parents[2]

OF_LIBRARIES = {
    # Parts of the screen that Textual gives no public access to: see the comments there.
    "tui/ui/terminal/textual_private.py": {
        "textual": "_compositor _context",
        "textual._compositor:Compositor": "_dirty_regions _get_renders",
        "textual.app:App": "_close_messages_no_wait _display _driver _exception _fatal_error _handle_exception "
        "_notifications _refresh_notifications _refresh_truecolor_filter _start_widget _unnotify",
        "textual.dom:DOMNode": "_bindings",
        "textual.screen:Screen": "_compositor _on_layout _on_screen_resume _on_update _screen_resized _select_state",
        "textual.widget:Widget": "_layout_required _refresh_scrollbars _repaint_required _scroll_update "
        "_vertical_scrollbar",
        "textual.widgets": "_toast",
        "textual.widgets._toast:ToastRack": "_toast_id",
        "textual.widgets:OptionList": "_lines",
        "textual.worker:Worker": "_error _run _task",
    },
    # A driver is a subclass of one of Textual's, which have no public interface for what ours corrects.
    "tui/ui/terminal/driver.py": {
        "textual": "_parser _xterm_parser",
        "textual._parser:Parser": "_timeout_time",
        "textual._xterm_parser:XTermParser": "_parse_extended_key _sequence_to_key_events",
        "textual.drivers.linux_driver:LinuxDriver": "_get_terminal_size _key_thread _must_signal_resume "
        "_sigcont_application _sigtstp_application _writer_thread",
        # How much the writer has still to write; its thread offers nothing to wait for.
        "textual.drivers._writer_thread:WriterThread": "_queue",
        "textual.driver:Driver": "_app _auto_restart _debug _loop",
        "textual.keys": "_character_to_key",
    },
    # Whether a widget has handled everything, which Textual can only be asked by another message through its queue.
    "tui/ui/terminal/key_delivery.py": {
        "asyncio:Event": "_waiters",
        "textual": "_queue",
        "textual.message_pump:MessagePump": "_message_queue",
    },
    # Rich's table of widths, which is corrected for Brahmic scripts.
    "tui/ui/graphemes.py": {"rich": "_unicode_data"},
    # The lexer's states, which pygments does not return after a part of a text.
    "tui/ui/markdown/highlight.py": {"pygments.lexer:RegexLexerMeta": "_tokens", "pygments.token": "_TokenType"},
    # The command line is the only description of the options that completions are made from.
    "tui/cli/parser_tree.py": {
        "argparse": "_SubParsersAction",
        "argparse:_ActionsContainer": "_actions",
        "argparse:_SubParsersAction": "_choices_actions",
    },
    # What starts a thread, and whether there are others: the executor fails if one cannot be started.
    "tui/domain/patient_executor.py": {"concurrent.futures.thread:ThreadPoolExecutor": "_adjust_thread_count _threads"},
    # The stream below TLS, from which an answer is read after a reset. The pool could take another network backend,
    # but httpx creates it.
    "tui/providers/http/httpx_connection.py": {"httpcore._backends.anyio:AnyIOStream": "_stream"},
    # The type of a transport, for the client that takes one.
    "tui/tools/mcp/transport.py": {"mcp.client": "_transport"},
}
"""The names that a module uses, by the part of the library that defines them."""


def _listed(file: str) -> set[str]:
    return {name for names in OF_LIBRARIES.get(file, {}).values() for name in names.split()}


@cache
def _used() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tui").rglob("*.py")):
        names = {name for _, name in private_uses(path.read_text(encoding="utf-8"))}
        found[path.relative_to(ROOT).as_posix()] = names
    for module, name, _ in overrides():
        found[f"{module.replace('.', '/')}.py"].add(name)
    return found


def test_no_file_uses_a_private_name_of_another_file_or_an_unlisted_one_of_a_library() -> None:
    assert {file: more for file, names in _used().items() if (more := names - _listed(file))} == {}


def test_what_is_listed_is_used() -> None:
    assert {file: rest for file in OF_LIBRARIES if (rest := _listed(file) - _used().get(file, set()))} == {}


ROWS = [(owner, name) for owners in OF_LIBRARIES.values() for owner, names in owners.items() for name in names.split()]


@pytest.mark.parametrize(("owner", "name"), ROWS)
def test_the_library_still_has_the_private_name(owner: str, name: str) -> None:
    module_name, _, class_name = owner.partition(":")
    module = importlib.import_module(module_name)
    if class_name:
        cls = getattr(module, class_name)
        assert any(name in definitions_of(base) for base in inspect.getmro(cls))
    elif not hasattr(module, name):  # a module of the package
        importlib.import_module(f"{module_name}.{name}")


@pytest.mark.parametrize(
    "line",
    [
        "from tui.store.search import _rows",
        "from textual._context import active_app",
        "other._secret()",
        "self._inherited.append(1)",
        "getattr(app, '_driver', None)",
        "setattr(app, '_driver', None)",
    ],
)
def test_a_use_is_found(line: str) -> None:
    assert [number for number, _ in private_uses(f"class A:\n    def f(self, other, app):\n        {line}\n")] == [3]


@pytest.mark.parametrize(
    "line", ["self._own = 1", "other._own", "type(self).__name__", "row._replace(a=1)", "os._exit(0)", "_ = other"]
)
def test_a_name_of_the_same_file_is_allowed(line: str) -> None:
    source = f"class A:\n    _own: int\n    def f(self, other, row):\n        {line}\n"
    assert list(private_uses(source)) == []
