"""What every test gets: a home of its own, no keys, no way off this machine, a fixed seed."""

from __future__ import annotations

import compileall
import contextlib
import gc
import importlib
import logging
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.fault_rows import pytest_runtest_logreport, pytest_terminal_summary  # noqa: F401  # hooks
from tests.key_canary import CANARY, OF_EVERY_TEST, files_with_keys, hear, listen_to_captures, taken, watch_children
from tui.providers import log_file

SHARED_CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"
LOOPBACK = {"127.0.0.1", "::1", "localhost", "0.0.0.0"}

ROOT = Path(__file__).resolve().parent.parent

GOLDEN = 0.618

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Each worker, and each of the programs that tests start, would compile everything again."""

if sys.platform != "win32":
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
"""In the background and below nohup they are ignored, which programs inherit; tests send them."""

gc.disable()
"""Until all tests are known: what importing and collecting makes stays."""

for name, examples in (("fast", 10), ("long", 60)):
    settings.register_profile(
        name, max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
settings.register_profile(
    "minutes", max_examples=20_000, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck)
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Nearly half of the time is waiting for terminals, children and clocks: ``-n auto`` is two workers a core."""
    return 2 * (os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run what is marked as long or as taking minutes")


def pytest_configure(config: pytest.Config) -> None:
    """Before a test module is imported: some have settings of their own that begin with these."""
    adds_long = config.getoption("--long")
    settings.load_profile("minutes" if os.environ.get("PONDER_LONG") else "long" if adds_long else "fast")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have each worker begin with another part: in a new checkout all would compile the same files at the same time."""
    given = getattr(session.config, "workerinput", None)
    if given is None:
        return
    _report_only_what_is_told(session.config)
    if [Path(argument).resolve() for argument in session.config.args] != [ROOT / "tests"]:
        return
    part = slice(int(given["workerid"].removeprefix("gw")), None, given["workercount"])
    for path in sorted((ROOT / "tui").rglob("*.py"))[part]:
        compileall.compile_file(path, quiet=2)
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[part]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it says what is wrong
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def _report_only_what_is_told(config: pytest.Config) -> None:
    """Have this worker send no report of a fixture that worked: to send and take reports is most of a short test."""
    if config.getoption("durations") is not None or config.getoption("verbose") > 0:
        return
    [worker] = [plugin for plugin in config.pluginmanager.get_plugins() if hasattr(plugin, "sendevent")]
    send = worker.sendevent

    def sent(name: str, **details: Any) -> None:
        of_fixture = name == "testreport" and details["data"]["when"] != "call"
        if not (of_fixture and details["data"]["outcome"] == "passed") and name != "logstart":
            send(name, **details)

    worker.sendevent = sent


def _is_taken(number: int, each: int) -> bool:
    """Whether this is the one of its block; not always at the same place, or one of two parameters would never vary."""
    block, place = divmod(number, each)
    return place == int(block * each * GOLDEN) % each


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, if it is not asked for."""
    cases: Counter[str] = Counter()
    for item in items:
        one_in = item.get_closest_marker("one_in")
        if one_in is not None and "minutes" not in item.keywords:
            test = item.nodeid.partition("[")[0]
            if not _is_taken(cases[test], one_in.args[0]):
                item.add_marker(pytest.mark.long)
            cases[test] += 1
    if config.getoption("--long") or os.environ.get("PONDER_LONG"):
        return
    left_out = [item for item in items if "long" in item.keywords or "minutes" in item.keywords]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look seldom at what is older: an application is a web of objects that lives for a moment."""
    gc.freeze()
    gc.set_threshold(10_000, 2, 50)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look once for what was never closed; at its end pytest looks five times, each time through all that is left."""
    gc.collect()
    gc.freeze()


class Homes:
    """An empty home for every test. Making and removing folders takes long, and most tests leave theirs empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0

    def empty(self) -> Path:
        """The last home, unless something is in it."""
        last = self._folder / str(self._made)
        if self._made and last.is_dir() and next(last.iterdir(), None) is None:
            return last
        self._made += 1
        home = self._folder / str(self._made)
        home.mkdir()
        return home


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return Homes(tmp_path_factory.mktemp("homes"))


@pytest.fixture(autouse=True)
def _on_its_own(request: pytest.FixtureRequest, _homes: Homes, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Made first, so that it looks for keys last: when everything is closed and written.

    One fixture for all of it: of a short test, each one is a tenth.
    """
    watch_children(monkeypatch)
    listen_to_captures(monkeypatch)
    home = _homes.empty()
    written = [home, *([request.getfixturevalue("tmp_path")] if "tmp_path" in request.fixturenames else [])]
    _move_to(home, monkeypatch)
    monkeypatch.setattr(socket.socket, "connect", _no_way_out)
    with _logs_as_before(monkeypatch):
        yield
    found = [f"a key in {path}" for folder in written for path in files_with_keys(folder)]
    found += taken()
    assert not found, found


def _move_to(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_PROXY", "_proxy")) or name in {"OLLAMA_HOST", "SSL_CERT_FILE"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv(OF_EVERY_TEST, CANARY)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


@contextlib.contextmanager
def _logs_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program that was run in this process logs until it ends, after a private conversation without what was said."""
    monkeypatch.setattr(log_file._Texts, "omitted", False)
    factory, level = logging.getLogRecordFactory(), logging.getLogger("tui").level
    yield
    logging.setLogRecordFactory(factory)
    logging.getLogger("tui").setLevel(level)
    for handler in logging.getLogger().handlers.copy():
        if type(handler).__module__.startswith("tui."):
            logging.getLogger().removeHandler(handler)


_connect = socket.socket.connect


def _no_way_out(self: socket.socket, address: object) -> None:
    if isinstance(address, tuple) and address[0] not in LOOPBACK:
        raise AssertionError(f"a test tried to reach {address}")
    _connect(self, address)  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    for title, text in report.sections:
        hear(text, title)
    return report


@pytest.fixture(scope="session")
def shared_corpus() -> Path:
    """The recordings beside the checkout; tests that need them skip loudly without."""
    if not SHARED_CORPUS.is_dir():
        pytest.skip("no recordings at ../shared/corpus: this test proves nothing here")
    return SHARED_CORPUS
